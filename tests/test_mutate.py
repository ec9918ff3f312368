"""The mutation tester's own test: which mutants it makes of a module, and what becomes of them."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from benchmarks import mutate
from benchmarks.mutants import mutants_of
from benchmarks.mutate import KILLED, SURVIVED, TIMED_OUT, Bench, Trial, entry_of, without_accepted


def changes(source: str) -> list[str]:
    return [mutant.change for mutant in mutants_of("module.py", dedent(source))]


@pytest.mark.parametrize(
    "source, expected",
    [
        ("a < b", ["a < b → a <= b", "a < b → pass"]),
        ("x = a < b <= c", ["a < b <= c → a <= b <= c", "a < b <= c → a < b < c"]),
        ("x = a == b", ["a == b → a != b"]),
        ("x = a is not b", ["a is not b → a is b"]),
        ("x = a in b", ["a in b → a not in b"]),
        ("x = a and b", ["a and b → a or b"]),
        ("x = a + b", ["a + b → a - b"]),
        ("x += a", ["x += a → x -= a"]),
        ("x = 8", ["8 → 9"]),
        ("x = True", ["True → False"]),
        ("x = not a", ["not a → a"]),
        ("x = max(a, key=b)", ["max(a, key=b) → min(a, key=b)"]),
        ("f(a)", ["f(a) → pass"]),
        ("a.b = c", ["a.b = c → pass"]),
        ("a.b: int = c", ["a.b: int = c → pass"]),
        ("a[b] = c", ["a[b] = c → pass"]),
        ("a.b += c", ["a.b += c → a.b -= c", "a.b += c → pass"]),
        ("del a[b]", ["del a[b] → pass"]),
        ("def f(): return a", ["return a → return None"]),
        ("def f(): return False", ["False → True"]),
        ("for a in b: continue", ["continue → break"]),
        ("for a in b: break", ["break → continue"]),
        ("if a: x = b", ["a → True", "a → False"]),
        ("while True: x = b", ["True → False"]),
        ("x = [a for a in b if c]", ["c → True", "c → False"]),
        ("x = a if b else c", ["b → True", "b → False"]),
    ],
)
def test_each_kind_of_mutation(source, expected):
    assert sorted(changes(source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "def f() -> None: ...",
        "def f(): return None",
        "def f(): return",
        "def f(a: Literal[1]) -> Literal[True]: ...",
        "a: Literal[1]",
        "assert a < b",
        "raise Lost(f'{a + 1} left')",
        "if TYPE_CHECKING: import a",
        "@dataclass(frozen=True)\nclass A: ...",
        "x = a * b",
        "x = 'text'",
    ],
)
def test_what_is_no_logic_is_left_alone(source):
    assert changes(source) == []


SOURCE = dedent(
    '''
    """Größe, → and 本: what is wider in bytes than in characters."""

    def next_of(lanes, limit=8):
        ß = "→" if lanes[1:] else "本"; lanes.sort(reverse=not ß)
        for lane in lanes:
            if (
                lane.is_ready
                and lane.place + 1 < limit  # a comment stays
            ):
                lane.place += 1
                return max(lane.place, 0)
        match limit:
            case 3:
                return -1
    '''
)


def test_each_mutant_compiles_and_differs_in_one_place():
    mutants = list(mutants_of("module.py", SOURCE))
    assert len(mutants) > 15
    assert len({mutant.source for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        tree = ast.parse(mutant.source)
        assert ast.dump(tree) != ast.dump(ast.parse(SOURCE))
        assert "# a comment stays" in mutant.source or "and" in mutant.before
        assert mutant.after in ast.unparse(tree)


def test_a_mutant_names_its_line():
    (mutant,) = (found for found in mutants_of("a/module.py", SOURCE) if found.before.startswith("max"))
    assert str(mutant) == "a/module.py:12: max(lane.place, 0) → min(lane.place, 0)"
    assert mutant.context == "return max(lane.place, 0)"


def test_accepted_mutants_are_matched_by_their_text_and_need_a_reason():
    mutants = list(mutants_of("module.py", "x = a | b == 0\n"))
    equal, zero = mutants
    entry = entry_of(equal)
    assert entry == "module.py | x = a | b == 0 | a | b == 0 → a | b != 0 | "
    assert without_accepted(mutants, [entry + "nobody sees it"]) == ([zero], [])
    assert without_accepted(mutants, [entry]) == (mutants, [entry])
    gone = "module.py | x = a | a → b | it is gone"
    other = "other.py | x = a | a → b | of a module that is not mutated now"
    assert without_accepted(mutants, [gone, other]) == (mutants, [gone])


COUNTING = """
def count_to(end):
    count = 0
    while count < end:
        count += 1
    return count
"""


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "counting.py").write_text(COUNTING)
    (tmp_path / "test_counting.py").write_text("from counting import count_to\n\ndef test(): assert count_to(3) == 3\n")
    return Bench(tmp_path, ["test_counting.py"])


def test_a_mutant_is_killed_or_times_out_or_survives(bench):
    by_change = {mutant.change: mutant for mutant in mutants_of("counting.py", COUNTING)}
    assert bench.verdict(by_change["count < end → count <= end"], timeout=60) == KILLED
    assert bench.verdict(by_change["count += 1 → count -= 1"], timeout=1) == TIMED_OUT
    (bench.root / "test_counting.py").write_text("from counting import count_to\n\ndef test(): count_to(3)\n")
    assert bench.verdict(by_change["return count → return None"], timeout=60) == SURVIVED
    assert (bench.root / "counting.py").read_text() == COUNTING


def test_a_trial_reports_what_it_tried(bench):
    mutants = [mutant for mutant in mutants_of("counting.py", COUNTING) if mutant.before == "return count"]
    tried = Trial([bench], mutants, timeout=60, budget=60)
    tried.run()
    assert tried.report() == "1 killed (0 of them by the timeout), 0 survived"
    untried = Trial([bench], mutants, timeout=60, budget=0)
    untried.run()
    assert untried.report().endswith("0 survived, 1 not tried")


def test_what_is_mutated_and_the_tests_that_run_are_there():
    for source in mutate.SOURCES:
        assert next(mutate.mutants_below(mutate.ROOT, [source])).path.startswith(source)
    assert len(mutate.tests_below(mutate.ROOT, mutate.TESTS)) == len(mutate.TESTS)
    with pytest.raises(SystemExit, match="no tests at tests/gone"):
        mutate.tests_below(mutate.ROOT, ["tests/merge", "tests/gone*"])
