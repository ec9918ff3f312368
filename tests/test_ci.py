"""`.ci/run`: what counts as a failure, what is repeated, and what its last lines say. `./dev` is a stand-in here."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import APART, IN_SESSION, LONG, TOGETHER, turn_of, unit_of

ROOT = Path(__file__).parent.parent

DEV = """\
#!/usr/bin/env bash
case "$*" in
    check) code=check ;;
    *--realtime=only*--last-failed*) code=again ;;
    *--realtime=only*) code=alone ;;
    *--realtime=never*) code=beside ;;
esac
echo "$*" >>asked
cat "$code.out"
exit "$(cat "$code.code")"
"""


class Ended(NamedTuple):
    code: int
    asked: list[str]
    lines: list[str]


@pytest.fixture
def run(tmp_path):
    """Runs it with what each part says and how it ends."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    dev = tmp_path / "dev"
    dev.write_text(DEV)
    dev.chmod(0o755)

    def run(
        *, check=0, beside=(0, "== 100 passed in 9s =="), alone=(0, "== 7 passed in 2s =="), again=(99, "")
    ) -> Ended:
        for name, (code, told) in {"check": (check, ""), "beside": beside, "alone": alone, "again": again}.items():
            (tmp_path / f"{name}.code").write_text(str(code))
            (tmp_path / f"{name}.out").write_text(f"{told}\n")
        done = subprocess.run(["bash", ".ci/run"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        asked = (tmp_path / "asked").read_text().splitlines()
        return Ended(done.returncode, asked, done.stdout.splitlines())

    return run


def test_both_parts_are_shown_and_summed(run):
    ended = run()
    assert ended.code == 0
    assert ended.asked == ["check", "test --color=no --realtime=never", "test --color=no --realtime=only"]
    assert ended.lines[-3:] == [
        ".ci/run: beside each other: == 100 passed in 9s ==",
        ".ci/run: in real time: == 7 passed in 2s ==",
        ".ci/run: 107 passed; check exited with 0, tests with 0",
    ]


def test_a_failure_beside_others_is_one_and_is_not_repeated(run):
    ended = run(beside=(1, "FAILED tests/a.py::test_a\n== 1 failed, 99 passed in 9s =="))
    assert ended.code == 1
    assert len(ended.asked) == 3
    assert ended.lines[-1] == ".ci/run: 106 passed; check exited with 0, tests with 1"


FAILED = (1, "FAILED tests/a.py::test_slow - late\n== 1 failed, 6 passed in 9s ==")


def test_a_failure_in_real_time_is_repeated_once_and_named(run):
    ended = run(alone=FAILED, again=(0, "== 1 passed in 1s =="))
    assert ended.code == 0
    assert ended.asked[-1] == "test --color=no --realtime=only --last-failed"
    assert ended.lines[-4:] == [
        ".ci/run: REPEATED, so look at them:",
        "FAILED tests/a.py::test_slow - late",
        ".ci/run: the repetition: == 1 passed in 1s ==",
        ".ci/run: 107 passed; check exited with 0, tests with 0",
    ]


def test_what_fails_twice_in_real_time_is_broken(run):
    assert run(alone=FAILED, again=FAILED).code == 1


def test_a_part_that_was_stopped_is_not_repeated(run):
    ended = run(alone=(2, "== 3 passed in 1s =="))
    assert ended.code == 1
    assert len(ended.asked) == 3


def test_the_checks_alone_can_fail_it_and_the_tests_run_all_the_same(run):
    ended = run(check=1)
    assert ended.code == 1
    assert ended.lines[-1] == ".ci/run: 107 passed; check exited with 1, tests with 0"


def test_a_choice_without_tests_of_a_kind_is_no_failure_and_one_without_any_is(run):
    none = (5, "== no tests ran in 1s ==")
    assert run(alone=none).code == 0
    assert run(beside=none).code == 0
    assert run(beside=none, alone=none).code == 1
    assert run(beside=(0, "== 3 skipped in 1s =="), alone=none).code == 1


def test_tests_of_a_file_share_a_worker_and_those_with_spark_s_session_too():
    assert unit_of("tests/test_token.py::test_a") == unit_of("tests/test_token.py::test_b[1]")
    assert unit_of("tests/test_token.py::test_a") != unit_of("tests/test_shard.py::test_a")
    assert len({unit_of(f"{file}::test_a") for file in IN_SESSION}) == 1
    assert unit_of(f"{APART[0]}::test_a") != unit_of(f"{APART[0]}::test_b")


def test_in_real_time_each_test_is_dealt_out_by_itself_but_for_those_that_share_servers():
    assert unit_of("tests/test_dev.py::test_a", True) != unit_of("tests/test_dev.py::test_b", True)
    assert unit_of(f"{TOGETHER[0]}::test_a", True) == unit_of(f"{TOGETHER[0]}::test_b", True)


def test_the_files_with_spark_s_session_are_those_that_ask_for_it():
    asks = re.compile(r"^def test_.*\b(spark|reader|queries)\b", re.MULTILINE)
    files = sorted((ROOT / "tests/spark").glob("test_*.py"))
    assert sorted(IN_SESSION) == [str(file.relative_to(ROOT)) for file in files if asks.search(file.read_text("utf-8"))]


def test_what_takes_long_comes_first():
    assert all(any(ROOT.glob(f"{place}*")) for place in LONG), "a place that is no more"
    assert (
        turn_of(f"{IN_SESSION[0]}::test_a")
        == 0
        < turn_of("tests/test_docs.py::test_a")
        < turn_of("tests/test_token.py::test_a")
    )
