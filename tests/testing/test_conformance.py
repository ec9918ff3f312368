"""Conformance: what suites that also run against AWS ask of streams and tables, through plain clients."""

from __future__ import annotations

import re
from typing import Any

import boto3
import pytest
from botocore.config import Config

from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.tables import KEYS, Orders

ANY_SHARD = "shardId-00000000000000000000-00000000"


@pytest.fixture
def sim():
    with Simulator(table=None, ids="service") as simulator:
        yield simulator


def unchecked(sim: Simulator, service: str = "dynamodbstreams", **options: Any) -> Any:
    """A client that lets mistakes through to the service."""
    return sim.client(service, config=Config(parameter_validation=False), **options)


def make(sim: Simulator, name: str, view: str | None = "KEYS_ONLY", **more: Any) -> Any:
    stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}} if view else {}
    return sim.client("dynamodb").create_table(TableName=name, **(KEYS | stream | more))["TableDescription"]


def at(orders: Orders, type: str, **more: Any) -> str:
    place = {"StreamArn": orders.arn, "ShardId": orders.shards()[0]["ShardId"], "ShardIteratorType": type}
    return orders.streams.get_shard_iterator(**place, **more)["ShardIterator"]


# -- ListStreams


def test_a_listing_of_streams_goes_on_while_tables_are_made(sim):
    streams = sim.client()
    early = [make(sim, f"table-{number}")["TableName"] for number in range(4)]
    page = streams.list_streams(Limit=2)
    for number in range(4, 20):
        make(sim, f"table-{number}")
    rest = streams.list_streams(ExclusiveStartStreamArn=page["LastEvaluatedStreamArn"])
    found = [stream["TableName"] for stream in page["Streams"] + rest["Streams"]]
    assert all(found.count(name) == 1 for name in early)
    assert "LastEvaluatedStreamArn" not in rest


def test_tables_without_a_stream_and_tables_that_are_not_have_none_to_list(sim):
    make(sim, "plain", view=None)
    make(sim, "off", view=None, StreamSpecification={"StreamEnabled": False})
    for name in ("plain", "off", "nobody"):
        assert sim.client().list_streams(TableName=name)["Streams"] == []
    assert sim.client("dynamodb").list_tables()["TableNames"] == ["off", "plain"], "and streams are no tables"


@pytest.mark.parametrize(
    "request_, words",
    [
        ({"Limit": 0}, "'0' at 'limit' .* greater than or equal to 1"),
        ({"Limit": 101}, "'101' at 'limit' .* less than or equal to 100"),
        ({"ExclusiveStartStreamArn": "no arn at all, though long enough to be one"}, "Invalid StreamArn"),
        ({"TableName": "ab"}, "'ab' at 'tableName' .* length greater than or equal to 3"),
    ],
)
def test_listings_of_streams_refuse(sim, request_, words):
    with refused("ValidationException", words):
        unchecked(sim).list_streams(**request_)


# -- DescribeStream


def test_a_stream_is_described_as_its_table_is(sim, orders):
    for table in (orders.made, orders.describe()):
        assert table["LatestStreamArn"] == f"{table['TableArn']}/stream/{table['LatestStreamLabel']}"
        assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    billed = orders.tables.update_table(TableName="orders", BillingMode="PAY_PER_REQUEST")["TableDescription"]
    assert billed["LatestStreamArn"] == orders.arn
    orders.tables.tag_resource(ResourceArn=orders.describe()["TableArn"], Tags=[{"Key": "animal", "Value": "dog"}])
    [listed] = orders.streams.list_streams(TableName="orders")["Streams"]
    assert listed == {"StreamArn": orders.arn, "TableName": "orders", "StreamLabel": billed["LatestStreamLabel"]}
    described = orders.streams.describe_stream(StreamArn=orders.arn)["StreamDescription"]
    assert {name: described[name] for name in listed} == listed
    assert described["StreamStatus"] == "ENABLED"
    assert described["CreationRequestDateTime"].timestamp() == sim.clock.now()
    assert described["KeySchema"] == KEYS["KeySchema"]


def test_ids_sort_as_they_are_listed_and_have_the_service_s_form(sim, orders):
    sim.table("orders").split(orders.shards()[0]["ShardId"])
    sim.clock.advance(hours=5)
    shards = orders.shards()
    ids = [shard["ShardId"] for shard in shards]
    assert len(ids) == 5
    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"shardId-\d{20}-[0-9a-z]{1,36}", shard_id) for shard_id in ids)
    numbers = [shard["SequenceNumberRange"] for shard in shards]
    assert all(number.isdecimal() and len(number) >= 21 for pair in numbers for number in pair.values())
    after = orders.streams.describe_stream(StreamArn=orders.arn, ExclusiveStartShardId=ids[-1])["StreamDescription"]
    assert after["Shards"] == []
    assert "LastEvaluatedShardId" not in after


