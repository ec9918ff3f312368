"""Keys: what names an item has to be whole and of the right types, in tables and in indexes, or nothing is written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from streamiter.testing import Simulator
from tests.testing.readers import refused

KEY = {"p": {"S": "p"}, "c": {"N": "1"}}
NO_MATCH = "The provided key element does not match the schema"


@pytest.fixture
def pairs(sim: Simulator) -> Any:
    """A client, and a table with a key of two parts, an index by g and one by p and l."""
    projection = {"ProjectionType": "ALL"}
    sim.client("dynamodb").create_table(
        TableName="pairs",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "c", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": t} for n, t in zip("pcgl", "SNSB", strict=True)],
        GlobalSecondaryIndexes=[
            {"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": projection}
        ],
        LocalSecondaryIndexes=[
            {
                "IndexName": "by-l",
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
                "Projection": projection,
            }
        ],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    return sim.client("dynamodb", config=Config(parameter_validation=False))


@contextlib.contextmanager
def cancelled(words: str) -> Iterator[None]:
    """The second of a transaction's two items is refused in these words, and the first one is right."""
    with pytest.raises(ClientError) as caught:
        yield
    assert caught.value.response["Error"]["Code"] == "TransactionCanceledException"
    right, wrong = caught.value.response["CancellationReasons"]
    assert right == {"Code": "None"}
    assert wrong["Code"] == "ValidationError" and words in wrong["Message"]


def put_in_each_way(client: Any, item: dict[str, Any], words: str) -> None:
    with refused("ValidationException", words):
        client.put_item(TableName="pairs", Item=item)
    right = {"p": {"S": "right"}, "c": {"N": "1"}}
    with refused("ValidationException", words):
        client.batch_write_item(RequestItems={"pairs": [{"PutRequest": {"Item": one}} for one in (right, item)]})
    with cancelled(words):
        client.transact_write_items(
            TransactItems=[{"Put": {"TableName": "pairs", "Item": one}} for one in (right, item)]
        )


@pytest.mark.parametrize(
    "item, words",
    [
        ({"p": {"S": "p"}}, "Missing the key c in the item"),
        ({**KEY, "c": {"S": "1"}}, "Type mismatch for key c expected: N actual: S"),
        ({**KEY, "p": {"NULL": True}}, "Type mismatch for key p expected: S actual: NULL"),
        ({**KEY, "p": {"S": ""}}, "cannot contain an empty string value. Key: p"),
        ({**KEY, "g": {"N": "1"}}, "Type mismatch for Index Key g Expected: S Actual: N IndexName: by-g"),
        ({**KEY, "l": {"S": "1"}}, "Type mismatch for Index Key l Expected: B Actual: S IndexName: by-l"),
        ({**KEY, "l": {"B": b""}}, "empty binary value. IndexName: by-l, IndexKey: l"),
    ],
)
def test_an_item_has_its_key_and_those_of_indexes_right(sim, pairs, item, words):
    put_in_each_way(pairs, item, words)
    assert sim.table("pairs").history == []
    assert pairs.scan(TableName="pairs")["Count"] == 0


@pytest.mark.parametrize(
    "key", [{"p": {"S": "p"}}, {**KEY, "z": {"S": "z"}}, {**KEY, "c": {"S": "1"}}, {"p": {"S": "p"}, "d": {"N": "1"}}]
)
def test_a_key_is_the_table_s(sim, pairs, key):
    pairs.put_item(TableName="pairs", Item=KEY)
    with refused("ValidationException", NO_MATCH):
        pairs.delete_item(TableName="pairs", Key=key)
    with refused("ValidationException", NO_MATCH):
        pairs.update_item(TableName="pairs", Key=key, UpdateExpression="REMOVE z")
    other = {**KEY, "c": {"N": "9"}}
    requests = [{"DeleteRequest": {"Key": other}}, {"DeleteRequest": {"Key": key}}]
    with refused("ValidationException", NO_MATCH):
        pairs.batch_write_item(RequestItems={"pairs": requests})
    actions = [{"Put": {"TableName": "pairs", "Item": {**KEY, "c": {"N": "2"}}}}]
    for action, more in (
        ("Delete", {}),
        ("Update", {"UpdateExpression": "REMOVE z"}),
        ("ConditionCheck", {"ConditionExpression": "attribute_exists(p)"}),
    ):
        with cancelled(NO_MATCH):
            pairs.transact_write_items(TransactItems=[*actions, {action: {"TableName": "pairs", "Key": key, **more}}])
    assert len(sim.table("pairs").history) == 1


