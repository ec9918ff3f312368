"""Batches and transactions: their limits, what each gives of its parts, and that a transaction is done whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.readers import refused
from tests.testing.test_table_calls import KEY, N, S, Things


@pytest.fixture
def things(sim) -> Things:
    made = Things(sim)
    for number in range(5):
        made.put_item(Item={**KEY, "c": N(number), "x": N(number)})
    return made


def key(number: object) -> dict[str, Any]:
    return {**KEY, "c": N(number)}


def on(action: str, number: int, **more: Any) -> dict[str, Any]:
    if action == "Put":
        return {"Put": {"TableName": "things", "Item": key(number) | more.pop("item", {}), **more}}
    return {action: {"TableName": "things", "Key": key(number), **more}}


def test_a_batch_reads_what_is_there(things):
    client = things.client
    part = {"Keys": [key(1), key(77), key(3)], "ProjectionExpression": "#x", "ExpressionAttributeNames": {"#x": "x"}}
    answer = client.batch_get_item(RequestItems={"things": part}, ReturnConsumedCapacity="TOTAL")
    assert sorted(answer["Responses"]["things"], key=str) == [{"x": N(1)}, {"x": N(3)}]
    assert answer["UnprocessedKeys"] == {}
    assert answer["ConsumedCapacity"] == [{"TableName": "things", "CapacityUnits": 1.5}]
    for keys, words in (
        ([key(1), key("1.0")], "Provided list of item keys contains duplicates"),
        ([key(number) for number in range(101)], "have length less than or equal to 100"),
        ([{"p": S("a")}], "The provided key element does not match the schema"),
        ([], "have length greater than or equal to 1"),
    ):
        with refused("ValidationException", words):
            client.batch_get_item(RequestItems={"things": {"Keys": keys}})
    with refused("ValidationException", "Member must have length greater than or equal to 1"):
        client.batch_get_item(RequestItems={})
    with refused("ResourceNotFoundException"):
        client.batch_get_item(RequestItems={"things": {"Keys": [key(1)]}, "nothing": {"Keys": [key(1)]}})


def test_a_batch_reads_16_megabytes_and_leaves_the_rest(sim):
    made = Things(sim)
    for number in range(45):
        made.put_item(Item=key(number) | {"x": S("x" * 400_000)})
    wanted: dict[str, Any] = {"things": {"Keys": [key(number) for number in range(45)]}}
    answer = made.client.batch_get_item(RequestItems=wanted)
    assert len(answer["Responses"]["things"]) == 41
    assert len(answer["UnprocessedKeys"]["things"]["Keys"]) == 4


def test_a_batch_writes_25_items_each_once(things):
    client = things.client
    puts = [{"PutRequest": {"Item": key(number)}} for number in range(10, 35)]
    answer = client.batch_write_item(RequestItems={"things": puts}, ReturnItemCollectionMetrics="SIZE")
    assert answer["UnprocessedItems"] == {}
    assert len(answer["ItemCollectionMetrics"]["things"]) == 25
    for writes, words in (
        ([*puts, {"PutRequest": {"Item": key(99)}}], "have length less than or equal to 25"),
        ([puts[0], {"DeleteRequest": {"Key": key("10.0")}}], "Provided list of item keys contains duplicates"),
        ([{"PutRequest": {"Item": {"p": S("a")}}}], "Missing the key c in the item"),
    ):
        with refused("ValidationException", words):
            client.batch_write_item(RequestItems={"things": writes})


def test_a_transaction_tells_what_stood_against_each_part(sim, things):
    client, before = things.client, len(sim.table("things").history)
    actions = [
        on("Put", 9),
        on("ConditionCheck", 1, ConditionExpression="x = :v", ExpressionAttributeValues={":v": N(7)}),
        on("Update", 2, UpdateExpression="SET x = x + y"),
        on(
            "Delete",
            3,
            ConditionExpression="attribute_not_exists(p)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        ),
    ]
    with pytest.raises(client.exceptions.TransactionCanceledException) as told:
        client.transact_write_items(TransactItems=actions)
    reasons = told.value.response["CancellationReasons"]
    codes = ["None", "ConditionalCheckFailed", "ValidationError", "ConditionalCheckFailed"]
    assert [reason["Code"] for reason in reasons] == codes
    assert f"[{', '.join(codes)}]" in told.value.response["Error"]["Message"]
    assert [reason.get("Item") for reason in reasons] == [None, None, None, key(3) | {"x": N(3)}]
    assert len(sim.table("things").history) == before


def test_a_transaction_is_done_whole(sim, things):
    actions = [
        on("Put", 9, item={"g": S("g")}),
        on("ConditionCheck", 1, ConditionExpression="attribute_exists(p)"),
        on("Update", 2, UpdateExpression="SET x = x + :v", ExpressionAttributeValues={":v": N(40)}),
        on("Delete", 3),
    ]
    answer = things.client.transact_write_items(TransactItems=actions, ReturnConsumedCapacity="INDEXES")
    [units] = answer["ConsumedCapacity"]
    assert units["WriteCapacityUnits"] == units["CapacityUnits"] == 10.0
    assert units["GlobalSecondaryIndexes"]["by-g"]["WriteCapacityUnits"] == 2.0
    gets = [{"Get": {"TableName": "things", "Key": key(number)}} for number in (9, 2, 3)]
    responses = things.client.transact_get_items(TransactItems=gets)["Responses"]
    assert responses == [{"Item": key(9) | {"g": S("g")}}, {"Item": key(2) | {"x": N(42)}}, {}]


def test_a_transaction_touches_an_item_once(things):
    with refused("ValidationException", "cannot include multiple operations on one item"):
        things.client.transact_write_items(TransactItems=[on("Put", 1), on("Delete", 1)])
    with refused("ValidationException", "cannot include multiple operations on one item"):
        things.client.transact_get_items(TransactItems=[on("Get", 1), on("Get", 1)])
    with refused("ValidationException", "have length less than or equal to 100"):
        things.client.transact_write_items(TransactItems=[on("Delete", number) for number in range(101)])
    with refused("ResourceNotFoundException"):
        things.client.transact_write_items(TransactItems=[{"Delete": {"TableName": "nothing", "Key": KEY}}])