def test_a_listing_that_starts_after_a_shard_that_never_was_goes_by_its_id(orders):
    [shard] = orders.shards()
    for start, expected in ((ANY_SHARD, [shard]), ("z" * 40, [])):
        page = orders.streams.describe_stream(StreamArn=orders.arn, ExclusiveStartShardId=start)["StreamDescription"]
        assert page["Shards"] == expected


@pytest.mark.parametrize("arn", ["fake-stream", "x" * 60, "arn:aws:dynamodb:us-east-1:000000000000:table/orders"])
def test_what_is_no_stream_arn_is_invalid_to_every_call(sim, arn):
    streams = unchecked(sim)
    with refused("ValidationException", "Invalid StreamArn"):
        streams.describe_stream(StreamArn=arn)
    with refused("ValidationException", "Invalid StreamArn"):
        streams.get_shard_iterator(StreamArn=arn, ShardId=ANY_SHARD, ShardIteratorType="LATEST")
    with refused("ValidationException", "Value null at 'streamArn' .* not be null"):
        streams.describe_stream()


@pytest.mark.parametrize(
    "shard_filter, words",
    [
        ({"Type": "foo"}, "'foo' at 'shardFilter.type' .* enum value set"),
        ({"ShardId": "qwerty"}, "'qwerty' at 'shardFilter.shardId' .* length"),
        ({"Type": None}, "ShardFilter takes"),
        ({"ShardId": None}, "ShardFilter takes"),
    ],
)
def test_wrong_filters_are_refused(sim, orders, shard_filter, words):
    shard_id = orders.shards()[0]["ShardId"]
    right = {"Type": "CHILD_SHARDS", "ShardId": shard_id}
    asked = {name: value for name, value in (right | shard_filter).items() if value is not None}
    assert orders.streams.describe_stream(StreamArn=orders.arn, ShardFilter=right)["StreamDescription"]["Shards"] == []
    with refused("ValidationException", words):
        unchecked(sim).describe_stream(StreamArn=orders.arn, ShardFilter=asked)


# -- GetShardIterator and GetRecords


@pytest.mark.parametrize(
    "request_, error, words",
    [
        ({"ShardIteratorType": "AT_SEQUENCE_NUMBER"}, "ValidationException", "Invalid SequenceNumber"),
        ({"ShardIteratorType": "AFTER_SEQUENCE_NUMBER"}, "ValidationException", "Invalid SequenceNumber"),
        ({"SequenceNumber": "1" * 24}, "ValidationException", "should not be passed"),
        ({"ShardIteratorType": "TRIM_HORIZON", "SequenceNumber": "1" * 24}, "ValidationException", "not be passed"),
        ({"SequenceNumber": "x" * 41}, "ValidationException", "'sequenceNumber' .* less than or equal to 40"),
        ({"ShardIteratorType": "wheel"}, "ValidationException", "'wheel' at 'shardIteratorType' .* enum value set"),
        ({"ShardIteratorType": None}, "ValidationException", "null at 'shardIteratorType'"),
        ({"ShardId": None}, "ValidationException", "null at 'shardId'"),
        ({"ShardId": "x" * 66}, "ValidationException", "'shardId' .* less than or equal to 65"),
        ({"ShardId": "no-such-shard-but-long-enough-to-be-one"}, "ResourceNotFoundException", "Shard does not exist"),
        ({"ShardId": ANY_SHARD}, "ResourceNotFoundException", "Requested resource not found: Shard does not exist"),
    ],
)
def test_iterators_are_refused(sim, orders, request_, error, words):
    right = {"StreamArn": orders.arn, "ShardId": orders.shards()[0]["ShardId"], "ShardIteratorType": "LATEST"}
    asked = {name: value for name, value in (right | request_).items() if value is not None}
    with refused(error, words):
        unchecked(sim).get_shard_iterator(**asked)


