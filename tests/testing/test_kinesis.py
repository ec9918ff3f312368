"""The simulator's Kinesis: what its calls answer, how shards follow each other, what it stays silent about."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from streamiter.testing import KinesisHandle, Simulator, pack
from streamiter.testing.kinesis.truth import WHOLE
from tests.testing.readers import refused


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(table=None) as simulator:
        yield simulator


@pytest.fixture
def client(sim: Simulator) -> Any:
    return sim.client("kinesis")


@pytest.fixture
def orders(sim: Simulator) -> KinesisHandle:
    return sim.create_stream("orders", "S0 ~ S1")


def iterator(client: Any, shard: str, type: str = "TRIM_HORIZON", **options: Any) -> str:
    place = {"StreamName": "orders", "ShardId": shard, "ShardIteratorType": type}
    return client.get_shard_iterator(**place, **options)["ShardIterator"]


def read(client: Any, shard: str, type: str = "TRIM_HORIZON", **options: Any) -> list[bytes]:
    return [
        row["Data"] for row in client.get_records(ShardIterator=iterator(client, shard, type, **options))["Records"]
    ]


# -- streams


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


# -- shards


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
    with refused("InvalidArgumentException", "closed already"):
        client.merge_shards(StreamName="orders", ShardToMerge=first, AdjacentShardToMerge=second)
    with refused("InvalidArgumentException", "lies outside"):
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
    with refused("InvalidArgumentException", "cannot go from 4 to 9"):
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
    with refused("InvalidArgumentException", "StreamName or StreamARN"):
        client.list_shards()
    with refused("InvalidArgumentException", "StreamName or StreamARN"):
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
        ({"Data": "***", "PartitionKey": "b"}, "SerializationException", "base64"),
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
    assert told["__type"] == error and words in told["message"]
    assert orders.history == []


def test_a_shape_has_two_parents_at_most(orders: KinesisHandle):
    orders.shape("{S0, S1} => S2; S2 => {S3, S4, S5}")
    assert orders.shard("S2").parents == (orders.shard_id("S0"), orders.shard_id("S1"))
    with pytest.raises(ValueError, match="Kinesis knows two"):
        orders.shape("{S3, S4, S5} => S6")


# -- records


def test_records_go_to_the_shard_of_their_key(client: Any, orders: KinesisHandle):
    told = [client.put_record(StreamName="orders", PartitionKey=str(number), Data=b"x") for number in range(20)]
    assert {row["ShardId"] for row in told} == {orders.shard_id("S0"), orders.shard_id("S1")}
    last = client.put_record(StreamName="orders", PartitionKey="a", ExplicitHashKey=str(WHOLE - 1), Data=b"x")
    assert last["ShardId"] == orders.shard_id("S1")
    rows = [{"PartitionKey": str(number), "Data": b"y"} for number in range(3)]
    many = client.put_records(StreamName="orders", Records=rows)
    assert many["FailedRecordCount"] == 0
    assert len(orders.history) == 24
    numbers = [record.number for record in orders.history]
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
        client.list_stream_consumers(StreamARN=orders.arn)


def test_a_packed_record_is_one_to_the_service(client: Any, orders: KinesisHandle):
    orders.put_packed("S0", [("a", b"1"), ("b", b"2")])
    assert read(client, orders.shard_id("S0")) == [pack([("a", b"1"), ("b", b"2")])]
