"""Kinesis never says what it no longer holds: each way in which it stays silent is told all the same (law 5)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from streamiter import KinesisStreams, RecordsExpired, Stream
from streamiter.testing import KinesisHandle, Simulator
from streamiter.token import load_token
from tests.indoors import IndoorSimulator
from tests.stream.helpers import drain, drain_over_gaps, take, until_raises
from tests.stream.kinesis import identities, told

Stale = Literal["horizon", "refused", "empty"]
STALE = pytest.mark.parametrize("stale", ["horizon", "refused", "empty"])


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with IndoorSimulator(table=None) as simulator:
        yield simulator


@pytest.fixture
def orders(sim: Simulator) -> KinesisHandle:
    return sim.create_stream("orders", "S0")


def opened(sim: Simulator, token: Any = "trim_horizon", **options: Any) -> Stream:
    source = KinesisStreams("orders", client=sim.client("kinesis"))
    return Stream(source, token, clock=sim.clock, **options)


def write(sim: Simulator, orders: KinesisHandle, *shards: str, rounds: int = 4, every: float = 1) -> None:
    for number in range(rounds):
        for shard in shards:
            orders.put(shard, f"{shard}-{number}")
        sim.clock.advance(every)


def cut(sim: Simulator, count: int) -> Any:
    """The token after so many records."""
    with opened(sim) as stream:
        take(stream, sim.clock, count)
        return json.loads(json.dumps(stream.token))


@STALE
def test_a_place_that_is_no_longer_held_is_a_gap(sim: Simulator, orders: KinesisHandle, stale: Stale):
    sim.knobs.stale_number = stale
    write(sim, orders, "S0")
    token = cut(sim, 2)
    sim.clock.advance(hours=25)
    write(sim, orders, "S0")
    with opened(sim, token) as stream:
        for _ in range(3):
            came, error = until_raises(RecordsExpired, stream, sim.clock)
            assert came == []
            assert error.shard_id == orders.shard_id("S0")
        assert stream.token["lanes"] == token["lanes"]
        stream.skip()
        assert identities(drain(stream, sim.clock)) == identities(told(orders.history[4:]))
        assert stream.stats.gaps == 1


@STALE
def test_nothing_was_lost_where_the_shard_was_quiet(sim: Simulator, orders: KinesisHandle, stale: Stale):
    """The last record is trimmed, but all up to a tip minutes ago was read: reading goes on from there."""
    sim.knobs.stale_number = stale
    write(sim, orders, "S0")
    with opened(sim) as stream:
        drain(stream, sim.clock, quiet=30)
        for _ in range(25 * 12):
            sim.clock.advance(minutes=4.9)
            assert next(stream) is None
        for _ in range(40):
            next(stream)
            sim.clock.advance(1)
        token = stream.token
    sim.clock.advance(minutes=20)
    write(sim, orders, "S0", rounds=2)
    with opened(sim, token) as stream:
        assert identities(drain(stream, sim.clock)) == identities(told(orders.history[4:]))


def test_an_iterator_that_trimming_overtakes_is_a_gap(sim: Simulator, orders: KinesisHandle):
    """A reader falls behind the horizon while it reads: each page comes in time, but what follows it is gone."""
    write(sim, orders, "S0", rounds=6, every=10)
    sim.knobs.page_size = 1
    sim.clock.advance(hours=24, seconds=-63)
    with opened(sim, prefetch_bytes=1) as stream:
        came = take(stream, sim.clock, 1, step=0.2)
        sim.clock.advance(25)
        rest, gaps = drain_over_gaps(stream, sim.clock)
    assert gaps
    assert identities(came)[0] == identities(told(orders.history))[0]
    assert identities(rest) == identities(told(orders.history))[-len(rest) :]


def test_a_reader_at_the_very_horizon_is_not_frightened_for_nothing(sim: Simulator, orders: KinesisHandle):
    """All that it reads is about to go, but the last record it read is held still when it asks for the next."""
    write(sim, orders, "S0", rounds=30, every=0.5)
    sim.knobs.page_size = 2
    sim.clock.advance(hours=24, seconds=-15.5)
    with opened(sim) as stream:
        records = [record for batch in stream.batches(100, until="caught_up") for record in batch]
        assert identities(records) == identities(told(orders.history))


def test_a_retention_of_a_week_holds_for_a_week(sim: Simulator):
    orders = sim.create_stream("orders", "S0", retention_hours=168)
    write(sim, orders, "S0")
    orders.shape("S0 => {S1, S2}")
    write(sim, orders, "S1", "S2")
    token = cut(sim, 3)
    sim.clock.advance(hours=100)
    with opened(sim, token) as stream:
        assert identities(drain(stream, sim.clock)) == identities(told(orders.history[3:]))


def test_an_unread_shard_is_a_gap_when_the_retention_is_over(sim: Simulator):
    orders = sim.create_stream("orders", "S0 ~ T0", retention_hours=48)
    write(sim, orders, "S0", "T0")
    sim.fault("GetRecords", "T0", kind="500", times=None)
    with opened(sim, lateness=None) as stream:
        take(stream, sim.clock, 4)
        token = stream.token
    sim.heal()
    assert [lane.shard for lane in load_token(token).lanes if lane.opened] == [orders.shard_id("T0")]
    assert token["retention"] == 48 * 3600 * 10**6
    sim.clock.advance(hours=47)
    with opened(sim, token) as stream:
        assert len(drain(stream, sim.clock)) == 4
    sim.clock.advance(hours=2)
    write(sim, orders, "T0")
    with opened(sim, token) as stream:
        _, gaps = drain_over_gaps(stream, sim.clock)
        assert orders.shard_id("T0") in {gap.shard_id for gap in gaps}


def test_an_increase_after_the_token_hides_no_gap(sim: Simulator):
    """A day's retention, a token, 30 hours of sleep, and then a week's retention: what went meanwhile stays gone."""
    orders = sim.create_stream("orders", "S0 ~ T0")
    write(sim, orders, "S0", "T0")
    sim.fault("GetRecords", "T0", kind="500", times=None)
    with opened(sim, lateness=None) as stream:
        take(stream, sim.clock, 4)
        token = stream.token
    sim.heal()
    sim.clock.advance(hours=30)
    orders.trim("T0")
    orders.retention_hours = 168
    write(sim, orders, "T0", "S0")
    with opened(sim, token) as stream:
        _, gaps = drain_over_gaps(stream, sim.clock)
        assert {gap.shard_id for gap in gaps} == {orders.shard_id("T0")}
        token = stream.token
    assert token["retention"] == 168 * 3600 * 10**6  # all is read now: from here on the week counts


def test_a_decrease_while_reading_is_noticed(sim: Simulator):
    """30 hours behind in a week's retention, which is then cut to a day: what went is told, though Kinesis goes on."""
    orders = sim.create_stream("orders", "S0", retention_hours=168)
    write(sim, orders, "S0", rounds=10, every=3600)
    sim.knobs.page_size = 1
    sim.clock.advance(hours=22)
    with opened(sim, prefetch_bytes=1) as stream:
        came = take(stream, sim.clock, 3)
        orders.retention_hours = 24
        rest, gaps = drain_over_gaps(stream, sim.clock)
    assert len(gaps) == 1
    assert len(came) + len(rest) < 10
    assert identities(rest) == identities(told(orders.history))[-len(rest) :]


