"""The streams of real tables: enabled, described, disabled, enabled again, dropped."""

from __future__ import annotations

import re

import pytest

from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.tables import KEYS, Orders


@pytest.fixture
def sim():
    with Simulator(table=None, ids="service") as simulator:
        yield simulator


def test_a_stream_is_enabled_when_the_table_is_made(sim):
    orders = Orders(sim, "KEYS_ONLY")
    for description in (orders.made, orders.describe()):
        assert description["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        assert description["LatestStreamArn"] == f"{description['TableArn']}/stream/{description['LatestStreamLabel']}"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}", description["LatestStreamLabel"])
    stream = orders.streams.describe_stream(StreamArn=orders.arn)["StreamDescription"]
    assert (stream["StreamStatus"], stream["StreamViewType"], stream["TableName"]) == ("ENABLED", "KEYS_ONLY", "orders")
    [shard] = stream["Shards"]
    assert re.fullmatch(r"shardId-\d{20}-[0-9a-f]{8}", shard["ShardId"])
    assert len(shard["SequenceNumberRange"]["StartingSequenceNumber"]) >= 21
    assert "EndingSequenceNumber" not in shard["SequenceNumberRange"]


def test_or_later(sim):
    orders = Orders(sim, None)
    assert not {"StreamSpecification", "LatestStreamArn", "LatestStreamLabel"} & orders.describe().keys()
    orders.put("before")
    updated = orders.specify(StreamEnabled=True, StreamViewType="NEW_IMAGE")["TableDescription"]
    assert updated["StreamSpecification"]["StreamViewType"] == "NEW_IMAGE"
    orders.put("after")
    assert orders.events() == [("INSERT", "after")]


def test_a_disabled_stream_is_readable_for_a_day_and_another_one_is_another(sim):
    orders = Orders(sim)
    orders.put("a")
    old = orders.arn
    disabled = orders.specify(StreamEnabled=False)["TableDescription"]
    assert disabled["LatestStreamArn"] == old
    assert "StreamSpecification" not in disabled
    orders.put("unseen")
    assert [shard["SequenceNumberRange"].keys() for shard in orders.shards(old)] == [
        {"StartingSequenceNumber", "EndingSequenceNumber"}
    ]
    orders.specify(StreamEnabled=True, StreamViewType="KEYS_ONLY")
    new = orders.arn
    assert new != old
    orders.put("b")
    assert orders.events() == [("INSERT", "b")]
    assert [record["dynamodb"]["Keys"]["id"]["S"] for record in orders.records(old)] == ["a"]
    listed = orders.streams.list_streams(TableName="orders")["Streams"]
    assert [row["StreamArn"] for row in listed] == [old, new]
    assert orders.streams.describe_stream(StreamArn=old)["StreamDescription"]["StreamStatus"] == "DISABLED"
    sim.clock.advance(hours=24)
    with refused("ResourceNotFoundException", match=re.escape(old)):
        orders.shards(old)
    assert len(orders.streams.list_streams()["Streams"]) == 1


def test_the_stream_of_a_dropped_table_stays_too(sim):
    orders = Orders(sim)
    orders.put("a")
    arn = orders.arn
    assert orders.tables.delete_table(TableName="orders")["TableDescription"]["TableStatus"] == "DELETING"
    assert len(orders.records(arn)) == 1
    assert orders.tables.list_tables()["TableNames"] == []
    again = Orders(sim)
    assert again.arn != arn
    assert again.records() == []
    assert again.tables.scan(TableName="orders")["Count"] == 0


def test_it_takes_its_time_if_told_so(sim):
    sim.knobs.enabling = sim.knobs.disabling = 10
    orders = Orders(sim)

    def status() -> str:
        return orders.streams.describe_stream(StreamArn=orders.arn)["StreamDescription"]["StreamStatus"]

    assert (status(), orders.shards()) == ("ENABLING", [])
    sim.clock.advance(10)
    assert status() == "ENABLED"
    orders.specify(StreamEnabled=False)
    assert status() == "DISABLING"
    sim.clock.advance(10)
    assert status() == "DISABLED"


def test_streams_begin_with_the_shards_that_are_asked_for(sim):
    sim.knobs.starting_shape = "S0 => {S1, S2}"
    orders = Orders(sim)
    first, *children = orders.shards()
    assert [child["ParentShardId"] for child in children] == [first["ShardId"]] * 2
    for number in range(20):
        orders.put(str(number))
    assert {record.shard_id for record in sim.table("orders").history} == {child["ShardId"] for child in children}