def test_every_type_starts_where_it_says(orders):
    orders.put("before")
    shard = orders.shards()[0]
    latest = at(orders, "LATEST")
    orders.put("after")
    one, two = orders.sim.table("orders").history
    numbers = one.sequence_number, two.sequence_number
    assert int(shard["SequenceNumberRange"]["StartingSequenceNumber"]) <= one.number < two.number

    def given(iterator: str) -> list[str]:
        records = orders.streams.get_records(ShardIterator=iterator)["Records"]
        return [record["dynamodb"]["SequenceNumber"] for record in records]

    assert given(latest) == [numbers[1]]
    assert given(at(orders, "TRIM_HORIZON")) == list(numbers)
    assert given(at(orders, "AT_SEQUENCE_NUMBER", SequenceNumber=numbers[0])) == list(numbers)
    assert given(at(orders, "AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[0])) == [numbers[1]]
    start = shard["SequenceNumberRange"]["StartingSequenceNumber"]
    assert given(at(orders, "AT_SEQUENCE_NUMBER", SequenceNumber=start)) == list(numbers)


def test_pages_have_their_limits_and_an_empty_one_has_records_too(sim, orders):
    for key in "abc":
        orders.put(key)
    first = orders.streams.get_records(ShardIterator=at(orders, "TRIM_HORIZON"), Limit=1)
    second = orders.streams.get_records(ShardIterator=first["NextShardIterator"], Limit=1000)
    empty = orders.streams.get_records(ShardIterator=second["NextShardIterator"])
    assert [len(page["Records"]) for page in (first, second, empty)] == [1, 2, 0]
    assert empty["NextShardIterator"]
    for limit in (1001, 0, -1):
        with refused("ValidationException", f"'{limit}' at 'limit'"):
            unchecked(sim).get_records(ShardIterator=at(orders, "LATEST"), Limit=limit)
    for text in ("not an iterator", "x" * 2000, f"{orders.arn}|1|AAAA"):
        with refused("ValidationException"):
            unchecked(sim).get_records(ShardIterator=text)


def test_a_record_has_all_that_the_service_gives_and_no_more(orders):
    orders.put("a", n={"N": "1"})
    [record] = orders.records()
    change = record.pop("dynamodb")
    assert record.pop("eventID")
    assert record == {
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
    }
    assert change.pop("ApproximateCreationDateTime").timestamp() == orders.sim.clock.now()
    assert change.pop("SequenceNumber").isdecimal()
    assert change == {
        "Keys": {"id": {"S": "a"}},
        "NewImage": {"id": {"S": "a"}, "n": {"N": "1"}},
        "SizeBytes": len("id" + "a") + len("id" + "a" + "n") + 2,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }


def test_a_batch_tells_what_it_changed_and_that_alone(orders):
    orders.put("same", n={"N": "1"})
    orders.put("other", n={"N": "1"})
    with (
        boto3.resource("dynamodb", endpoint_url=orders.sim.endpoint_url, **CREDENTIALS)
        .Table("orders")
        .batch_writer() as batch
    ):
        batch.put_item({"id": "same", "n": 1})
        batch.put_item({"id": "other", "n": 2})
        batch.put_item({"id": "new"})
        batch.delete_item({"id": "nobody"})
    assert sorted(orders.events()[2:]) == [("INSERT", "new"), ("MODIFY", "other")]


CREDENTIALS = {"region_name": "us-east-1", "aws_access_key_id": "any", "aws_secret_access_key": "body"}


def test_items_of_an_index_are_told_whole(sim):
    sim.client("dynamodb").create_table(
        TableName="indexed",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "c", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "pca"],
        LocalSecondaryIndexes=[
            {
                "IndexName": "by_a",
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "a", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "OLD_IMAGE"},
    )
    table = boto3.resource("dynamodb", endpoint_url=sim.endpoint_url, **CREDENTIALS).Table("indexed")
    key = {"p": "p", "c": "c"}
    table.put_item(Item=key | {"a": "1", "x": 2})
    assert table.scan(IndexName="by_a", ConsistentRead=True)["Count"] == 1
    table.update_item(Key=key, UpdateExpression="REMOVE a")
    assert table.scan(IndexName="by_a", ConsistentRead=True)["Count"] == 0
    table.delete_item(Key=key)
    history = sim.table("indexed").history
    assert [record.old for record in history] == [None, key | {"a": "1", "x": 2}, key | {"x": 2}]


# -- the life of streams and tables


def test_a_closed_shard_is_read_with_old_and_new_iterators(orders):
    before = at(orders, "LATEST")
    orders.put("a")
    orders.specify(StreamEnabled=False)
    arn, [shard] = orders.arn, orders.shards()
    assert orders.streams.describe_stream(StreamArn=arn)["StreamDescription"]["StreamStatus"] == "DISABLED"
    assert shard["SequenceNumberRange"]["EndingSequenceNumber"].isdecimal()
    for iterator in (before, at(orders, "TRIM_HORIZON")):
        page = orders.streams.get_records(ShardIterator=iterator)
        assert len(page["Records"]) == 1
        assert "NextShardIterator" not in page
    assert arn in [stream["StreamArn"] for stream in orders.streams.list_streams(TableName="orders")["Streams"]]


def test_a_table_made_again_under_its_name_has_another_stream(sim, orders):
    old = orders.arn
    orders.put("first")
    orders.tables.delete_table(TableName="orders")
    again = Orders(sim)
    again.put("second")
    assert again.arn != old
    assert again.events() == [("INSERT", "second")]
    assert again.describe()["TableStatus"] == "ACTIVE"


@pytest.mark.parametrize("length", [3, 192, 222, 255])
def test_names_may_be_long(sim, length):
    name = "x" * length
    arn = make(sim, name)["LatestStreamArn"]
    sim.client("dynamodb").put_item(TableName=name, Item={"id": {"S": "a"}})
    place = {"StreamArn": arn, "ShardId": sim.table(name).history[0].shard_id, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = sim.client().get_shard_iterator(**place)["ShardIterator"]
    assert len(iterator) <= 2048, "what the service's description allows"
    assert len(sim.client().get_records(ShardIterator=iterator)["Records"]) == 1


@pytest.mark.parametrize(
    "request_, words",
    [
        ({"KeySchema": None}, "null at 'keySchema'"),
        ({"AttributeDefinitions": None}, "null at 'attributeDefinitions'"),
        ({"TableName": "two words"}, "'two words' at 'tableName' .* regular expression pattern"),
        ({"TableName": "ab"}, "at least 3 characters"),
        (
            {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "ALL"}},
            r"'ALL' .* enum value set: \[OLD_IMAGE, KEYS_ONLY, NEW_AND_OLD_IMAGES, NEW_IMAGE\]",
        ),
        ({"StreamSpecification": {}}, "null at 'streamSpecification.streamEnabled'"),
    ],
)
def test_tables_that_cannot_be_are_refused(sim, request_, words):
    asked = {name: value for name, value in ({"TableName": "orders"} | KEYS | request_).items() if value is not None}
    with refused("ValidationException", words):
        unchecked(sim, "dynamodb").create_table(**asked)
    assert sim.client("dynamodb").list_tables()["TableNames"] == []


@pytest.mark.parametrize(
    "value, words",
    [
        ({}, "Supplied AttributeValue is empty"),
        ({"S": "a", "N": "1"}, "more than one datatypes"),
        ({"L": [{"M": {"deep": {}}}]}, "Supplied AttributeValue is empty"),
        ({"SS": []}, "may not be empty"),
        ({"NS": ["1", "1"]}, "contains duplicates"),
    ],
)
def test_values_that_are_none_are_refused(sim, orders, value, words):
    tables = unchecked(sim, "dynamodb")
    with refused("ValidationException", words):
        tables.put_item(TableName="orders", Item={"id": {"S": "a"}, "v": value})
    update = {"UpdateExpression": "SET v = :v", "ExpressionAttributeValues": {":v": value}}
    with refused("ValidationException", words):
        tables.update_item(TableName="orders", Key={"id": {"S": "a"}}, **update)
    assert orders.events() == []


def test_a_statement_that_cannot_be_read_is_the_client_s_mistake(orders):
    with refused("ValidationException", "Statement"):
        orders.tables.execute_statement(Statement="FROB")


def test_tables_are_in_the_region_of_the_client_that_makes_them(sim):
    there = sim.client("dynamodb", region_name="eu-west-3")
    made = there.create_table(
        TableName="orders", **KEYS, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    )["TableDescription"]
    assert made["TableArn"] == "arn:aws:dynamodb:eu-west-3:000000000000:table/orders"
    assert made["LatestStreamArn"].startswith(made["TableArn"])
    there.tag_resource(ResourceArn=made["TableArn"], Tags=[{"Key": "k", "Value": "v"}])
    assert there.list_tags_of_resource(ResourceArn=made["TableArn"])["Tags"] == [{"Key": "k", "Value": "v"}]
    there.put_item(TableName=made["TableArn"], Item={"id": {"S": "a"}})
    here = sim.client()
    place = {"StreamArn": made["LatestStreamArn"], "ShardId": sim.table("orders").history[0].shard_id}
    iterator = here.get_shard_iterator(**place, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    assert here.get_records(ShardIterator=iterator)["Records"][0]["awsRegion"] == "eu-west-3"
