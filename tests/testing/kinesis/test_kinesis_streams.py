"""The simulator's Kinesis: what its calls say of streams."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter.testing import KinesisHandle, Simulator
from tests.testing.readers import refused


def test_a_stream_by_its_clients_calls(sim: Simulator, client: Any):
    client.create_stream(StreamName="orders", ShardCount=3)
    told = client.describe_stream(StreamName="orders")["StreamDescription"]
    summary = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]
    assert told["StreamARN"] == summary["StreamARN"] == sim.kinesis("orders").arn
    assert told["StreamStatus"] == "ACTIVE"
    assert (summary["OpenShardCount"], summary["RetentionPeriodHours"], len(told["Shards"])) == (3, 24, 3)
    assert summary["StreamCreationTimestamp"].timestamp() == sim.clock.now()
    assert client.list_streams()["StreamNames"] == ["orders"]
    with refused("ResourceInUseException"):
        client.create_stream(StreamName="orders", ShardCount=1)
    client.delete_stream(StreamName="orders")
    assert client.list_streams()["StreamNames"] == []
    with refused("ResourceNotFoundException", "Stream orders under account 000000000000 not found"):
        client.describe_stream_summary(StreamName="orders")
    with pytest.raises(LookupError, match="there is no Kinesis stream 'orders'; there are: none"):
        sim.kinesis("orders")


def test_a_stream_is_creating_and_then_updating_for_a_while(sim: Simulator, client: Any):
    sim.knobs.enabling = 5
    client.create_stream(StreamName="orders", ShardCount=2)
    told = client.describe_stream(StreamName="orders")["StreamDescription"]
    assert (told["StreamStatus"], told["Shards"]) == ("CREATING", [])
    shard = "shardId-000000000000"
    for call, options in [
        (client.put_record, {"PartitionKey": "a", "Data": b"x"}),
        (client.get_shard_iterator, {"ShardId": shard, "ShardIteratorType": "LATEST"}),
    ]:
        with refused("ResourceNotFoundException"):
            call(StreamName="orders", **options)
    changes = [
        (client.split_shard, {"ShardToSplit": shard, "NewStartingHashKey": "10"}),
        (client.merge_shards, {"ShardToMerge": shard, "AdjacentShardToMerge": "shardId-000000000001"}),
        (client.update_shard_count, {"TargetShardCount": 4, "ScalingType": "UNIFORM_SCALING"}),
        (client.increase_stream_retention_period, {"RetentionPeriodHours": 48}),
    ]
    for call, options in [*changes, (client.list_shards, {})]:
        with refused("ResourceInUseException", "CREATING"):
            call(StreamName="orders", **options)
    sim.clock.advance(5)
    split, rest = changes[0], changes[1:]
    split[0](StreamName="orders", **split[1])
    for call, options in rest:
        with refused("ResourceInUseException", "UPDATING"):
            call(StreamName="orders", **options)
    client.put_record(StreamName="orders", PartitionKey="a", Data=b"x")
    assert len(client.list_shards(StreamName="orders")["Shards"]) == 4
    sim.clock.advance(5)
    assert client.describe_stream(StreamName="orders")["StreamDescription"]["StreamStatus"] == "ACTIVE"


def test_names_of_streams_come_by_pages(sim: Simulator, client: Any):
    for number in range(5):
        sim.create_stream(f"s{number}")
    first = client.list_streams(Limit=3)
    assert (first["StreamNames"], first["HasMoreStreams"]) == (["s0", "s1", "s2"], True)
    rest = client.list_streams(NextToken=first["NextToken"])
    assert (rest["StreamNames"], rest["HasMoreStreams"]) == (["s3", "s4"], False)


def test_retention_is_changed_one_way_at_a_time(sim: Simulator, client: Any, orders: KinesisHandle):
    client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=48)
    assert orders.retention_hours == 48
    for hours in (24, 8761):
        with refused("InvalidArgumentException"):
            client.increase_stream_retention_period(StreamName="orders", RetentionPeriodHours=hours)
    client.decrease_stream_retention_period(StreamName="orders", RetentionPeriodHours=24)
    assert orders.retention_hours == 24
