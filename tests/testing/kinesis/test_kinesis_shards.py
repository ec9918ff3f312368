"""The simulator's Kinesis: how shards follow each other and are listed, and which calls it refuses."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from streamiter.testing import KinesisHandle, Simulator
from streamiter.testing.kinesis.truth import WHOLE
from tests.testing.readers import refused


def test_a_stream_by_its_arn(client: Any, orders: KinesisHandle):
    assert len(client.list_shards(StreamARN=orders.arn)["Shards"]) == 2
    with refused("ResourceNotFoundException"):
        client.list_shards(StreamARN=orders.arn.replace("us-east-1", "eu-west-1"))


def test_shards_come_by_pages_asked_with_the_token_alone(sim: Simulator, client: Any, orders: KinesisHandle):
    orders.reshard(7)
    listed, options = [], {"StreamName": "orders", "MaxResults": 4}
    while True:
        page = client.list_shards(**options)
        listed += [shard["ShardId"] for shard in page["Shards"]]
        if "NextToken" not in page:
            break
        options = {"NextToken": page["NextToken"], "MaxResults": 4}
    assert len(listed) == len(set(listed)) == len(client.list_shards(StreamName="orders")["Shards"])
    with refused("InvalidArgumentException", "NextToken and StreamName cannot be provided together"):
        client.list_shards(StreamName="orders", NextToken=options["NextToken"])
    sim.clock.advance(minutes=5)
    with refused("ExpiredNextTokenException"):
        client.list_shards(NextToken=options["NextToken"])


def test_a_split_and_a_merge(client: Any, orders: KinesisHandle):
    middle = orders.shard("S0").keys.first + 1000
    client.split_shard(StreamName="orders", ShardToSplit=orders.shard_id("S0"), NewStartingHashKey=str(middle))
    first, second, third = orders.open_shards
    client.merge_shards(StreamName="orders", ShardToMerge=second, AdjacentShardToMerge=orders.shard_id(third))
    rows = client.list_shards(StreamName="orders")["Shards"]
    assert rows[-1]["ParentShardId"] == second
    assert rows[-1]["AdjacentParentShardId"] == orders.shard_id(third)
    assert [row["ShardId"] for row in rows if "EndingSequenceNumber" not in row["SequenceNumberRange"]] == [
        first,
        rows[-1]["ShardId"],
    ]
    with refused("InvalidArgumentException", "has already been merged or split"):
        client.merge_shards(StreamName="orders", ShardToMerge=first, AdjacentShardToMerge=second)
    with refused("InvalidArgumentException", "is not both greater"):
        client.split_shard(StreamName="orders", ShardToSplit=first, NewStartingHashKey=str(WHOLE - 1))


@pytest.mark.parametrize("counts", [[4, 8, 16, 4], [3, 5, 7, 2], [4, 2, 1, 3]])
def test_a_reshard_leaves_equal_shards_that_cover_all_keys(sim: Simulator, counts: list[int]):
    orders = sim.create_stream("orders", "S0")
    for count in counts:
        orders.reshard(count)
        shards = [orders.shard(name) for name in orders.open_shards]
        assert len(shards) == count
        assert shards[0].keys.first == 0
        assert shards[-1].keys.last == WHOLE - 1
        assert all(a.keys.last + 1 == b.keys.first for a, b in zip(shards, shards[1:], strict=False))
        sizes = [shard.keys.last - shard.keys.first + 1 for shard in shards]
        assert max(sizes) - min(sizes) <= 1
    assert all(len(shard.parents) <= 2 for shard in orders._truth.shards.values())


def test_update_shard_count_goes_at_most_twice_as_far(client: Any, orders: KinesisHandle):
    client.update_shard_count(StreamName="orders", TargetShardCount=4, ScalingType="UNIFORM_SCALING")
    assert len(orders.open_shards) == 4
    with refused("InvalidArgumentException", "cannot scale up over double your current open shard count"):
        client.update_shard_count(StreamName="orders", TargetShardCount=9, ScalingType="UNIFORM_SCALING")


def test_filters_of_a_listing(sim: Simulator, client: Any, orders: KinesisHandle):
    sim.clock.advance(hours=1)
    orders.split("S0", "S2", "S3")
    moment = sim.clock.now()
    sim.clock.advance(hours=1)
    orders.merge("S3", "S1", "S4")

    def listed(**filter: Any) -> set[str]:
        """In pages of one shard each: the token carries the filter."""
        page = client.list_shards(StreamName="orders", ShardFilter=filter, MaxResults=1)
        rows = page["Shards"]
        while "NextToken" in page:
            page = client.list_shards(NextToken=page["NextToken"], MaxResults=1)
            rows += page["Shards"]
        return {orders.shard(row["ShardId"]).name for row in rows}

    assert listed(Type="AT_LATEST") == {"S2", "S4"}
    assert listed(Type="FROM_TRIM_HORIZON") == {"S0", "S1", "S2", "S3", "S4"}
    first = {"S0", "S1"}  # the stream is younger than its retention
    assert listed(Type="AT_TRIM_HORIZON") == listed(Type="AT_TIMESTAMP", Timestamp=1) == first
    sim.clock.advance(hours=23)
    assert listed(Type="AT_TRIM_HORIZON") == listed(Type="AT_TIMESTAMP", Timestamp=1) == {"S1", "S2", "S3"}
    assert listed(Type="AT_TIMESTAMP", Timestamp=moment + 60) == {"S1", "S2", "S3"}
    assert listed(Type="FROM_TIMESTAMP", Timestamp=moment + 60) == {"S1", "S2", "S3", "S4"}
    assert listed(Type="AFTER_SHARD_ID", ShardId=orders.shard_id("S2")) == {"S3", "S4"}


@pytest.mark.parametrize(
    "filter, words",
    [
        ({"Type": "AT_TIMESTAMP"}, "Timestamp must be specified"),
        ({"Type": "FROM_TIMESTAMP"}, "Timestamp must be specified"),
        ({"Type": "AFTER_SHARD_ID"}, "ShardId must be specified"),
        ({"Type": "AT_LATEST", "ShardId": "shardId-000000000000"}, "ShardId cannot be specified"),
        ({"Type": "AT_LATEST", "Timestamp": 1}, "Timestamp cannot be specified"),
    ],
)
def test_a_filter_has_what_its_type_needs(client: Any, orders: KinesisHandle, filter: dict[str, Any], words: str):
    with refused("InvalidArgumentException", words):
        client.list_shards(StreamName="orders", ShardFilter=filter)


@pytest.mark.parametrize(
    "more", [{"StreamName": "orders"}, {"ExclusiveStartShardId": "shardId-0"}, {"StreamCreationTimestamp": 1}]
)
def test_a_token_of_a_listing_stands_alone(client: Any, orders: KinesisHandle, more: dict[str, Any]):
    token = client.list_shards(StreamName="orders", MaxResults=1)["NextToken"]
    with refused("InvalidArgumentException", "cannot be provided together"):
        client.list_shards(NextToken=token, **more)


def test_a_call_names_its_stream(client: Any):
    with refused("InvalidArgumentException", "Either NextToken or StreamName should be provided"):
        client.list_shards()
    with refused("ValidationException", "Value null at 'streamName'"):
        client.describe_stream_summary()


def test_what_breaks_the_services_model_is_a_validation_exception(sim: Simulator, orders: KinesisHandle):
    body = json.dumps({"StreamName": "orders", "Limit": 0}).encode()
    request = urllib.request.Request(sim.endpoint_url, body, {"X-Amz-Target": "Kinesis_20131202.DescribeStream"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    told = json.loads(caught.value.read())
    assert told["__type"] == "ValidationException"
    assert told["message"].startswith("1 validation error detected: Value '0' at 'limit' failed to satisfy constraint")


def test_refusals_have_no_namespace(sim: Simulator):
    headers = {"X-Amz-Target": "Kinesis_20131202.DescribeStreamSummary"}
    request = urllib.request.Request(sim.endpoint_url, b'{"StreamName": "nobody"}', headers)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    assert json.loads(caught.value.read()) == {
        "__type": "ResourceNotFoundException",
        "message": "Stream nobody under account 000000000000 not found.",
    }


@pytest.mark.parametrize(
    "record, error, words",
    [
        ({"Data": "***", "PartitionKey": "b"}, "SerializationException", "a multiple of 4 bytes but found: 3"),
        ({"Data": "a*==", "PartitionKey": "b"}, "SerializationException", "Invalid Base64 character: '*'"),
        ({"Data": "aR==", "PartitionKey": "b"}, "SerializationException", "Invalid last non-pad Base64 character"),
        ({"Data": "eA=="}, "ValidationException", "null at 'records.2.member.partitionKey'"),
        ({"Data": "eA==", "PartitionKey": "b", "ExplicitHashKey": str(2**128)}, "InvalidArgumentException", "2"),
    ],
)
def test_a_batch_with_a_record_that_cannot_be_is_refused_whole(
    sim: Simulator, orders: KinesisHandle, record: dict[str, str], error: str, words: str
):
    body = json.dumps({"StreamName": "orders", "Records": [{"Data": "eA==", "PartitionKey": "a"}, record]}).encode()
    headers = {"X-Amz-Target": "Kinesis_20131202.PutRecords"}
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(urllib.request.Request(sim.endpoint_url, body, headers))
    told = json.loads(caught.value.read())
    assert told["__type"] == error
    assert words in told["Message" if error == "SerializationException" else "message"]  # the service's own spellings
    assert orders.history == []


def test_a_shape_has_two_parents_at_most(orders: KinesisHandle):
    orders.shape("{S0, S1} => S2; S2 => {S3, S4, S5}")
    assert orders.shard("S2").parents == (orders.shard_id("S0"), orders.shard_id("S1"))
    with pytest.raises(ValueError, match="Kinesis knows two"):
        orders.shape("{S3, S4, S5} => S6")
