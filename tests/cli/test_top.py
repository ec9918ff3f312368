"""`streamiter top`: what it counts, by a hand-turned clock, and what it shows, on a recorded console."""

from __future__ import annotations

import io
import json
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from streamiter import DynamoDBStreams, Stream
from streamiter.cli.live.board import HISTORY_SECONDS, Board, View
from streamiter.cli.live.screen import curve, draw, draw_line
from streamiter.testing import Simulator
from tests.cli.conftest import Invoke, environment, run
from tests.cli.terminal import on_terminal
from tests.stream.helpers import write


@pytest.fixture
def users(sim: Simulator) -> Simulator:
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=5)
    sim.split("S1", "S3", "S4")
    write(sim, "S3", "S4", rounds=5)
    return sim


def watched(sim: Simulator, *, late: bool = False) -> View:
    """Everything that is held is read, the clock moves on by ten seconds, and then somebody looks."""
    with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
        board = Board(sim.stream_arn, sim.clock.monotonic())
        for record in stream.follow(until="caught_up"):
            board.count(record, sim.clock.monotonic())
        if late:
            sim.put("S2", created=sim.clock.now() - 300)
            for record in stream.follow(until="caught_up"):
                board.count(record, sim.clock.monotonic())
        sim.clock.advance(10)
        return board.view(stream.stats, stream.lineage, sim.clock.now(), sim.clock.monotonic())


def shown(view: View, width: int = 80, height: int = 24, notice: str = "") -> str:
    console = Console(record=True, width=width, height=height, file=io.StringIO(), color_system=None)
    console.print(draw(view, width, height, notice))
    return console.export_text()


def test_records_are_counted_by_shard_and_by_lineage(users: Simulator):
    view = watched(users)
    families = {family.row.name: family for family in view.families}
    assert {name: (family.row.records, family.row.shards) for name, family in families.items()} == {
        "S1": (15, 2),
        "S2": (5, 1),
    }
    assert [(row.name, row.records) for row in families["S1"].shards] == [("S3", 5), ("S4", 5)]
    assert sum(view.history) == view.stats.records == 20
    assert len(view.history) == HISTORY_SECONDS
    assert view.up_seconds >= 10 and view.rate == pytest.approx(20 / view.up_seconds)
    assert set(view.calls) == {"fetch", "list_shards", "open_iterator"}


def test_late_records_are_told_of_their_lineage(users: Simulator):
    view = watched(users, late=True)
    assert {family.row.name: family.row.late for family in view.families} == {"S1": 0, "S2": 1}


def test_rates_are_of_late(sim: Simulator):
    sim.shape("S1")
    write(sim, "S1", rounds=100, every=0)
    with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
        board = Board("s", sim.clock.monotonic())
        for record in stream.follow(until="caught_up"):
            board.count(record, sim.clock.monotonic())
        rates = []
        for _ in range(30):
            sim.clock.advance(1)
            rates.append(board.view(stream.stats, stream.lineage, sim.clock.now(), sim.clock.monotonic()).rate)
    assert rates[0] > 5
    assert rates[-1] == 0


def test_what_holds_records_back_is_named_with_how_long(sim: Simulator):
    sim.shape("S1 ~ S2")
    sim.put("S1")
    fault = sim.fault("GetRecords", "S2", kind="500", times=None)
    with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
        board = Board("s", sim.clock.monotonic())
        for _ in range(50):
            assert next(stream) is None
            sim.clock.advance(0.5)
            view = board.view(stream.stats, stream.lineage, sim.clock.now(), sim.clock.monotonic())
        sim.heal(fault)
    assert view.stats.held_by == "S2" and 20 < view.held_seconds < 30
    assert "held by S2 for 2" in shown(view)
    assert "held by S2" in draw_line(view)


def test_why_records_are_held_is_told(sim: Simulator, invoke: Invoke):
    sim.shape("S1 ~ S2")
    sim.put("S1")
    sim.fault("GetRecords", "S2", kind="500", times=None)
    done = invoke("top", "users", "--from", "trim_horizon", "-n", "4")
    assert "held by S2 (its last " in done.stdout and "failed: dynamodb:GetRecords: InternalServerError" in done.stdout
    assert re.search("shard S2: nothing but errors for [5-9] s; an error is raised after 60 s of them", done.stderr)
    view = json.loads(invoke("top", "users", "--from", "trim_horizon", "-n", "4", "--json").stdout.splitlines()[-1])
    assert view["held_why"].startswith("its last ")


def test_a_listing_that_fails_is_told_while_the_stream_begins(sim: Simulator, invoke: Invoke):
    sim.shape("S1")
    sim.fault("DescribeStream", kind="500", times=8)
    for words in (("top", "users", "-n", "1"), ("tail", "users", "--until", "in 1 min")):
        done = invoke(*words)
        assert done.exit_code == 0
        assert re.match("streamiter: listing the shards: nothing but errors for [5-9] s; an error", done.stderr)
        sim.fault("DescribeStream", kind="500", times=8)
    sim.fault("DescribeStream", kind="500", times=None)
    done = invoke("top", "users")
    assert done.exit_code == 1
    (*_, last) = done.stderr.splitlines()
    assert (
        "listing the shards gave nothing but errors for 60 s" in last
        and "run it again to go on; look at the network" in last
    )


def test_on_a_terminal_the_listing_is_told_before_there_is_anything_else(served: Simulator):
    served.shape("S1")
    served.fault("DescribeStream", kind="500", times=None)
    text, code = on_terminal(served, "top", "users", until="users: listing the shards", then=signal.SIGINT)
    assert code == 130 and "users: listing the shards …" in text