def test_a_closed_shard_that_went_is_a_gap_where_it_was_read(sim: Simulator, orders: KinesisHandle):
    write(sim, orders, "S0")
    token = cut(sim, 2)
    orders.shape("S0 => S1")
    sim.clock.advance(hours=25)
    write(sim, orders, "S1")
    with opened(sim, token) as stream:
        rest, gaps = drain_over_gaps(stream, sim.clock)
    assert [gap.shard_id for gap in gaps] == [orders.shard_id("S0")]
    assert identities(rest) == identities(told(orders.history[4:]))


def test_a_merge_of_which_a_parent_went_is_a_gap(sim: Simulator):
    """Both parents were begun; while the reader slept one of them, and then the other, went."""
    orders = sim.create_stream("orders", "S0 ~ T0")
    write(sim, orders, "S0", "T0")
    token = cut(sim, 5)
    orders.shape("{S0, T0} => S1")
    sim.clock.advance(hours=20)
    write(sim, orders, "S1")
    sim.clock.advance(hours=10)
    write(sim, orders, "S1")
    with opened(sim, token) as stream:
        rest, gaps = drain_over_gaps(stream, sim.clock)
    assert {gap.shard_id for gap in gaps} == {orders.shard_id("S0"), orders.shard_id("T0")}
    assert identities(rest) == identities(told(orders.history[8:]))


def test_old_expired_shards_are_not_waited_for(sim: Simulator, orders: KinesisHandle):
    write(sim, orders, "S0")
    orders.shape("S0 => {S1, S2}")
    sim.clock.advance(hours=30)
    orders.shape("{S1, S2} => S3")
    write(sim, orders, "S3")
    with opened(sim) as stream:
        assert identities(drain(stream, sim.clock)) == identities(told(orders.history[4:]))
        assert stream.stats.gaps == 0


