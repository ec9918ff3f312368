"""Updates: the older way to ask for one, updates of nothing, and those that only take away, as the service does them."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.tables import Orders


@pytest.fixture
def orders():
    with Simulator(table=None, ids="service") as sim:
        yield Orders(sim)


def item(orders: Orders, key: str = "a") -> Any:
    return orders.tables.get_item(TableName="orders", Key={"id": {"S": key}}).get("Item")


def change(orders: Orders, key: str = "a", **request: Any) -> Any:
    return orders.tables.update_item(TableName="orders", Key={"id": {"S": key}}, **request)


def attribute_updates(orders: Orders, **updates: Any) -> Any:
    return change(orders, AttributeUpdates=updates, ReturnValues="ALL_NEW")["Attributes"]


def test_an_update_of_nothing_makes_an_item_and_then_changes_nothing(orders):
    for request in ({}, {"AttributeUpdates": {}}, {}):
        change(orders, **request)
    assert item(orders) == {"id": {"S": "a"}}
    assert orders.events() == [("INSERT", "a")]
    assert orders.records()[0]["dynamodb"]["NewImage"] == {"id": {"S": "a"}}


@pytest.mark.parametrize(
    "request_",
    [
        {"UpdateExpression": "REMOVE gone, #set", "ExpressionAttributeNames": {"#set": "set"}},
        {"UpdateExpression": "DELETE tags :add", "ExpressionAttributeValues": {":add": {"SS": ["x"]}}},
        {"UpdateExpression": "remove gone DELETE tags :t", "ExpressionAttributeValues": {":t": {"SS": ["x"]}}},
        {"AttributeUpdates": {"gone": {"Action": "DELETE"}}},
        {"AttributeUpdates": {"tags": {"Action": "DELETE", "Value": {"SS": ["x"]}}}},
    ],
)
def test_nothing_is_taken_from_an_item_that_is_not_there(orders, request_):
    answer = change(orders, **request_, ReturnValues="ALL_NEW")
    assert "Attributes" not in answer
    assert item(orders) is None
    assert orders.events() == []
    orders.put("a")
    assert orders.events() == [("INSERT", "a")]


def test_nor_within_a_transaction_or_with_a_sort_key(orders):
    key = {"id": {"S": "a"}}
    remove = {"Update": {"TableName": "orders", "Key": key, "UpdateExpression": "REMOVE gone"}}
    orders.tables.transact_write_items(
        TransactItems=[remove, {"Put": {"TableName": "orders", "Item": {"id": {"S": "b"}}}}]
    )
    assert item(orders) is None
    assert orders.events() == [("INSERT", "b")]
    names = ("p", "c")
    orders.tables.create_table(
        TableName="pairs",
        KeySchema=[
            {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=True)
        ],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    pair = {name: {"S": "x"} for name in names}
    orders.tables.put_item(TableName="pairs", Item=pair | {"c": {"S": "y"}})
    orders.tables.update_item(TableName="pairs", Key=pair, UpdateExpression="REMOVE gone")
    assert orders.tables.scan(TableName="pairs")["Count"] == 1
    assert len(orders.sim.table("pairs").history) == 1


def test_what_also_sets_makes_an_item(orders):
    values = {":v": {"S": "v"}}
    change(orders, UpdateExpression="REMOVE gone SET v = :v", ExpressionAttributeValues=values)
    assert item(orders) == {"id": {"S": "a"}, "v": {"S": "v"}}
    assert orders.events() == [("INSERT", "a")]


def test_the_last_attribute_may_go_and_the_item_stays(orders):
    orders.put("a", n={"N": "1"})
    orders.update("a", "REMOVE n")
    assert item(orders) == {"id": {"S": "a"}}
    assert [record["dynamodb"].get("NewImage") for record in orders.records()][1:] == [{"id": {"S": "a"}}]


def test_attribute_updates_keep_their_types(orders):
    put = {"s": {"S": ""}, "t": {"BOOL": True}, "z": {"NULL": True}, "b": {"B": b"\0"}, "l": {"L": [{"N": "1"}]}}
    assert attribute_updates(orders, **{name: {"Value": value} for name, value in put.items()}) == put | {
        "id": {"S": "a"}
    }
    assert orders.events() == [("INSERT", "a")]
    assert attribute_updates(
        orders,
        n={"Action": "ADD", "Value": {"N": "2"}},
        tags={"Action": "ADD", "Value": {"SS": ["x"]}},
        **{name: {"Action": "DELETE"} for name in put},
    ) == {"id": {"S": "a"}, "n": {"N": "2"}, "tags": {"SS": ["x"]}}
    assert attribute_updates(
        orders, n={"Action": "ADD", "Value": {"N": "-3"}}, tags={"Action": "DELETE", "Value": {"SS": ["x"]}}
    ) == {"id": {"S": "a"}, "n": {"N": "-1"}}, "a set that becomes empty goes"
    assert [name for name, _ in orders.events()] == ["INSERT", "MODIFY", "MODIFY"]


def test_the_older_way_has_its_conditions_and_its_limits(orders):
    orders.put("a", n={"N": "1"})
    updates = {"n": {"Value": {"N": "2"}}}
    with refused("ConditionalCheckFailedException"):
        change(orders, AttributeUpdates=updates, Expected={"n": {"Value": {"N": "9"}}})
    change(orders, AttributeUpdates=updates, Expected={"n": {"Value": {"N": "1"}}})
    with refused("ValidationException", "Can not use both expression and non-expression parameters"):
        change(orders, AttributeUpdates=updates, ConditionExpression="attribute_exists(id)")
    with refused("ValidationException", "Only DELETE action is allowed when no attribute value is specified"):
        change(orders, AttributeUpdates={"n": {"Action": "ADD"}})
    with refused("ValidationException", "part of the key"):
        change(orders, AttributeUpdates={"id": {"Value": {"S": "b"}}})
    assert orders.events() == [("INSERT", "a"), ("MODIFY", "a")]


def test_maps_are_the_same_whatever_the_order_of_their_names(orders):
    orders.update("a", "SET m = :m", m={"M": {"x": {"N": "1"}, "y": {"N": "2"}}})
    orders.update("a", "SET m = :m", m={"M": {"y": {"N": "2"}, "x": {"N": "1"}}})
    orders.update("a", "ADD n :n", n={"N": "0"})
    orders.update("a", "ADD n :n", n={"N": "0"})
    assert orders.events() == [("INSERT", "a"), ("MODIFY", "a")]