def test_the_screen_shows_it_all_and_fits(users: Simulator):
    view = watched(users, late=True)
    view = replace(view, stats=replace(view.stats, throttles=3, gaps=1))
    for width, height in ((80, 24), (120, 30), (60, 16), (40, 20), (32, 20)):
        text = shown(view, width, height)
        lines = text.splitlines()
        assert max(map(len, lines)) <= width and len(lines) <= height
        assert lines[0].startswith("users ") and lines[0].rstrip().endswith(f"up 0:{view.up_seconds:02.0f}")
        for words in (
            "rate",
            "lag",
            "waiting",
            "throttles",
            "retries",
            "late 1",
            "calls",
            "lineage",
            "├╴S3",
            "└╴S4",
            "S2",
        ):
            assert words in text, words
    assert "\nrate" in text and "       3" in text
    assert "a gap was accepted" in shown(view, notice="a gap was accepted")


def test_many_shards_are_cut_to_the_height_the_slowest_first(users: Simulator):
    view = watched(users)
    slow = replace(view.families[0].row, name="slow", lag_seconds=500.0)
    families = [
        replace(view.families[0], row=replace(slow, name=f"F{number}", lag_seconds=number)) for number in range(40)
    ]
    text = shown(replace(view, families=(*families, replace(view.families[0], row=slow, shards=()))), height=20)
    assert len(text.splitlines()) <= 20
    assert text.index("slow") < text.index("F39") and "F1 " not in text
    assert "more" in text.splitlines()[-1]


def test_a_shard_that_is_all_of_its_lineage_is_counted_once(users: Simulator):
    view = watched(users)
    alone = next(family for family in view.families if family.row.name == "S2")
    assert "more" not in shown(replace(view, families=(alone,)))
    many = [replace(alone, row=replace(alone.row, name=f"F{number}")) for number in range(40)]
    many = [replace(family, shards=(family.row,)) for family in many]
    lines = shown(replace(view, families=tuple(many)), height=20).splitlines()
    rows = [line for line in lines if line.startswith("F")]
    assert lines[-1].strip() == f"… {40 - len(rows)} more"


def test_one_record_that_waits_is_one_record(users: Simulator):
    view = watched(users)
    assert "1 record," in shown(replace(view, stats=replace(view.stats, waiting=1)))


def test_names_cannot_steer_the_terminal(users: Simulator):
    view = watched(users)
    evil = "\x1b[2J[red]evil\u202e"
    row = replace(view.families[0].row, name=evil)
    text = shown(replace(view, stream=evil, families=(replace(view.families[0], row=row),)), notice=evil)
    assert "\x1b" not in text and "\u202e" not in text and "[red]" in text


def test_the_curve_is_as_high_as_the_counts():
    assert curve((0, 1, 4, 8), 4) == " ▁▄█"
    assert curve((5, 0, 0), 2) == "  "
    assert curve((), 5) == ""


def test_without_a_terminal_it_prints_lines(users: Simulator, invoke: Invoke):
    done = invoke("top", "users", "--from", "trim_horizon", "--every", "2", "-n", "3")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and "20 records" in lines[-1] and "0 throttles" in lines[-1]
    told = [
        json.loads(line)
        for line in invoke("top", "users", "--json", "-n", "2", "--from", "trim_horizon").stdout.splitlines()
    ]
    assert told[1]["stats"]["records"] == 20 and told[1]["lag_seconds"] >= 0
    assert told[1]["now"] - told[0]["now"] >= 5


def test_a_gap_is_told_and_passed(users: Simulator, invoke: Invoke, tmp_path: Path):
    with Stream(DynamoDBStreams(users.stream_arn, client=users.client()), clock=users.clock) as stream:
        for _ in zip(range(9), stream.follow(), strict=False):
            pass
        (tmp_path / "token").write_text(json.dumps(stream.token))
    kept = (tmp_path / "token").read_text()
    users.trim("S2")
    users.put("S2")
    done: Any = invoke("top", "users", "--token-file", tmp_path / "token", "-n", "2")
    assert done.exit_code == 0, done.output
    assert "gap accepted" in done.stderr and "1 gaps" in done.stdout
    assert (tmp_path / "token").read_text() == kept, "it is not moved"


def test_on_a_terminal_it_is_a_screen_that_goes_away(served: Simulator):
    served.shape("S1")
    write(served, "S1", rounds=3, every=0)
    text, code = on_terminal(served, "top", "users", "--from", "trim_horizon", until="3 ", then=signal.SIGINT)
    assert code == 130
    assert ("\x1b[?1049h" in text and text.rstrip().endswith("\x1b[?25h")) or "\x1b[?1049l" in text
    assert "lineage" in text and "Traceback" not in text


def test_a_terminal_that_cannot_draw_anew_and_a_pipe_that_is_to_be_coloured_get_lines(served: Simulator):
    served.shape("S1")
    write(served, "S1", rounds=3, every=0)
    words = ("top", "users", "--from", "trim_horizon", "--every", "0.2")
    text, code = on_terminal(served, *words, until="3 records", then=signal.SIGINT, term="dumb")
    assert code == 130 and "lag 0 s" in text and "lineage" not in text and "\x1b" not in text
    env = environment(AWS_ENDPOINT_URL=served.endpoint_url, FORCE_COLOR="1")
    done = run(served, *words, "-n", "3", env=env)
    assert done.stdout.count("\n") == 3 and "\x1b" not in done.stdout
