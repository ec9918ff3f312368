"""The simulator's Kinesis: what comes from a shard, from where on, and what it stays silent about."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from streamiter.testing import KinesisHandle, Simulator, pack
from streamiter.testing.kinesis.truth import WHOLE
from tests.testing.kinesis.reading import iterator, read
from tests.testing.readers import refused


def test_records_go_to_the_shard_of_their_key(client: Any, orders: KinesisHandle):
    told = [client.put_record(StreamName="orders", PartitionKey=str(number), Data=b"x") for number in range(20)]
    assert {row["ShardId"] for row in told} == {orders.shard_id("S0"), orders.shard_id("S1")}
    last = client.put_record(StreamName="orders", PartitionKey="a", ExplicitHashKey=str(WHOLE - 1), Data=b"x")
    assert last["ShardId"] == orders.shard_id("S1")
    rows = [{"PartitionKey": str(number), "Data": b"y"} for number in range(3)]
    many = client.put_records(StreamName="orders", Records=rows)
    assert many["FailedRecordCount"] == 0
    assert len(orders.history) == 24
    for shard in ("S0", "S1"):
        numbers = [record.number for record in orders.history if record.shard_id == orders.shard_id(shard)]
        assert numbers == sorted(set(numbers))


def test_the_last_page_tells_of_the_children(sim: Simulator, client: Any, orders: KinesisHandle):
    orders.put("S0", b"a")
    orders.merge("S0", "S1", "S2")
    page = client.get_records(ShardIterator=iterator(client, orders.shard_id("S0")))
    assert "NextShardIterator" not in page
    [child] = page["ChildShards"]
    assert child["ShardId"] == orders.shard_id("S2")
    assert child["ParentShards"] == [orders.shard_id("S0"), orders.shard_id("S1")]
    sim.knobs.tells_children = False
    assert "ChildShards" not in client.get_records(ShardIterator=iterator(client, orders.shard_id("S0")))
    with pytest.raises(ValueError, match="read to its end"):
        orders.put("S0", b"b")


def test_how_far_behind_a_page_is(sim: Simulator, client: Any, orders: KinesisHandle):
    for _ in range(3):
        orders.put("S0", b"a")
        sim.clock.advance(10)
    first = client.get_records(ShardIterator=iterator(client, orders.shard_id("S0")), Limit=2)
    assert first["MillisBehindLatest"] == 10_000
    assert client.get_records(ShardIterator=first["NextShardIterator"])["MillisBehindLatest"] == 0


@pytest.mark.parametrize("stale, told", [("horizon", [b"2"]), ("empty", []), ("refused", None)])
def test_an_old_number_is_answered_as_the_knob_says(sim: Simulator, client: Any, orders: KinesisHandle, stale, told):
    sim.knobs.stale_number = stale
    first = orders.put("S0", b"1")
    sim.clock.advance(hours=25)
    orders.put("S0", b"2")
    place = (orders.shard_id("S0"), "AFTER_SEQUENCE_NUMBER")
    if told is None:
        with refused("InvalidArgumentException"):
            read(client, *place, StartingSequenceNumber=first.sequence_number)
        return
    assert read(client, *place, StartingSequenceNumber=first.sequence_number) == told
    page = client.get_records(ShardIterator=iterator(client, *place, StartingSequenceNumber=first.sequence_number))
    assert page["MillisBehindLatest"] == (86_400_000 if stale == "empty" else 0)


def test_an_iterator_that_trimming_overtakes_goes_on_in_silence(sim: Simulator, client: Any, orders: KinesisHandle):
    for number in range(3):
        orders.put("S0", str(number))
    early = iterator(client, orders.shard_id("S0"))
    orders.trim("S0", 2)
    assert [row["Data"] for row in client.get_records(ShardIterator=early)["Records"]] == [b"2"]


def test_iterators_die_after_five_minutes(sim: Simulator, client: Any, orders: KinesisHandle):
    early = iterator(client, orders.shard_id("S0"))
    sim.clock.advance(minutes=5)
    with refused("ExpiredIteratorException"):
        client.get_records(ShardIterator=early)


def test_places_to_start_at(sim: Simulator, client: Any, orders: KinesisHandle):
    records = []
    for number in range(3):
        records.append(orders.put("S0", str(number)))
        sim.clock.advance(10)
    shard = orders.shard_id("S0")
    number = records[1].sequence_number
    assert read(client, shard, "AT_SEQUENCE_NUMBER", StartingSequenceNumber=number) == [b"1", b"2"]
    assert read(client, shard, "AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=number) == [b"2"]
    assert read(client, shard, "AT_TIMESTAMP", Timestamp=sim.clock.now() - 15) == [b"2"]
    assert read(client, shard, "LATEST") == []
    with refused("InvalidArgumentException", "currentTimestampInMillis"):
        read(client, shard, "AT_TIMESTAMP", Timestamp=sim.clock.now() + 1)
    with refused("InvalidArgumentException"):
        read(client, shard, "AT_SEQUENCE_NUMBER")
    with refused("ResourceNotFoundException", "Shard shardId-000000000099 in stream orders"):
        read(client, "shardId-000000000099")
    with refused(
        "InvalidArgumentException", "It encodes shardId-000000000000, while it was used .* shardId-000000000001"
    ):
        read(client, orders.shard_id("S1"), "AT_SEQUENCE_NUMBER", StartingSequenceNumber=number)
    with refused("InvalidArgumentException", "Invalid ShardIterator"):
        client.get_records(ShardIterator="nonsense")


def test_rates_are_kept_by_the_shard(sim: Simulator, client: Any, orders: KinesisHandle):
    sim.knobs.records_rate, sim.knobs.bytes_rate = 5, 2_000_000
    orders.put("S0", b"x" * 1_000_000)
    at = iterator(client, orders.shard_id("S0"))
    client.get_records(ShardIterator=at)
    with refused("ProvisionedThroughputExceededException"):
        client.get_records(ShardIterator=at)
    sim.clock.advance(0.5)
    other = iterator(client, orders.shard_id("S1"))
    for _ in range(5):
        client.get_records(ShardIterator=other)
    with refused("ProvisionedThroughputExceededException"):
        client.get_records(ShardIterator=other)


def test_faults_and_calls_go_by_the_tests_names(sim: Simulator, client: Any, orders: KinesisHandle):
    sim.fault("GetRecords", "S1", kind="throttle")
    client.get_records(ShardIterator=iterator(client, orders.shard_id("S0")))
    with refused("ProvisionedThroughputExceededException"):
        client.get_records(ShardIterator=iterator(client, orders.shard_id("S1")))
    assert sim.calls.by_outcome["ProvisionedThroughputExceededException"] == 1
    assert [call.shard for call in sim.calls.of("GetRecords")] == ["S0", "S1"]
    assert sim.calls.of("GetShardIterator")[0].iterator_type == "TRIM_HORIZON"
    with pytest.raises(ClientError, match="UnknownOperation"):
        client.list_channels()


def test_a_packed_record_is_one_to_the_service(client: Any, orders: KinesisHandle):
    orders.put_packed("S0", [("a", b"1"), ("b", b"2")])
    assert read(client, orders.shard_id("S0")) == [pack([("a", b"1"), ("b", b"2")])]
