"""A record that is created in time to come: `doctor`, `top` and tail's foot say which, and what to do."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from streamiter import DynamoDBStreams, Stream
from streamiter.cli.live.board import Board
from streamiter.cli.live.screen import draw_line
from streamiter.cli.terminal.foot import Foot
from streamiter.testing import ManualClock, Simulator
from tests.cli.conftest import Invoke
from tests.cli.test_foot import QUIET, Terminal, clock, foot, terminal  # noqa: F401
from tests.cli.test_top import shown
from tests.stream.helpers import drain, take, write

FAR = datetime(2099, 1, 1, tzinfo=UTC).timestamp()


@pytest.fixture
def users(sim: Simulator) -> Simulator:
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2")
    sim.put("S1", created=FAR)
    return sim


def findings(done: Any) -> dict[str, dict[str, str]]:
    return {finding["title"]: finding for finding in json.loads(done.stdout)}


def test_top_names_the_record_that_holds_and_what_to_do(users: Simulator):
    with Stream(DynamoDBStreams(users.stream_arn, client=users.client()), clock=users.clock) as stream:
        board = Board(users.stream_arn, users.clock.monotonic())
        drain(stream, users.clock)
        view = board.view(stream.stats, stream.lineage, users.clock.now(), users.clock.monotonic())
    screen = shown(view, width=120)
    assert "held by S1, created 26862 d" in screen and "stream.skip()" in screen and "lateness=None" in screen
    assert "held by S1, created 2320908753 s ahead of the service's clock" in draw_line(view)
    calm = shown(replace(view, stats=replace(view.stats, held_ahead=0.0)), width=120)
    assert "ahead" not in calm and "skip()" not in calm


def test_the_foot_says_so(foot: Foot, terminal: Terminal, clock: ManualClock):  # noqa: F811
    held = replace(QUIET, waiting=3, held_by="S1", held_ahead=7200.0)
    foot.stand(held)
    clock.advance(6)
    foot.stand(held)
    assert terminal.line == "· 3 records held back by S1: its next record is created 2 h ahead of the service's clock"


def test_doctor_finds_it_among_what_it_looks_at(sim: Simulator, invoke: Invoke):
    sim.shape("S1")
    sim.put("S1", created=FAR)
    found = findings(invoke("doctor", "users", "--json"))["future"]
    assert found["mark"] == "note" and sim.history[0].sequence_number in found["told"]
    assert "stream.skip()" in found["remedy"] and "lateness=None" in found["remedy"]


def test_doctor_finds_it_where_the_token_goes_on(users: Simulator, invoke: Invoke, tmp_path: Path):
    with Stream(DynamoDBStreams(users.stream_arn, client=users.client()), clock=users.clock) as stream:
        take(stream, users.clock, 6)
        file = tmp_path / "users.token"
        file.write_text(json.dumps(stream.token))
    found = findings(invoke("doctor", "users", "--json", "--token-file", file))["token"]
    assert found["mark"] == "note" and "created 26862 d 8 h in the future" in found["told"]
    assert "stream.skip()" in found["remedy"]
