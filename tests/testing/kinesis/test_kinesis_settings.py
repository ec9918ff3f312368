"""What is set on a Kinesis stream: tags, policies, modes, encryption, monitoring; and the limits of streams and accounts."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from streamiter.testing import KinesisHandle, Simulator
from tests.testing.readers import refused

WRONG = "InvalidArgumentException"
MISSING = "ResourceNotFoundException"
LIMIT = "LimitExceededException"


def summary(client: Any, name: str = "orders") -> dict[str, Any]:
    told: dict[str, Any] = client.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]
    return told


def test_tags_are_added_listed_by_pages_and_removed(client: Any, orders: KinesisHandle):
    client.add_tags_to_stream(StreamName="orders", Tags={"b": "2", "a": "1"})
    client.tag_resource(ResourceARN=orders.arn, Tags={"c": "3", "b": "two"})
    first = client.list_tags_for_stream(StreamName="orders", Limit=2)
    assert first["Tags"] == [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "two"}] and first["HasMoreTags"]
    rest = client.list_tags_for_stream(StreamName="orders", ExclusiveStartTagKey="b")
    assert rest["Tags"] == [{"Key": "c", "Value": "3"}] and not rest["HasMoreTags"]
    client.remove_tags_from_stream(StreamName="orders", TagKeys=["a", "none"])
    client.untag_resource(ResourceARN=orders.arn, TagKeys=["b"])
    assert client.list_tags_for_resource(ResourceARN=orders.arn)["Tags"] == [{"Key": "c", "Value": "3"}]


@pytest.mark.parametrize("tags", [{"aws:a": "1"}, {"a!": "1"}, {"a": "<"}, {f"{n}": "" for n in range(51)}])
def test_tags_that_cannot_be_are_refused(client: Any, orders: KinesisHandle, tags: dict[str, str]):
    with refused(WRONG):
        client.add_tags_to_stream(StreamName="orders", Tags=tags)
    with refused(WRONG):
        client.create_stream(StreamName="other", ShardCount=1, Tags=tags)
    assert client.list_tags_for_stream(StreamName="orders")["Tags"] == []
    assert client.list_streams()["StreamNames"] == ["orders"]


@pytest.mark.parametrize("tags", [{}, {"": "a"}, {"a" * 129: ""}, {"a": "b" * 257}])
def test_tags_of_lengths_that_the_description_does_not_allow_are_refused(
    sim: Simulator, orders: KinesisHandle, tags: dict[str, str]
):
    client = sim.client("kinesis", config=Config(parameter_validation=False))
    with refused("ValidationException", "Member must"):
        client.add_tags_to_stream(StreamName="orders", Tags=tags)


@pytest.mark.parametrize("at", [0, 1, (1 << 127) - 1, 1 << 127])
def test_a_shard_is_split_well_within_its_keys(client: Any, orders: KinesisHandle, at: int):
    with refused(WRONG, "is not both greater than one plus the shard's StartingHashKey 0"):
        client.split_shard(StreamName="orders", ShardToSplit=orders.shard_id("S0"), NewStartingHashKey=str(at))
    client.split_shard(StreamName="orders", ShardToSplit=orders.shard_id("S0"), NewStartingHashKey="2")
    with refused(MISSING, "Could not find shard"):
        client.merge_shards(
            StreamName="orders", ShardToMerge=orders.shard_id("S0"), AdjacentShardToMerge="shardId-000000000099"
        )


def test_policies_are_kept(client: Any, orders: KinesisHandle):
    with refused(MISSING):
        client.get_resource_policy(ResourceARN=orders.arn)
    with refused(WRONG):
        client.put_resource_policy(ResourceARN=orders.arn, Policy="no")
    client.put_resource_policy(ResourceARN=orders.arn, Policy='{"Version": "2012-10-17"}')
    assert client.get_resource_policy(ResourceARN=orders.arn)["Policy"] == '{"Version": "2012-10-17"}'
    client.delete_resource_policy(ResourceARN=orders.arn)
    with refused(MISSING):
        client.delete_resource_policy(ResourceARN=orders.arn)


def test_metrics_are_switched_on_and_off(client: Any, orders: KinesisHandle):
    told = client.enable_enhanced_monitoring(StreamName="orders", ShardLevelMetrics=["OutgoingBytes", "IncomingBytes"])
    assert (told["CurrentShardLevelMetrics"], told["StreamARN"]) == ([], orders.arn)
    assert told["DesiredShardLevelMetrics"] == ["IncomingBytes", "OutgoingBytes"]
    client.disable_enhanced_monitoring(StreamName="orders", ShardLevelMetrics=["IncomingBytes"])
    assert summary(client)["EnhancedMonitoring"] == [{"ShardLevelMetrics": ["OutgoingBytes"]}]
    assert (
        len(
            client.enable_enhanced_monitoring(StreamName="orders", ShardLevelMetrics=["ALL"])[
                "DesiredShardLevelMetrics"
            ]
        )
        == 7
    )
    client.disable_enhanced_monitoring(StreamName="orders", ShardLevelMetrics=["ALL"])
    assert summary(client)["EnhancedMonitoring"] == [{"ShardLevelMetrics": []}]


def test_encryption_shows_on_streams_and_records(client: Any, orders: KinesisHandle):
    key = {"EncryptionType": "KMS", "KeyId": "alias/aws/kinesis"}
    with refused(WRONG):
        client.start_stream_encryption(StreamName="orders", EncryptionType="NONE", KeyId="alias/aws/kinesis")
    client.start_stream_encryption(StreamName="orders", **key)
    assert summary(client)["KeyId"] == "alias/aws/kinesis" and summary(client)["EncryptionType"] == "KMS"
    put = client.put_record(StreamName="orders", PartitionKey="k", Data=b"a")
    assert put["EncryptionType"] == "KMS"
    place = {"StreamName": "orders", "ShardId": put["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = client.get_shard_iterator(**place)["ShardIterator"]
    assert client.get_records(ShardIterator=iterator)["Records"][0]["EncryptionType"] == "KMS"
    with refused(WRONG):
        client.stop_stream_encryption(StreamName="orders", EncryptionType="KMS", KeyId="other")
    client.stop_stream_encryption(StreamName="orders", **key)
    assert "KeyId" not in summary(client)


def test_modes_are_switched_twice_a_day(sim: Simulator, client: Any, orders: KinesisHandle):
    for mode in ("ON_DEMAND", "PROVISIONED"):
        client.update_stream_mode(StreamARN=orders.arn, StreamModeDetails={"StreamMode": mode})
        assert summary(client)["StreamModeDetails"] == {"StreamMode": mode}
    with refused(LIMIT):
        client.update_stream_mode(StreamARN=orders.arn, StreamModeDetails={"StreamMode": "ON_DEMAND"})
    sim.clock.advance(hours=24)
    client.update_stream_mode(StreamARN=orders.arn, StreamModeDetails={"StreamMode": "ON_DEMAND"})
    with refused("ValidationException"):
        client.update_shard_count(StreamName="orders", TargetShardCount=4, ScalingType="UNIFORM_SCALING")
    client.update_stream_record_distribution_strategy(StreamARN=orders.arn, RecordDistributionStrategy="AUTO")
    assert summary(client)["RecordDistributionStrategy"] == "AUTO"
    client.update_stream_warm_throughput(StreamARN=orders.arn, WarmThroughputMiBps=10)
    assert summary(client)["WarmThroughput"] == {"TargetMiBps": 10, "CurrentMiBps": 10}
    settings = client.update_account_settings(MinimumThroughputBillingCommitment={"Status": "ENABLED"})
    settings.pop("ResponseMetadata")
    assert settings == {"MinimumThroughputBillingCommitment": {"Status": "ENABLED"}}


def test_records_have_a_greatest_size(client: Any, orders: KinesisHandle):
    put = {"StreamName": "orders", "PartitionKey": "key"}
    client.put_record(**put, Data=b"x" * (1024 * 1024 - 3))
    with refused(WRONG, "longer than 1048576 bytes"):
        client.put_record(**put, Data=b"x" * (1024 * 1024 - 2))
    with refused("ValidationException", "lim=1048577 cap=1048577.*at 'data'.*length less than or equal to 1048576"):
        client.put_record(**put, Data=b"x" * (1024 * 1024 + 1))
    client.update_max_record_size(StreamARN=orders.arn, MaxRecordSizeInKiB=10240)
    assert summary(client)["MaxRecordSizeInKiB"] == 10240
    client.put_record(**put, Data=b"x" * (1024 * 1024))
    with refused(WRONG, "exceeds 10 MB"):
        rows = [{"PartitionKey": "k", "Data": b"x" * 5_300_000}] * 2
        client.put_records(StreamName="orders", Records=rows)
    assert len(orders.history) == 2


def test_a_shard_takes_so_much_in_a_second(sim: Simulator, client: Any, orders: KinesisHandle):
    sim.knobs(put_rate=3, put_bytes_rate=100)
    rows = [{"PartitionKey": "k", "Data": b"x"}] * 5
    told = client.put_records(StreamName="orders", Records=rows)
    assert told["FailedRecordCount"] == 2
    assert ["ErrorCode" in row for row in told["Records"]] == [False] * 3 + [True] * 2
    assert told["Records"][3]["ErrorCode"] == "ProvisionedThroughputExceededException"
    with refused("ProvisionedThroughputExceededException", "Rate exceeded for shard"):
        client.put_record(StreamName="orders", PartitionKey="k", Data=b"x")
    sim.clock.advance(1)
    client.put_record(StreamName="orders", PartitionKey="k", Data=b"x" * 90)
    with refused("ProvisionedThroughputExceededException"):
        client.put_record(StreamName="orders", PartitionKey="k", Data=b"x" * 20)
    assert len(orders.history) == 4


def test_an_account_has_so_many_shards_and_so_many_streams_in_the_making(
    sim: Simulator, client: Any, orders: KinesisHandle
):
    sim.knobs.shard_limit = 5
    with refused(LIMIT, "Current shard count for the account: 2. Limit: 5."):
        client.create_stream(StreamName="large", ShardCount=4)
    client.create_stream(StreamName="small", ShardCount=3)
    with refused(LIMIT):
        client.split_shard(StreamName="orders", ShardToSplit=orders.shard_id("S0"), NewStartingHashKey="10")
    limits = client.describe_limits()
    counts = ("ShardLimit", "OpenShardCount", "OnDemandStreamCount", "OnDemandStreamCountLimit")
    assert [limits[name] for name in counts] == [5, 5, 0, 50]
    sim.knobs(shard_limit=100, enabling=10)
    for number in range(5):
        client.create_stream(StreamName=f"s{number}", ShardCount=1)
    with refused(LIMIT, "CREATING"):
        client.create_stream(StreamName="s5", ShardCount=1)
    sim.clock.advance(10)
    client.create_stream(StreamName="s5", ShardCount=1)


def test_a_provisioned_stream_needs_a_count_of_shards(client: Any):
    with refused("ValidationException", "null at 'shardCount'"):
        client.create_stream(StreamName="none")
    client.create_stream(StreamName="any", StreamModeDetails={"StreamMode": "ON_DEMAND"})
    assert summary(client, "any")["OpenShardCount"] == 4


def test_the_count_of_shards_changes_ten_times_a_day(sim: Simulator, client: Any, orders: KinesisHandle):
    for number in range(10):
        told = client.update_shard_count(
            StreamName="orders", TargetShardCount=3 - number % 2, ScalingType="UNIFORM_SCALING"
        )
        assert told["StreamARN"] == orders.arn
    with refused(LIMIT):
        client.update_shard_count(StreamName="orders", TargetShardCount=3, ScalingType="UNIFORM_SCALING")


def test_a_stream_is_deleting_for_a_while(sim: Simulator, client: Any, orders: KinesisHandle):
    sim.knobs.disabling = 5
    client.delete_stream(StreamName="orders")
    assert summary(client)["StreamStatus"] == "DELETING"
    with refused("ResourceInUseException"):
        client.create_stream(StreamName="orders", ShardCount=1)
    sim.clock.advance(5)
    assert client.list_streams()["StreamNames"] == []
    client.create_stream(StreamName="orders", ShardCount=1)


def test_streams_are_listed_with_what_they_are(client: Any, orders: KinesisHandle):
    for name in ("a", "z"):
        client.create_stream(StreamName=name, ShardCount=1)
    pages = list(client.get_paginator("list_streams").paginate(PaginationConfig={"PageSize": 2}))
    assert [page["StreamNames"] for page in pages] == [["a", "orders"], ["z"]]
    assert pages[0]["StreamSummaries"][1]["StreamARN"] == orders.arn
    first = client.list_streams(Limit=2)
    assert client.list_streams(NextToken=first["NextToken"])["StreamNames"] == ["z"]
    with refused(WRONG):
        client.list_streams(NextToken="z")


@pytest.mark.parametrize("operation", ["put_record", "put_records", "get_shard_iterator", "get_records"])
def test_a_dry_run_does_nothing(sim: Simulator, client: Any, orders: KinesisHandle, operation: str):
    place = {"ShardId": orders.shard_id("S0"), "ShardIteratorType": "LATEST"}
    iterator = client.get_shard_iterator(StreamName="orders", **place)["ShardIterator"]
    record = {"PartitionKey": "k", "Data": b"x"}
    asked: dict[str, dict[str, Any]] = {
        "put_record": {"StreamName": "orders", **record},
        "put_records": {"StreamName": "orders", "Records": [record]},
        "get_shard_iterator": {"StreamName": "orders", **place},
        "get_records": {"ShardIterator": iterator},
    }
    with refused("DryRunOperationException"):
        getattr(client, operation)(**asked[operation], DryRun=True)
    assert not orders.history


def test_a_name_and_an_arn_that_differ_are_refused(client: Any, orders: KinesisHandle):
    with refused(WRONG):
        client.describe_stream_summary(StreamName="other", StreamARN=orders.arn)
    with pytest.raises(ClientError, match="not found"):
        client.describe_stream_summary(StreamARN=orders.arn.replace("us-east-1", "eu-west-1"))


@pytest.mark.parametrize(
    "type_,number,words",
    [
        ("AT_SEQUENCE_NUMBER", None, "Request specified AT_SEQUENCE_NUMBER and no StartingSequenceNumber"),
        ("LATEST", "1", "Request specified LATEST and also a StartingSequenceNumber"),
        ("AT_SEQUENCE_NUMBER", "1", "It encodes shardId-000000000001, while it was used in a call to a shard with"),
        ("AT_SEQUENCE_NUMBER", "0", "21267647932558653966460912964485513216 used .* because it did not come from this"),
        ("AFTER_SEQUENCE_NUMBER", "9" * 57, "is invalid"),
    ],
)
def test_numbers_that_a_shard_cannot_have_are_refused(
    client: Any, orders: KinesisHandle, type_: str, number: str | None, words: str
):
    more = {} if number is None else {"StartingSequenceNumber": number}
    with refused(WRONG, words):
        client.get_shard_iterator(StreamName="orders", ShardId=orders.shard_id("S0"), ShardIteratorType=type_, **more)


@pytest.mark.parametrize(
    "longer,hours,words",
    [
        (True, 23, "too short"),
        (True, 8761, "too long"),
        (False, 48, "Use IncreaseRetentionPeriod"),
    ],
)
def test_a_retention_that_cannot_be_is_refused(
    client: Any, orders: KinesisHandle, longer: bool, hours: int, words: str
):
    change = client.increase_stream_retention_period if longer else client.decrease_stream_retention_period
    with refused(WRONG, words):
        change(StreamName="orders", RetentionPeriodHours=hours)
