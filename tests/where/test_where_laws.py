"""The laws of --where: what is printed is parsed as it was, and each clause fits what plain Python says that it fits."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamiter.where import parse_where
from streamiter.where.clauses import Both, Changed, Comparison, Either, Exists, Membership, Named, Not, Typed
from streamiter.where.comparing import Word
from streamiter.where.fields import NAMES, Field
from streamiter.where.parser import parse_clause
from tests.where.test_where import record

# -- records as plain dicts, and what plain Python makes of them

SCALARS = st.sampled_from(
    [
        *("", "a", "b", "ab", "7", "07", "true", "null", "10", True, False, None, b"a"),
        *(Decimal(7), Decimal("7.0"), Decimal(10), Decimal("-1.5")),
    ]
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.sets(st.sampled_from(["a", "b", "7"]), min_size=1, max_size=2),
    st.sets(st.sampled_from([Decimal(7), Decimal(10)]), min_size=1, max_size=2),
    st.dictionaries(st.sampled_from(["a", "b", "0"]), SCALARS, max_size=2),
)
NAME = st.sampled_from(["a", "b", "c"])
IMAGES = st.none() | st.dictionaries(NAME, VALUES, max_size=3)
RECORDS = st.fixed_dictionaries(
    {
        "event": st.sampled_from(["INSERT", "MODIFY", "REMOVE"]),
        "key": st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["a", "7", Decimal(7)]), min_size=1),
        "new": IMAGES,
        "old": IMAGES,
        "late": st.booleans(),
    }
)

PATHS = st.lists(st.sampled_from(["a", "b", "c", "0", "1"]), min_size=1, max_size=2).map(tuple)
FIELDS = st.one_of(
    st.just(Field("key")),
    st.just(Field("shard")),
    st.builds(Field, st.sampled_from(["key", "new", "old"]), PATHS),
)
WORDS = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        "7",
        "07",
        "7.0",
        "10",
        "-1.5",
        ".5",
        "1e1",
        "true",
        "FALSE",
        "null",
        "x",
        "and",
        "not",
        "in",
        "new",
    ]
).map(Word)
TEXTS = st.sampled_from(["", "a", "ab", "7", "true", "a b", "it's", 'say "x"', "back\\slash", "two\nlines", "()=<"])
TYPED = st.one_of(WORDS, TEXTS).map(Typed)
OPERANDS = TYPED | st.builds(Field, st.sampled_from(["key", "new", "old"]), PATHS).map(Named)
EVENTS = st.sampled_from(["INSERT", "MODIFY", "REMOVE"]).map(lambda event: Typed(Word(event)))
LEAVES = st.one_of(
    st.builds(
        Comparison, FIELDS.map(Named), st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "^=", "*="]), OPERANDS
    ).filter(lambda leaf: not (leaf.left.field.name == "shard" and isinstance(leaf.right, Typed))),
    st.builds(Membership, FIELDS.map(Named), st.lists(OPERANDS, min_size=1, max_size=3).map(tuple)),
    st.builds(Comparison, st.just(Named(Field("event"))), st.sampled_from(["=", "!="]), EVENTS),
    st.builds(Membership, st.just(Named(Field("event"))), st.lists(EVENTS, min_size=1, max_size=2).map(tuple)),
    st.builds(
        Comparison,
        st.just(Named(Field("late"))),
        st.sampled_from(["=", "!="]),
        st.sampled_from([Typed(Word("true")), Typed(Word("false"))]),
    ),
    PATHS.map(lambda path: Changed(Named(Field("old", path)), Named(Field("new", path)))),
    FIELDS.map(lambda field: Exists(Named(field))),
    st.sampled_from(["new", "old"]).map(lambda name: Exists(Named(Field(name)))),
)


def _several(clauses: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(clauses, min_size=2, max_size=3).map(tuple)


CLAUSES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(inner.map(Not), _several(inner).map(Both), _several(inner).map(Either)),
    max_leaves=6,
)


def values(plain: dict[str, Any], field: Field) -> list[Any]:
    if field.name == "shard":
        return ["S1"]
    if field.name in ("event", "late"):
        return [plain[field.name]]
    if field.name == "key" and not field.path:
        return list(plain["key"].values())
    if plain[field.name] is None:
        return []
    value = plain[field.name]
    for name in field.path:
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return []
    return [value]


def number(word: Any) -> Decimal | None:
    if isinstance(word, bool):
        return None
    if isinstance(word, Decimal):
        return word
    if isinstance(word, Word) and re.fullmatch(r"-?(\d+\.?\d*|\.\d+)(e\d+)?", word):
        return Decimal(str(word))
    return None


def kind(value: Any) -> Any:
    """A value that is equal to others of its own kind alone: True is not 1, though Python has it so."""
    if isinstance(value, list):
        return ("list", tuple(map(kind, value)))
    if isinstance(value, dict):
        return ("map", frozenset((name, kind(part)) for name, part in value.items()))
    if isinstance(value, set | frozenset):
        return ("set", frozenset(map(kind, value)))
    return (type(value).__name__, value)


def typed_equals(value: Any, typed: str) -> bool:
    if isinstance(value, list | set):
        return any(typed_equals(part, typed) for part in value)
    if isinstance(value, str):
        return value == str(typed)
    if value is None or isinstance(value, bool):
        return isinstance(typed, Word) and typed.lower() == {None: "null", True: "true", False: "false"}[value]
    return isinstance(value, Decimal) and isinstance(typed, Word) and number(typed) == value


def operator_fits(left: Any, operator: str, right: Any, *, is_typed: bool) -> bool:
    if operator == "=":
        return typed_equals(left, right) if is_typed else kind(left) == kind(right)
    if operator == "^=":
        right = right if isinstance(right, Decimal) else str(right) if isinstance(right, str) else None
        return isinstance(left, str | Decimal) and right is not None and str(left).startswith(str(right))
    if operator == "*=":
        if isinstance(left, str | dict):
            return isinstance(right, str) and str(right) in left
        if isinstance(left, list | set):
            return any(
                typed_equals(part, right) if isinstance(right, str) else kind(part) == kind(right) for part in left
            )
        return False
    one, other = (number(left), number(right))
    if one is None or other is None:
        if isinstance(right, Word) and (number(right) is not None or right.lower() in ("true", "false", "null")):
            return False
        texts = isinstance(left, str) and isinstance(right, str)
        if not texts and not (isinstance(left, bytes) and isinstance(right, bytes)):
            return False
        one, other = (left, right)
    return {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[operator]


def agree(plain: dict[str, Any], left: Field, right: Field) -> bool:
    ours, theirs = values(plain, left), values(plain, right)
    if not ours and not theirs:
        return True
    return any(kind(one) == kind(other) for one in ours for other in theirs)


def fits(plain: dict[str, Any], clause: Any) -> bool:
    """What plain Python says: written for this test alone, slow and obvious."""
    match clause:
        case Not():
            return not fits(plain, clause.clause)
        case Both():
            return all(fits(plain, part) for part in clause.clauses)
        case Either():
            return any(fits(plain, part) for part in clause.clauses)
        case Exists():
            return bool(values(plain, clause.named.field))
        case Changed():
            return not agree(plain, clause.old.field, clause.new.field)
        case Membership():
            return any(fits(plain, Comparison(clause.left, "=", choice)) for choice in clause.choices)
        case Comparison(operator="!="):
            return not fits(plain, Comparison(clause.left, "=", clause.right))
        case Comparison(operator="=", right=Named()):
            return agree(plain, clause.left.field, clause.right.field)
        case Comparison():
            is_typed = isinstance(clause.right, Typed)
            others = [clause.right.value] if is_typed else values(plain, clause.right.field)
            return any(
                operator_fits(one, clause.operator, other, is_typed=is_typed)
                for one in values(plain, clause.left.field)
                for other in others
            )
    raise AssertionError(clause)


# -- the laws


@given(CLAUSES)
def test_what_is_printed_is_parsed_as_it_was(clause):
    text = str(clause)
    assert parse_clause(text) == clause
    assert str(parse_clause(text)) == text


@settings(max_examples=300)
@given(CLAUSES, RECORDS)
@example(
    Comparison(Named(Field("new", ("a",))), "!=", Named(Field("old", ("a",)))),
    {"event": "MODIFY", "key": {"a": "a"}, "new": {"a": "old.a"}, "old": {"a": "b"}, "late": False},
)
@example(
    Comparison(Named(Field("new", ("a",))), "=", Named(Field("old", ("a",)))),
    {"event": "MODIFY", "key": {"a": "a"}, "new": {"a": True}, "old": {"a": Decimal(1)}, "late": False},
)
def test_each_clause_fits_what_plain_python_says(clause, plain):
    made = record(plain["event"], key=plain["key"], new=plain["new"], old=plain["old"], late=plain["late"])
    assert parse_where(str(clause))(made) is fits(plain, clause), str(clause)


def test_the_clauses_that_are_drawn_ask_for_each_field_of_rows():
    asked: set[str] = set()

    @settings(max_examples=200, database=None)
    @given(CLAUSES)
    def draw(clause: Any) -> None:
        asked.update(re.findall(r"\b(event|key|new|old|shard|late|changed|exists)\b", str(clause)))

    draw()
    assert asked == {*NAMES, "changed", "exists"} - {"payload"}


@pytest.mark.parametrize(
    "text,printed",
    [
        ("LATE", "late = true"),
        ("not late", "not late = true"),
        ("EVENT==insert", "event = INSERT"),
        ("Changed( status )", "changed(status)"),
        ("new.a != OLD.a", "new.a != old.a"),
        ("key = 'a b' or (late and not (key=c or key=d))", 'key = "a b" or (late = true and not (key = c or key = d))'),
    ],
)
def test_a_clause_is_printed_in_one_way(text, printed):
    assert str(parse_clause(text)) == printed
