"""The line at tail's foot: what it says while nothing comes."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from streamiter.cli.terminal.foot import Foot
from streamiter.cli.terminal.status import StatusLine
from streamiter.stream import CallFailed
from streamiter.stream.stats import Stats
from streamiter.testing import ManualClock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @property
    def line(self) -> str:
        return self.getvalue().rpartition("\x1b[2K")[2]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "140")
    return Terminal()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def foot(terminal: Terminal, clock: ManualClock) -> Foot:
    return Foot(StatusLine(terminal), clock, None, lambda: None)


QUIET = Stats({}, 10, 0, 0, 0, 0, 0, 0, 0, 0, None, {"S1": 0.0}, 0, 0, 1)


def test_a_quiet_stream_is_waited_for(foot: Foot, terminal: Terminal):
    foot.stand(QUIET)
    assert terminal.line == "· waiting for changes · 1 shard · Ctrl-C ends"


def test_a_service_that_fails_is_not_taken_for_a_quiet_one(foot: Foot, terminal: Terminal):
    foot.stand(QUIET)
    foot.stand(replace(QUIET, retries=4))
    assert terminal.line.startswith("· waiting for changes"), "a few failures are nothing"
    foot.stand(replace(QUIET, retries=7))
    assert terminal.line == "· 7 calls failed in a row, and are made again"
    foot.reasons.note(
        CallFailed("arn:s", "S1", "Throttled", "shard S1 of arn:s: dynamodb:GetRecords: too fast", 7, 0.5)
    )
    foot.stand(replace(QUIET, retries=8))
    assert terminal.line.endswith(
        "8 calls failed in a row, and are made again: dynamodb:GetRecords: too fast [Throttled]"
    )
    foot.stand(replace(QUIET, retries=7, pages=11))
    assert terminal.line.startswith("· waiting for changes"), "it answers again"
    foot.stand(replace(QUIET, retries=11, pages=11))
    assert terminal.line.startswith("· waiting for changes"), "counted anew"


def test_records_that_are_held_for_long_are_told(foot: Foot, terminal: Terminal, clock: ManualClock):
    held = replace(QUIET, waiting=1, held_by="S1")
    foot.stand(held)
    assert terminal.line.startswith("· waiting for changes"), "a second or two are usual"
    clock.advance(6)
    foot.stand(held)
    assert terminal.line == "· 1 record held back by S1: the service does not answer for it"


@pytest.mark.parametrize(
    "held_by,lag,failed,says",
    [
        ("S1", 0.0, "S1", "held back by S1: its last 3 calls failed: dynamodb:GetRecords: HTTP 500 [TransientError]"),
        ("S1", 7300.0, "S2", "held back by S1: it is 2 h 1 m behind, and is being read"),
        ("listing", 0.0, None, "held back by the listing: its last 3 calls failed: dynamodb:DescribeStream: HTTP 500 [Tr"),
        ("listing", 0.0, "S2", "held back by the listing: listings do not agree on the shards yet"),
    ],
)  # fmt: skip
def test_why_records_are_held_is_told(foot: Foot, terminal: Terminal, clock: ManualClock, held_by, lag, failed, says):
    held = replace(QUIET, waiting=2, held_by=held_by, lag={"S1": lag})
    foot.stand(held)
    clock.advance(6)
    where = "arn:s: dynamodb:DescribeStream" if failed is None else f"shard {failed} of arn:s: dynamodb:GetRecords"
    foot.reasons.note(CallFailed("arn:s", failed, "TransientError", f"{where}: HTTP 500", 3, 0.5))
    foot.stand(held)
    assert says in terminal.line


def test_a_failure_of_long_ago_is_not_the_reason(foot: Foot, terminal: Terminal, clock: ManualClock):
    foot.reasons.note(CallFailed("arn:s", "S1", "TransientError", "shard S1 of arn:s: gone", 3, 0.5))
    held = replace(QUIET, waiting=2, held_by="S1", lag={"S1": 100.0})
    foot.stand(held)
    clock.advance(40)
    foot.stand(held)
    assert terminal.line.endswith("it is 1 m 40 s behind, and is being read")
