"""The order of checks: of several mistakes in a request, the service tells the first that it comes to."""

from __future__ import annotations

import re
from typing import Any

import pytest
from botocore.config import Config

from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.tables import Orders

# Each mistake comes after the one before it; together, the first is told.
STEPS: list[tuple[dict[str, Any], str, str]] = [
    ({"ReturnConsumedCapacity": 7}, "SerializationException", "NUMBER_VALUE cannot be converted to String"),
    ({"ReturnValues": "SOME"}, "ValidationException", "1 validation error detected: Value 'SOME'"),
    ({"TableName": "a b"}, "ValidationException", "at 'tableName' failed to satisfy constraint"),
    (
        {"Expected": {"a": {"Exists": False}}},
        "ValidationException",
        "Can not use both expression and non-expression parameters",
    ),
    ({"ExpressionAttributeValues": {}}, "ValidationException", "ExpressionAttributeValues must not be empty"),
    ({"Item": {"x": {"SS": []}}}, "ValidationException", "An string set  may not be empty"),
    ({"ReturnValues": "ALL_NEW"}, "ValidationException", "ReturnValues can only be ALL_OLD or NONE"),
    ({"Item": {"x": {"S": "x" * 410_000}}}, "ValidationException", "Item size has exceeded the maximum"),
    ({"ConditionExpression": "a ="}, "ValidationException", "Invalid ConditionExpression: Syntax error"),
    (
        {"ExpressionAttributeNames": {"#n": "n"}},
        "ValidationException",
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#n}",
    ),
    ({"TableName": "nothing"}, "ResourceNotFoundException", "Requested resource not found"),
    ({"Item": {"x": {"S": "x"}}}, "ValidationException", "Missing the key id in the item"),
    (
        {"ConditionExpression": "attribute_not_exists(id)"},
        "ConditionalCheckFailedException",
        "The conditional request failed",
    ),
]
BASE: dict[str, Any] = {
    "TableName": "orders",
    "Item": {"id": {"S": "a"}},
    "ConditionExpression": "attribute_exists(id)",
}


@pytest.fixture(scope="module")
def client() -> Any:
    with Simulator(table=None, ids="service") as sim:
        Orders(sim).put("a")
        yield sim.client("dynamodb", config=Config(parameter_validation=False))


def together(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any] | None:
    """Both mistakes in one request; None where both are of one member."""
    return None if earlier.keys() & later.keys() else {**BASE, **later, **earlier}


@pytest.mark.parametrize("place", range(len(STEPS)))
def test_each_mistake_is_told_before_those_that_come_after_it(client, place):
    mistake, error, words = STEPS[place]
    others = [together(mistake, later) for later, _, _ in STEPS[place + 1 :]]
    for request in [{**BASE, **mistake}, *(request for request in others if request is not None)]:
        with refused(error, re.escape(words)):
            client.put_item(**request)
