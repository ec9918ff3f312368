"""The engine: what it uses of moto's inside is there, and nobody else's moto notices it."""

from __future__ import annotations

import copy

import boto3
import pytest

from streamiter.testing.http.refusal import Refusal
from streamiter.testing.tables.engine import Engine

TABLE = {
    "TableName": "orders",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def engine() -> Engine:
    made = Engine("000000000000")
    made.call("CreateTable", TABLE)
    return made


def keys(changes) -> list[tuple[str, str]]:
    return [(change.event, change.key["id"]["S"]) for change in changes]


def test_motos_private_hook_is_called_once_an_item_with_the_old_and_the_new():
    """If this fails, moto changed inside: see engine.py for what is used of it."""
    from moto.dynamodb.models import DynamoDBBackend
    from moto.dynamodb.models.dynamo_type import Item

    calls: list[tuple] = []

    class Hook:
        def add(self, old, new):
            calls.append((old, new))

        def __deepcopy__(self, memo):
            return self

    backend = DynamoDBBackend("us-east-1", "000000000000")
    schema, attributes = TABLE["KeySchema"], TABLE["AttributeDefinitions"]
    backend.create_table("orders", schema, None, attributes, None, None, None, "PAY_PER_REQUEST", None, [], None, None)
    table = backend.tables["orders"]
    assert table.stream_shard is None, "a table without moto's own stream has none of moto's shards"
    table.stream_shard = Hook()  # type: ignore[assignment]
    backend.put_item("orders", {"id": {"S": "a"}})
    backend.put_item("orders", {"id": {"S": "a"}, "n": {"N": "1"}})
    backend.delete_item("orders", {"id": {"S": "a"}})
    backend.delete_item("orders", {"id": {"S": "a"}})
    shapes = [tuple(item and item.to_json()["Attributes"].keys() for item in call) for call in calls]
    assert shapes == [(None, {"id"}), ({"id"}, {"id", "n"}), ({"id", "n"}, None)]
    assert all(isinstance(item, Item) for call in calls for item in call if item is not None)
    assert copy.deepcopy(table).stream_shard is table.stream_shard


def test_an_update_that_creates_is_two_calls_of_motos_and_one_change(engine):
    request = {"TableName": "orders", "Key": {"id": {"S": "a"}}, "UpdateExpression": "SET n = :n"}
    _, changes = engine.call("UpdateItem", request | {"ExpressionAttributeValues": {":n": {"N": "1"}}})
    assert keys(changes) == [("INSERT", "a")]
    assert changes[0].new == {"id": {"S": "a"}, "n": {"N": "1"}}


def test_a_change_is_noted_at_once_for_moto_changes_items_in_place(engine):
    engine.call("PutItem", {"TableName": "orders", "Item": {"id": {"S": "a"}, "n": {"N": "1"}}})
    request = {"TableName": "orders", "Key": {"id": {"S": "a"}}, "UpdateExpression": "SET n = :n"}
    found = []
    for number in "23":
        _, changes = engine.call("UpdateItem", request | {"ExpressionAttributeValues": {":n": {"N": number}}})
        found += changes
    assert [(change.old["n"]["N"], change.new["n"]["N"]) for change in found] == [("1", "2"), ("2", "3")]


def test_a_refused_request_leaves_no_trace(engine):
    engine.call("PutItem", {"TableName": "orders", "Item": {"id": {"S": "a"}, "n": {"S": "text"}}})
    before = engine.items("orders")
    wrong = {"ExpressionAttributeValues": {":n": {"N": "1"}, ":v": {"S": "x"}}}
    update = {"TableName": "orders", "UpdateExpression": "SET v = :v ADD n :n", **wrong}
    batch = [{"PutRequest": {"Item": {"id": {"S": "b"}}}}, {"PutRequest": {"Item": {"id": {"N": "1"}}}}]
    for operation, request in (
        ("UpdateItem", update | {"Key": {"id": {"S": "a"}}}),
        ("UpdateItem", update | {"Key": {"id": {"S": "new"}}, "UpdateExpression": "SET v = :v, w = nobody.here"}),
        ("BatchWriteItem", {"RequestItems": {"orders": batch}}),
    ):
        with pytest.raises(Refusal):
            engine.call(operation, request)
        assert engine.items("orders") == before
    _, changes = engine.call("PutItem", {"TableName": "orders", "Item": {"id": {"S": "c"}}})
    assert keys(changes) == [("INSERT", "c")], "nothing is left of them in the log"


def test_it_goes_on_after_a_failed_transaction(engine):
    never = {"Key": {"id": {"S": "x"}}, "ConditionExpression": "attribute_exists(id)", "TableName": "orders"}
    actions = [{"Put": {"TableName": "orders", "Item": {"id": {"S": "a"}}}}, {"ConditionCheck": never}]
    with pytest.raises(Refusal) as caught:
        engine.call("TransactWriteItems", {"TransactItems": actions})
    assert caught.value.name == "TransactionCanceledException"
    assert [reason["Code"] for reason in caught.value.more["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]
    assert engine.items("orders") == []
    _, changes = engine.call("TransactWriteItems", {"TransactItems": actions[:1]})
    assert keys(changes) == [("INSERT", "a")]


def test_nobody_elses_moto_sees_its_tables_or_resets_them(engine):
    from moto import mock_aws

    engine.call("PutItem", {"TableName": "orders", "Item": {"id": {"S": "a"}}})
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        assert client.list_tables()["TableNames"] == []
        client.create_table(**TABLE)
    assert engine.items("orders") == [{"id": {"S": "a"}}]
    assert Engine("000000000000").has("orders") is False


def test_moto_does_not_keep_every_item_for_good(engine):
    from moto.dynamodb.models.dynamo_type import Item

    before = len(Item.instances_tracked)
    for number in range(10):
        engine.call("PutItem", {"TableName": "orders", "Item": {"id": {"S": str(number)}}})
    assert len(Item.instances_tracked) == before


def test_what_moto_stumbles_over_is_a_fault_of_the_service(engine):
    with pytest.raises(Refusal) as caught:
        engine.call("Query", {"TableName": "orders", "KeyConditionExpression": None, "KeyConditions": {"id": 7}})
    assert (caught.value.name, caught.value.status) == ("InternalServerError", 500)