def test_a_token_of_another_shards_number_is_refused(sim: Simulator, orders: KinesisHandle):
    """Not a gap: nobody may pass over records because a token was mixed up."""
    write(sim, orders, "S0")
    token = cut(sim, 2)
    token["stream"] = token["stream"].replace("orders", "others")
    with pytest.raises(ValueError, match="of another stream"):
        opened(sim, token)


def test_a_large_page_in_doubt_is_asked_about_when_the_shard_may_be_read_again(sim: Simulator, orders: KinesisHandle):
    """Ten megabytes in a page use up the rate of five seconds: whether they follow what was read is asked after those."""
    sim.knobs(records_rate=5, bytes_rate=2_000_000, page_size=10_000, page_bytes=14_000_000)
    for _ in range(30):
        orders.put("S0", b"x" * 1_000_000)
    sim.clock.advance(hours=23, minutes=59, seconds=57)
    with opened(sim, prefetch_bytes=2**30) as stream:
        orders.retention_hours = 30  # what is really held, ...
        stream._source._look = lambda: None  # ... and the description says a day still
        assert len(drain(stream, sim.clock, quiet=20)) == 30
        assert stream.stats.gaps == stream.stats.throttles == 0
    assert sim.calls.total("GetShardIterator", shard="S0") > 1


def test_what_is_held_longer_than_promised_is_read_without_a_word(sim: Simulator, orders: KinesisHandle):
    """Trimming lags: each page may lie behind the retention, but the record before it is still there."""
    write(sim, orders, "S0", rounds=8, every=10)
    orders.put_packed("S0", [("k", b"1"), ("k", b"2")])
    sim.clock.advance(hours=23, minutes=58)
    sim.knobs.page_size, sim.knobs.records_rate = 1, 5
    with opened(sim, prefetch_bytes=1) as stream:
        came = take(stream, sim.clock, 2)
        told_hours = 24
        orders.retention_hours = 30  # what is really held ...
        truth, asked = stream._source, []
        truth._look = lambda: asked.append(1)  # ... and the description says a day still
        assert truth.retention_us == told_hours * 3600 * 10**6
        sim.clock.advance(minutes=4)
        came += drain(stream, sim.clock, quiet=20)
        assert stream.stats.gaps == stream.stats.throttles == 0
        assert asked
    assert identities(came) == identities(told(orders.history))


def held_longer(sim: Simulator, orders: KinesisHandle, stream: Stream, hours: float) -> None:
    """The service holds records for so many hours, and its description says a day still."""
    orders.retention_hours = hours
    stream._source._look = lambda: None


def test_whether_the_last_record_is_held_is_asked_as_often_as_the_rate_allows(sim: Simulator, orders: KinesisHandle):
    """Six empty pages stand before each record: to look for one takes seven reads, and the shard takes five a second."""
    sim.knobs.records_rate = 5
    write(sim, orders, "S0", rounds=6, every=10)
    orders.pages("S0", [0, 0, 0, 0, 0, 0, 1], repeat=True)
    sim.clock.advance(hours=23, minutes=58)
    with opened(sim, prefetch_bytes=1) as stream:
        came = take(stream, sim.clock, 1)
        held_longer(sim, orders, stream, 30)
        sim.clock.advance(minutes=4)
        came += drain(stream, sim.clock, quiet=20, step=0.2)
        assert stream.stats.gaps == stream.stats.throttles == 0
    assert identities(came) == identities(told(orders.history))


def test_a_gap_behind_empty_pages_is_told_though_the_shard_is_read_slowly(sim: Simulator, orders: KinesisHandle):
    """The page that comes lies behind what is gone; before that shows, empty pages come."""
    sim.knobs.records_rate = 5
    write(sim, orders, "S0", rounds=6, every=10)
    orders.pages("S0", [0, 0, 0, 0, 0, 0, 1], repeat=True)
    sim.clock.advance(hours=23, minutes=58)
    with opened(sim, prefetch_bytes=1) as stream:
        assert len(take(stream, sim.clock, 2)) == 2
        held_longer(sim, orders, stream, 30)
        sim.clock.advance(minutes=4)
        for _ in range(10):  # until the page is there, and the record before it is looked for
            assert next(stream) is None
            sim.clock.advance(0.2)
        held_longer(sim, orders, stream, 24)
        rest, gaps = drain_over_gaps(stream, sim.clock)
        assert stream.stats.throttles == 0
    assert [gap.shard_id for gap in gaps] == [orders.shard_id("S0")]
    assert rest == []
