"""The line at tail's foot: what it says while nothing comes."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from streamiter.cli.foot import Foot
from streamiter.cli.status import StatusLine
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
    assert terminal.line == "· nothing answers: 7 calls failed in a row; they are made again"
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
    assert terminal.line == "· 1 record held back by S1"
