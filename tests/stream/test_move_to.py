"""`stream.move_to()`: a token, "trim_horizon", "latest", a time."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import arrow
import pytest

from streamiter import InvalidPosition
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_came, drain, identities, in_order, take, until_raises, write


@pytest.fixture
def written(sim: Simulator) -> Simulator:
    """Six hours of a lineage: a roll, a split, two families."""
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0", rounds=5, every=1200)
    sim.shape("S0 => S1")
    write(sim, "S1", "T0", rounds=5, every=1200)
    sim.shape("S1 => {S2, S3}")
    write(sim, "S2", "T0", "S3", rounds=5, every=1200)
    sim.clock.advance(10)
    return sim


def test_trim_horizon_starts_over(written: Simulator, open_stream: Open):
    stream = open_stream()
    take(stream, written.clock, 8)
    stream.move_to("trim_horizon")
    assert identities(drain(stream, written.clock)) == identities(in_order(written))


@pytest.mark.parametrize("name", ["TRIM_HORIZON", "Trim_Horizon"])
def test_names_of_positions_may_be_written_as_the_service_does(written: Simulator, open_stream: Open, name):
    assert_came(drain(open_stream(name), written.clock), in_order(written))


def test_a_token_goes_back_to_its_place(written: Simulator, open_stream: Open):
    stream = open_stream()
    take(stream, written.clock, 6)
    token = stream.token
    take(stream, written.clock, 10)
    stream.move_to(token)
    assert_came(drain(stream, written.clock), in_order(written)[6:], clock=6)


def test_a_streams_own_token_moves_nothing(written: Simulator, open_stream: Open):
    stream = open_stream()
    take(stream, written.clock, 6)
    stream.move_to(stream.token)
    assert_came(drain(stream, written.clock), in_order(written)[6:], clock=6)


# -- a time


@pytest.mark.parametrize("knows", [True, False], ids=["with AT_TIMESTAMP", "without it"])
@pytest.mark.parametrize("hours", [0, 0.5, 1, 2, 3.7, 5, 30])
def test_a_time_is_everything_from_it_on(written: Simulator, open_stream: Open, hours: float, knows: bool):
    written.knobs.knows_at_timestamp = knows
    since = written.clock.now() - 3600 * hours
    stream = open_stream()
    stream.move_to(datetime.fromtimestamp(since, UTC))
    assert_came(drain(stream, written.clock), in_order(written, since=since))


@pytest.mark.parametrize("knows", [True, False], ids=["with AT_TIMESTAMP", "without it"])
def test_a_time_goes_by_order_time_not_by_creation_time(sim: Simulator, open_stream: Open, knows: bool):
    """A parent's later record lifts its child's earlier ones over the time."""
    sim.knobs.knows_at_timestamp = knows
    sim.clock.advance(hours=5)
    now = sim.clock.now()
    sim.shape("S0 ~ T0")
    for ago in (900, 100, 800):
        sim.put("S0", created=now - ago)
        sim.put("T0", created=now - ago)
    sim.shape("S0 => S1")
    for created in (now - 700, None, now - 50, now - 600):
        sim.put("S1", created=created)
    for since in (now - 1000, now - 850, now - 750, now - 200, now - 60, now - 10):
        stream = open_stream(arrow.get(since))
        assert identities(drain(stream, sim.clock)) == identities(in_order(sim, since=since)), now - since


def test_a_time_opens_shards_at_it_rather_than_reading_all(written: Simulator, open_stream: Open):
    written.calls.clear()
    stream = open_stream(arrow.get(written.clock.now() - 3600))
    drain(stream, written.clock)
    asked = written.calls.of("GetShardIterator")
    assert asked
    assert {call.iterator_type for call in asked} <= {"AT_TIMESTAMP", "AFTER_SEQUENCE_NUMBER", "TRIM_HORIZON"}
    fetched = sum(call.records for call in written.calls.of("GetRecords"))
    assert fetched < len(written.history)


def test_a_time_is_floored_to_the_second(written: Simulator, open_stream: Open):
    first = next(record for record in in_order(written) if record.shard_id == "S2")
    moment = (first.created or 0) + 0.9
    stream = open_stream(arrow.get(moment))
    assert identities([next(stream)])[0][1] in {
        r.sequence_number for r in written.history if r.created == first.created
    }


MOMENT = datetime(2025, 6, 15, 18, 30, 0)


@pytest.mark.parametrize(
    "same",
    [
        MOMENT,  # naive datetimes are UTC
        MOMENT.replace(tzinfo=UTC),
        MOMENT.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=5, minutes=30))),
        MOMENT.replace(tzinfo=UTC).astimezone(ZoneInfo("America/New_York")),
        arrow.get(MOMENT),
        arrow.get(MOMENT).to("Asia/Tokyo"),
    ],
    ids=["naive", "utc", "offset", "zone", "arrow", "arrow in a zone"],
)
def test_a_moment_is_the_same_however_it_is_written(
    written: Simulator, open_stream: Open, monkeypatch: pytest.MonkeyPatch, same
):
    import time

    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    try:
        stream = open_stream(same)
    finally:
        monkeypatch.undo()
        time.tzset()
    since = MOMENT.replace(tzinfo=UTC).timestamp()
    assert_came(drain(stream, written.clock), in_order(written, since=since))
    assert 0 < len(in_order(written, since=since)) < len(written.history)


@pytest.mark.parametrize("knows", [True, False], ids=["with AT_TIMESTAMP", "without it"])
def test_a_future_time_gives_nothing_until_then(written: Simulator, open_stream: Open, knows: bool):
    written.knobs.knows_at_timestamp = knows
    since = written.clock.now() + 600
    stream = open_stream(arrow.get(since))
    early = []
    while written.clock.now() < since - 5:
        early += [record for record in [next(stream)] if record is not None]
        written.put("T0")
        written.clock.advance(20)
    assert early == []
    written.clock.advance(since - written.clock.now() + 1)
    before = len(written.history)
    written.put("S2")
    written.put("T0")
    assert identities(drain(stream, written.clock)) == identities(in_order(written)[-2:])
    assert len(written.history) == before + 2


def test_a_token_taken_after_moving_to_a_time_keeps_the_time(written: Simulator, open_stream: Open):
    since = written.clock.now() - 2 * 3600
    token = open_stream(arrow.get(since)).token
    wanted = in_order(written, since=since)
    assert_came(drain(open_stream(token), written.clock), wanted)
    stream = open_stream(token)
    take(stream, written.clock, 3)
    assert_came(drain(open_stream(stream.token), written.clock), wanted[3:], clock=3)


@pytest.mark.parametrize(
    "position",
    [
        "beginning",
        "",
        "2025-13-01",
        "{no json",
        17,
        1.5,
        None,
        date(2025, 6, 15),
        timedelta(hours=2),
        ["trim_horizon"],
        b"latest",
    ],
    ids=repr,
)
def test_what_is_no_position_is_refused_with_what_is_one(written: Simulator, open_stream: Open, position):
    known = "trim_horizon.*latest.*token|looks like a token, but is no JSON"
    with pytest.raises(InvalidPosition, match=known):
        open_stream(position)
    stream = open_stream()
    take(stream, written.clock, 3)
    with pytest.raises(InvalidPosition, match=known):
        stream.move_to(position)
    assert_came(drain(stream, written.clock), in_order(written)[3:], clock=3)


# -- moving leaves behind


def test_moving_leaves_calls_under_way_behind(written: Simulator, open_stream: Open):
    written.knobs.page_size = 1
    stream = open_stream()
    take(stream, written.clock, 4)
    written.knobs.latency = 0.02
    for _ in range(3):
        next(stream)
        stream.move_to("trim_horizon")
    written.knobs.latency = 0.0
    assert identities(drain(stream, written.clock)) == identities(in_order(written))


def test_moving_leaves_a_gap_and_a_fault_behind(written: Simulator, open_stream: Open):
    stream = open_stream(patience=2)
    fault = written.fault("GetRecords", "T0", kind="500", times=None)
    until_raises(Exception, stream, written.clock)
    written.heal(fault)
    stream.move_to("trim_horizon")
    assert identities(drain(stream, written.clock)) == identities(in_order(written))


def test_totals_go_on_over_a_move(written: Simulator, open_stream: Open):
    stream = open_stream()
    take(stream, written.clock, 5)
    stream.move_to("trim_horizon")
    take(stream, written.clock, 5)
    assert stream.stats.records == 10


# -- texts: one parser for Python, the command line and Spark


@pytest.mark.parametrize(
    "text",
    [
        *("2 hours ago", "120 min", "{iso}", "{iso} +00:00", "{since}", "{since}.0"),
        *(" {iso} ", "{basic}", "2 Hours Ago"),
    ],
)
def test_a_text_names_a_time(sim: Simulator, open_stream: Open, text: str):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=8, every=1800)
    when = arrow.get(sim.clock.now()).shift(hours=-2).floor("second")
    text = text.format(
        iso=when.format("YYYY-MM-DDTHH:mm:ss"), since=int(when.timestamp()), basic=when.format("YYYYMMDD[T]HHmmss[Z]")
    )
    wanted = in_order(sim, since=when.timestamp())
    assert 0 < len(wanted) < len(sim.history)
    assert identities(list(open_stream(text).follow(until="caught_up"))) == identities(wanted)
    stream = open_stream()
    stream.move_to(text)
    assert identities(list(stream.follow(until="caught_up"))) == identities(wanted)


@pytest.mark.parametrize("word", ["trim_horizon", "TRIM_HORIZON", "trim-horizon", " Trim Horizon "])
def test_words_are_known_however_they_are_written(written: Simulator, open_stream: Open, word: str):
    assert len(list(open_stream(word).follow(until="caught_up"))) == len(written.history)


def test_a_token_may_come_as_its_json(written: Simulator, open_stream: Open):
    stream = open_stream()
    came = take(stream, written.clock, 3)
    text = json.dumps(stream.token)
    assert_came(came + list(open_stream(text).follow(until="caught_up")), in_order(written))
    stream.move_to("trim_horizon")
    stream.move_to(f"\n{text}\n")
    assert_came(list(stream.follow(until="caught_up")), in_order(written)[3:], clock=3)


def test_an_end_may_be_a_text(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=8, every=1800)
    stream = open_stream()
    when = arrow.get(sim.clock.now()).shift(hours=-2).floor("second")
    until = identities(list(stream.follow(until="2 hours ago")))
    assert until == identities(in_order(sim))[: len(until)]
    assert identities(list(stream.follow(until="caught up"))) == identities(in_order(sim, since=when.timestamp()))


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=14))),
    ],
)
def test_what_lies_beyond_the_calendar_is_its_edge(open_stream: Open, moment: datetime):
    stream = open_stream(moment)
    assert open_stream(stream.token).token == stream.token
