"""Expressions: names and values that lack or are left over are refused before anything is written, in each way to write."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.readers import refused
from tests.testing.tables import Orders

ONE = {":v": {"N": "1"}}


def write_in_each_way(orders: Orders, expression: str, more: dict[str, Any], words: str) -> None:
    """As the condition of a put, a delete and an update, each alone and in a transaction."""
    place = {"TableName": "orders", "ConditionExpression": expression, **more}
    actions: dict[str, dict[str, Any]] = {
        "Put": {"Item": {"id": {"S": "a"}, "n": {"N": "2"}}, **place},
        "Delete": {"Key": {"id": {"S": "a"}}, **place},
        "Update": {"Key": {"id": {"S": "a"}}, "UpdateExpression": "REMOVE n", **place},
        "ConditionCheck": {"Key": {"id": {"S": "a"}}, **place},
    }
    alone = {
        "Put": orders.tables.put_item,
        "Delete": orders.tables.delete_item,
        "Update": orders.tables.update_item,
    }
    for name, request in actions.items():
        if name in alone:
            with refused("ValidationException", words):
                alone[name](**request)
        with refused("ValidationException", words):
            orders.tables.transact_write_items(TransactItems=[{name: request}])


@pytest.mark.parametrize(
    "expression, more, words",
    [
        ("#n = :v", {"ExpressionAttributeValues": ONE}, "name used in the document path is not defined; .*: #n"),
        ("n = :w", {"ExpressionAttributeValues": {**ONE, ":x": {"N": "1"}}}, "value used in expression is not defined"),
        ("n = :v", {}, "value used in expression is not defined; attribute value: :v"),
        (
            "n = :v",
            {"ExpressionAttributeValues": {**ONE, ":w": {"N": "1"}}},
            "in ExpressionAttributeValues unused in expressions: keys: {:w}",
        ),
        (
            "n = :v",
            {"ExpressionAttributeValues": ONE, "ExpressionAttributeNames": {"#n": "n"}},
            "in ExpressionAttributeNames unused in expressions: keys: {#n}",
        ),
        ("n", {}, "Invalid ConditionExpression"),
        ("n = :v AND", {"ExpressionAttributeValues": ONE}, "Invalid ConditionExpression"),
        ("", {}, "Invalid ConditionExpression: The expression can not be empty;"),
    ],
)
def test_a_condition_has_what_it_names_and_no_more(orders, expression, more, words):
    orders.put("a", n={"N": "1"})
    write_in_each_way(orders, expression, more, words)
    assert orders.events() == [("INSERT", "a")]


def test_values_without_an_expression_are_refused(orders):
    with refused("ValidationException", "ExpressionAttributeValues can only be specified when using expressions"):
        orders.tables.put_item(TableName="orders", Item={"id": {"S": "a"}}, ExpressionAttributeValues=ONE)
    with refused("ValidationException", "ExpressionAttributeNames can only be specified when using expressions"):
        orders.tables.delete_item(TableName="orders", Key={"id": {"S": "a"}}, ExpressionAttributeNames={"#n": "n"})


def test_names_and_values_may_be_shared_by_expressions(orders):
    orders.put("a", n={"N": "1"})
    orders.tables.update_item(
        TableName="orders",
        Key={"id": {"S": "a"}},
        UpdateExpression="SET #n = #n + :v",
        ConditionExpression="#n = :v AND attribute_exists(#i)",
        ExpressionAttributeNames={"#n": "n", "#i": "id"},
        ExpressionAttributeValues=ONE,
    )
    assert orders.events() == [("INSERT", "a"), ("MODIFY", "a")]
