"""Callers that ask less often than iterators live, as a cron job does: each time they get on."""

from __future__ import annotations

import pytest

from streamiter import KinesisStreams, Record, RecordsExpired, Stream
from streamiter.testing import KinesisHandle, Simulator
from tests.stream.helpers import drain
from tests.stream.kinesis import identities, told
from tests.stream.kinesis.conftest import Open

MEGABYTE = 1_000_000


def all_due(stream: Stream) -> list[Record]:
    return list(iter(stream.__next__, None))


@pytest.fixture
def large(sim: Simulator, orders: KinesisHandle) -> KinesisHandle:
    """Records that fill a page each, and use up the shard's rate of five seconds."""
    sim.knobs(records_rate=5, bytes_rate=2 * MEGABYTE, page_bytes=10 * MEGABYTE)
    for _ in range(4):
        orders.put("S0", b"x" * (10 * MEGABYTE))
        sim.clock.advance(1)
    return orders


def test_a_process_that_runs_every_six_minutes_reads_records_of_ten_megabytes(sim: Simulator, large: KinesisHandle):
    """A shard opens at the record that was read last, which fills a page: nothing that follows comes with it."""
    token, came = "trim_horizon", []
    for _ in range(8):
        source = KinesisStreams("orders", client=sim.client("kinesis"))
        with Stream(source, token, clock=sim.clock) as stream:
            came += identities(all_due(stream))
            assert stream.stats.throttles == 0
            token = stream.token
        sim.clock.advance(minutes=6)
    assert came == identities(told(large.history))


def test_so_does_a_stream_that_is_asked_every_six_minutes(sim: Simulator, large: KinesisHandle, open_stream: Open):
    stream, came = open_stream(), []
    for _ in range(8):
        came += identities(all_due(stream))
        sim.clock.advance(minutes=6)
    assert came == identities(told(large.history))
    assert stream.stats.throttles == stream.stats.gaps == 0


def test_empty_pages_after_the_record_that_was_read_are_gone_past_at_once(
    sim: Simulator, orders: KinesisHandle, open_stream: Open
):
    sim.knobs.records_rate = 5
    orders.pages("S0", [1, 0, 0, 0, 0, 0, 0], repeat=True)
    for _ in range(5):
        orders.put("S0", b"x")
        sim.clock.advance(1)
    token, came = "trim_horizon", []
    for _ in range(6):
        with open_stream(token) as stream:
            came += identities(all_due(stream))
            token = stream.token
        sim.clock.advance(minutes=6)
    assert came == identities(told(orders.history))


def test_nothing_is_slept_through_where_nothing_is_to_come(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    orders.put("S0", b"x")
    stream = open_stream()
    assert len(drain(stream, sim.clock)) == 1
    slept = sim.clock.slept
    assert all_due(open_stream(stream.token)) == []
    assert sim.clock.slept == slept


def test_shards_whose_parents_are_trimmed_are_read_by_visits_too(sim: Simulator, orders: KinesisHandle):
    """Listings have to agree on them first, and each process begins to count anew."""
    for shard in orders.open_shards:
        orders.split(shard)
    sim.clock.advance(hours=25)
    token, came = "trim_horizon", []
    for _ in range(3):
        for shard in orders.open_shards:
            orders.put(shard, b"x")
        sim.clock.advance(minutes=6)
        with Stream(KinesisStreams("orders", client=sim.client("kinesis")), token, clock=sim.clock) as stream:
            visit = identities(all_due(stream))
            assert visit
            came += visit
            token = stream.token
    with Stream(KinesisStreams("orders", client=sim.client("kinesis")), token, clock=sim.clock) as stream:
        came += identities(drain(stream, sim.clock))
    assert sorted(came) == sorted(identities(told(orders.history)))


def test_a_gap_is_told_to_a_process_that_comes_after_all_shards_it_knew_are_gone(sim: Simulator, orders: KinesisHandle):
    orders.put("S0", b"x")
    sim.clock.advance(1)
    with Stream(KinesisStreams("orders", client=sim.client("kinesis")), clock=sim.clock) as stream:
        assert len(drain(stream, sim.clock)) == 1
        token = stream.token
    for shard in orders.open_shards:
        orders.split(shard)
    sim.clock.advance(hours=50)
    with (
        Stream(KinesisStreams("orders", client=sim.client("kinesis")), token, clock=sim.clock) as stream,
        pytest.raises(RecordsExpired),
    ):
        all_due(stream)


def test_a_stream_that_is_asked_every_six_minutes_gets_on_where_other_readers_leave_one_read_a_second(
    sim: Simulator, orders: KinesisHandle, open_stream: Open
):
    """It knows that its iterators are dead: a read that is refused for that counts, and the next one would be throttled."""
    sim.knobs.records_rate = 1
    stream, came = open_stream(), []
    for _ in range(6):
        orders.put("S0", b"x")
        came += identities(all_due(stream))
        sim.clock.advance(minutes=6)
    assert len(came) >= 4
    assert stream.stats.throttles < 6
    came += identities(drain(stream, sim.clock))
    assert came == identities(told(orders.history))
