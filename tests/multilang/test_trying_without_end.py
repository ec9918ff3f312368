"""`--try` comes to its end with children that do not: that write, or ask, for ever."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from streamiter.multilang.trying import Verdict, try_child
from streamiter.multilang.trying.judge import MOST_ASKED, Judge
from tests.multilang.daemon import START, batch, scenario

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(280)]


def verdict_of(tmp_path: Path, code: str) -> Verdict:
    (tmp_path / "child.py").write_text(code)
    return next(iter(try_child([sys.executable, str(tmp_path / "child.py")], timeout=2)))


@pytest.mark.parametrize("piece", ['b"hello\\n" * 10_000', 'b"x" * 100_000', 'b"\\n" * 100_000'])
def test_one_that_writes_without_an_end(tmp_path: Path, piece: str):
    verdict = verdict_of(tmp_path, f"import sys\nwhile True:\n    sys.stdout.buffer.write({piece})")
    assert "no-answer" in [finding.rule for finding in verdict.findings]


ASKS = """
import json, sys
print(json.dumps({"action": "status", "responseFor": "initialize"}), flush=True)
for line in sys.stdin.buffer:
    if json.loads(line)["action"] != "initialize":
        print(json.dumps({"action": "checkpoint", "sequenceNumber": "LATEST"}), flush=True)
"""


def test_one_that_asks_again_and_again_for_a_checkpoint_that_is_refused(tmp_path: Path):
    verdict = verdict_of(tmp_path, ASKS)
    assert {finding.rule for finding in verdict.findings} == {"checkpoint-refused", "no-answer"}


def test_as_many_as_a_batch_has_records_are_time_well_spent():
    judge = Judge(scenario(START, batch(1)), timeout=1.0)
    judge.begin(0)
    judge.said(b'{"action": "status", "responseFor": "initialize"}\n', 0)
    for moment in range(MOST_ASKED):
        judge.said(b'{"action": "checkpoint"}\n', moment)
        judge.tick(moment)
    assert not judge.is_over