@pytest.mark.parametrize(
    "view,stream,words",
    [
        ("KEYS_ONLY", {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}, "already has an enabled stream"),
        ("KEYS_ONLY", {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}, "already has an enabled stream"),
        (None, {"StreamEnabled": False}, "has no stream to disable"),
        (None, {"StreamEnabled": True}, "UpdateViewType is required"),
        ("KEYS_ONLY", {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}, "must not be specified"),
        (None, {"StreamEnabled": True, "StreamViewType": "ALL"}, "streamSpecification.streamViewType"),
        (None, {}, "Value null at 'streamSpecification.streamEnabled'"),
    ],
)
def test_what_cannot_be_is_refused(sim, view, stream, words):
    from botocore.config import Config

    orders = Orders(sim, view)
    orders.tables = sim.client("dynamodb", config=Config(parameter_validation=False))
    with refused("ValidationException", match=words):
        orders.specify(**stream)
    assert orders.describe().get("StreamSpecification", {}).get("StreamViewType") == view


@pytest.mark.parametrize(
    "stream,words",
    [
        ({"StreamEnabled": True}, "stream enabled, UpdateViewType is required"),
        ({"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}, "should not be specified"),
    ],
)
def test_a_table_is_not_made_with_a_wrong_stream(sim, stream, words):
    with refused("ValidationException", match=words):
        sim.client("dynamodb").create_table(TableName="orders", **KEYS, StreamSpecification=stream)
    assert sim.client("dynamodb").list_tables()["TableNames"] == []


def test_answers_say_what_begins_and_descriptions_what_is(sim):
    orders = Orders(sim, None)
    assert orders.made["TableStatus"] == "CREATING"
    assert orders.describe()["TableStatus"] == "ACTIVE"
    for stream in ({"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}, {"StreamEnabled": False}):
        assert orders.specify(**stream)["TableDescription"]["TableStatus"] == "UPDATING"
        assert orders.describe()["TableStatus"] == "ACTIVE"


BY_A = {
    "IndexName": "by_a",
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}


@pytest.mark.parametrize(
    "more,words",
    [
        (
            {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
            "You cannot modify stream status while updating table IOPS",
        ),
        (
            {
                "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "a")],
                "GlobalSecondaryIndexUpdates": [{"Create": BY_A}],
            },
            "You cannot create or delete index while changing stream status",
        ),
    ],
)
def test_a_stream_is_not_changed_along_with_throughput_or_indexes(sim, more, words):
    orders = Orders(sim, "KEYS_ONLY")
    with refused("ValidationException", match=words):
        orders.tables.update_table(TableName="orders", StreamSpecification={"StreamEnabled": False}, **more)
    assert orders.describe()["StreamSpecification"]["StreamEnabled"]
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    if "ProvisionedThroughput" in more:
        more = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units}
    orders.tables.update_table(TableName="orders", **more)


def test_an_update_of_nothing_is_refused(sim):
    orders = Orders(sim)
    with refused("ValidationException", match="At least one of"):
        orders.tables.update_table(TableName="orders")
    orders.tables.update_table(TableName="orders", DeletionProtectionEnabled=True)
    with refused("ValidationException", match="protected against deletion"):
        orders.tables.delete_table(TableName="orders")
    assert orders.describe()["StreamSpecification"]["StreamEnabled"]


def test_streams_of_all_tables_are_listed_by_pages(sim):
    tables, streams = sim.client("dynamodb"), sim.client()
    view = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
    for name in ("one", "two", "three"):
        tables.create_table(TableName=name, **KEYS, **view)
    arns, more = [], {}
    while True:
        page = streams.list_streams(Limit=1, **more)
        arns += [row["StreamArn"] for row in page["Streams"]]
        if "LastEvaluatedStreamArn" not in page:
            break
        more = {"ExclusiveStartStreamArn": page["LastEvaluatedStreamArn"]}
    assert len(arns) == len(set(arns)) == 3
    assert [row["TableName"] for row in streams.list_streams(TableName="two")["Streams"]] == ["two"]


def test_region_and_account_are_told():
    with Simulator(table=None, ids="service", region="eu-west-1", account="123456789012") as sim:
        orders = Orders(sim)
        orders.put("a")
        assert orders.arn.startswith("arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/")
        assert orders.records()[0]["awsRegion"] == "eu-west-1"