@pytest.mark.parametrize(
    "part, words",
    [
        ({"l": {"B": b"x" * 1025}}, "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"),
        ({"g": {"S": "x" * 2049}}, "Size of hashkey has exceeded the maximum size limit of2048 bytes"),
    ],
)
def test_the_key_of_an_index_has_a_size(sim, pairs, part, words):
    with refused("ValidationException", words):
        pairs.put_item(TableName="pairs", Item=KEY | part)
    [(name, value)] = part.items()
    with refused("ValidationException", "update the secondary index key beyond allowed size limits"):
        pairs.update_item(
            TableName="pairs", Key=KEY, UpdateExpression=f"SET {name} = :v", ExpressionAttributeValues={":v": value}
        )
    assert sim.table("pairs").history == []


@pytest.mark.parametrize("name", ["ab", "a b", "x" * 256])
def test_a_name_that_no_table_can_have_is_refused_wherever_it_stands(pairs, name):
    for call, request in (
        (pairs.get_item, {"TableName": name, "Key": KEY}),
        (pairs.batch_get_item, {"RequestItems": {name: {"Keys": [KEY]}}}),
        (pairs.batch_write_item, {"RequestItems": {name: [{"DeleteRequest": {"Key": KEY}}]}}),
        (pairs.transact_get_items, {"TransactItems": [{"Get": {"TableName": name, "Key": KEY}}]}),
        (pairs.transact_write_items, {"TransactItems": [{"Delete": {"TableName": name, "Key": KEY}}]}),
    ):
        with refused("ValidationException", "failed to satisfy constraint"):
            call(**request)


def test_an_index_takes_items_without_its_key(sim, pairs):
    pairs.put_item(TableName="pairs", Item=KEY)
    pairs.put_item(TableName="pairs", Item={**KEY, "g": {"S": "g"}, "l": {"B": b"l"}})
    assert [record.event_name for record in sim.table("pairs").history] == ["INSERT", "MODIFY"]


@pytest.mark.parametrize(
    "action, words",
    [
        ({}, "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"),
        (
            {"Put": {"TableName": "pairs", "Item": KEY}, "Delete": {"TableName": "pairs", "Key": KEY}},
            "TransactItems can only contain one of Check, Put, Update or Delete",
        ),
    ],
)
def test_an_action_of_a_transaction_is_one(sim, pairs, action, words):
    with refused("ValidationException", words):
        pairs.transact_write_items(TransactItems=[{"Put": {"TableName": "pairs", "Item": KEY}}, action])
    assert sim.table("pairs").history == []


@pytest.mark.parametrize("write", [{}, {"PutRequest": {"Item": KEY}, "DeleteRequest": {"Key": KEY}}])
def test_a_write_of_a_batch_is_one(sim, pairs, write):
    with refused("ValidationException", "Supplied AttributeValue has more than one datatypes set"):
        pairs.batch_write_item(RequestItems={"pairs": [write]})
    assert sim.table("pairs").history == []


def test_a_table_may_be_named_by_its_arn_wherever_it_is_written_to(sim, pairs):
    arn = pairs.describe_table(TableName="pairs")["Table"]["TableArn"]
    wrong = {"p": {"S": "p"}}
    with refused("ValidationException", "Missing the key c"):
        pairs.batch_write_item(RequestItems={arn: [{"PutRequest": {"Item": item}} for item in (KEY, wrong)]})
    with refused("ValidationException", "duplicates"):
        pairs.batch_write_item(RequestItems={arn: [{"PutRequest": {"Item": KEY}}, {"DeleteRequest": {"Key": KEY}}]})
    with cancelled("Missing the key c"):
        pairs.transact_write_items(TransactItems=[{"Put": {"TableName": arn, "Item": item}} for item in (KEY, wrong)])
    actions = {
        "Put": {"TableName": arn, "Item": KEY},
        "ConditionCheck": {
            "TableName": "pairs",
            "Key": {**KEY, "c": {"N": "2"}},
            "ConditionExpression": "attribute_exists(p)",
        },
    }
    with refused("TransactionCanceledException"):
        pairs.transact_write_items(TransactItems=[{name: action} for name, action in actions.items()])
    assert sim.table("pairs").history == []
    assert pairs.scan(TableName=arn)["Count"] == 0
    pairs.batch_write_item(RequestItems={arn: [{"PutRequest": {"Item": KEY}}]})
    pairs.transact_write_items(TransactItems=[{"Delete": {"TableName": arn, "Key": KEY}}])
    assert [record.event_name for record in sim.table("pairs").history] == ["INSERT", "REMOVE"]
