"""Where reading a Kinesis stream starts and ends: positions, and streams that are made, deleted or made again."""

from __future__ import annotations

import pytest

from streamiter import InvalidStream, InvalidToken, KinesisStreams, Stream
from streamiter.testing import KinesisHandle, Simulator
from tests.stream.helpers import drain, take, until_raises
from tests.stream.kinesis.conftest import Open
from tests.stream.kinesis.history import assert_came, identities, in_order, write


def test_where_reading_starts_does_not_change_order_keys(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    """Ranks follow from ancestors: so none that is still held may be left out of a listing (decision 12)."""
    write(sim, orders, "S0", "S1")
    orders.split("S0", "S2", "S3")
    sim.clock.advance(hours=3)
    orders.merge("S3", "S1", "S4")
    sim.clock.advance(hours=3)
    now, late = open_stream("latest"), open_stream()
    write(sim, orders, "S2", "S4")
    came = drain(now, sim.clock)
    keys = [record.order_key for record in came]
    assert len(keys) == 8
    assert keys == [record.order_key for record in drain(late, sim.clock)][-len(keys) :]


def test_latest_sees_what_is_written_afterwards(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0", "S1")
    sim.clock.advance(10)
    stream = open_stream("latest")
    token = stream.token
    write(sim, orders, "S0", "S1", rounds=2)
    orders.split("S0", "S2", "S3")
    write(sim, orders, "S2", rounds=1)
    wanted = in_order(orders)[8:]
    assert identities(drain(stream, sim.clock)) == identities(wanted)
    assert identities(drain(open_stream(token), sim.clock)) == identities(wanted)


def test_a_time_is_a_place_too(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0", "S1", rounds=10, every=1)
    from datetime import UTC, datetime

    moment = sim.clock.now() - 5
    stream = open_stream(datetime.fromtimestamp(moment, UTC))
    assert_came(drain(stream, sim.clock), in_order(orders, since_us=round(moment * 1e6)))


def test_caught_up_ends_at_the_first_tip(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0", "S1")
    stream = open_stream()
    began = sim.clock.monotonic()
    records = [record for batch in stream.batches(3, until="caught_up") for record in batch]
    assert_came(records, in_order(orders))
    assert sim.clock.monotonic() - began < 5


def test_a_stream_that_is_made_again_is_another_one(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0")
    stream = open_stream()
    take(stream, sim.clock, 2)
    token = stream.token
    assert token["stream"] == f"{orders.arn}@1750000000"
    orders.delete()
    sim.clock.advance(100)
    sim.create_stream("orders", "S0 ~ S1")
    with pytest.raises(InvalidToken, match=r"deleted and made again.*trim_horizon"):
        open_stream(token)
    with pytest.raises(InvalidStream, match="deleted and made again while it was read"):
        drain(stream, sim.clock, quiet=100)


def test_a_stream_that_is_deleted_says_so(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0")
    stream = open_stream()
    take(stream, sim.clock, 2)
    orders.delete()
    _, error = until_raises(InvalidStream, stream, sim.clock)
    assert "orders" in str(error)


def test_a_stream_that_is_being_made_is_waited_for(sim: Simulator):
    sim.knobs.enabling = 5
    client = sim.client("kinesis")
    client.create_stream(StreamName="new", ShardCount=2)
    with Stream(KinesisStreams("new", client=client), clock=sim.clock) as stream:
        assert next(stream) is None
        sim.clock.advance(5)
        client.put_record(StreamName="new", PartitionKey="a", Data=b"1")
        assert [record.payload for record in drain(stream, sim.clock)] == [b"1"]


def test_a_stream_that_is_being_resharded_is_read_meanwhile(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    sim.knobs.enabling = 3600
    client = sim.client("kinesis")
    write(sim, orders, "S0", "S1")
    client.update_shard_count(StreamName="orders", TargetShardCount=4, ScalingType="UNIFORM_SCALING")
    write(sim, orders, *orders.open_shards)
    assert_came(drain(open_stream(), sim.clock), in_order(orders))
    assert client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamStatus"] == "UPDATING"
