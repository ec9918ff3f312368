"""Mutations: requests to tables with parts that lack, or are odd: each is served or refused, and none is a fault of ours."""

from __future__ import annotations

import copy
import random
from typing import Any

import msgspec
import pytest

from streamiter.testing.http.refusal import Refusal
from streamiter.testing.kinesis.service import KinesisService
from streamiter.testing.tables import TableApi, TablesDesk
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.service import ACCOUNT, REGION, Service

KEY = {"p": {"S": "a"}, "c": {"N": "1"}}
VALUES = {":v": {"N": "1"}, ":w": {"S": "a"}, ":l": {"L": [{"N": "1"}]}}
CREATE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "c", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": n, "AttributeType": t} for n, t in (("p", "S"), ("c", "N"), ("g", "S"))],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
ITEM = {
    **KEY,
    "g": {"S": "g"},
    "x": {"N": "1"},
    "l": {"L": [{"S": "a"}]},
    "m": {"M": {"y": {"B": "AAE="}}},
    "s": {"SS": ["a"]},
}
WHERE = {"TableName": "things", "Key": KEY}
OLDER = {"x": {"ComparisonOperator": "GE", "AttributeValueList": [{"N": "0"}]}}
CONDITION = "x = :v AND (begins_with(g, :w) OR size(l) < :v) AND NOT l[0] IN (:w, :v)"

REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", {"TableName": "things", "Item": ITEM, "ReturnValues": "ALL_OLD", "ReturnConsumedCapacity": "INDEXES"}),
    ("PutItem", {"TableName": "things", "Item": ITEM, "ConditionExpression": CONDITION, "ExpressionAttributeValues": VALUES}),
    ("PutItem", {"TableName": "things", "Item": ITEM, "ConditionalOperator": "OR",
                 "Expected": {**OLDER, "y": {"Exists": False}}}),
    ("UpdateItem", {**WHERE, "UpdateExpression": "SET l[3] = :v, x = x + :v, q = list_append(l, :l) REMOVE m.y, l[0] ADD n :v",
                    "ExpressionAttributeValues": VALUES, "ReturnValues": "UPDATED_NEW"}),
    ("UpdateItem", {**WHERE, "AttributeUpdates": {"x": {"Action": "ADD", "Value": {"N": "1"}}, "s": {"Action": "DELETE"}}}),
    ("DeleteItem", {**WHERE, "ConditionExpression": "#x <> :v", "ExpressionAttributeNames": {"#x": "x"},
                    "ExpressionAttributeValues": {":v": {"N": "5"}}}),
    ("GetItem", {**WHERE, "ProjectionExpression": "x, l[0], m.y", "ConsistentRead": True}),
    ("GetItem", {**WHERE, "AttributesToGet": ["x", "l"]}),
    ("Query", {"TableName": "things", "KeyConditionExpression": "p = :w AND c BETWEEN :v AND :v", "Limit": 1,
               "FilterExpression": "attribute_exists(x)", "ExpressionAttributeValues": {":v": {"N": "1"}, ":w": {"S": "a"}},
               "ExclusiveStartKey": KEY, "Select": "COUNT"}),
    ("Query", {"TableName": "things", "IndexName": "by-g", "QueryFilter": OLDER, "ScanIndexForward": False,
               "KeyConditions": {"g": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "g"}]}}}),
    ("Scan", {"TableName": "things", "FilterExpression": CONDITION, "ExpressionAttributeValues": VALUES,
              "TotalSegments": 3, "Segment": 1, "ProjectionExpression": "m"}),
    ("Scan", {"TableName": "things", "IndexName": "by-g", "ScanFilter": OLDER, "AttributesToGet": ["x"], "Limit": 5}),
    ("BatchGetItem", {"RequestItems": {"things": {"Keys": [KEY], "ProjectionExpression": "x"}}}),
    ("BatchWriteItem", {"RequestItems": {"things": [{"PutRequest": {"Item": ITEM}}]}, "ReturnItemCollectionMetrics": "SIZE"}),
    ("TransactGetItems", {"TransactItems": [{"Get": WHERE}]}),
    ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "things", "Item": ITEM}}], "ClientRequestToken": "t"}),
    ("UpdateTable", {"TableName": "things", "AttributeDefinitions": [{"AttributeName": "x", "AttributeType": "N"}],
                     "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "by-x", "Projection": {"ProjectionType": "ALL"},
                                                      "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}]}}]}),
    ("CreateTable", CREATE),
    ("DescribeTable", {"TableName": "things"}),
    ("UpdateTimeToLive", {"TableName": "things", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "x"}}),
    ("TagResource", {"ResourceArn": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/things", "Tags": [{"Key": "a", "Value": "b"}]}),
    ("UpdateContinuousBackups",
     {"TableName": "things", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}),
]  # fmt: skip

ODD = [
    *(
        None,
        "",
        "a",
        "zz",
        "x" * 300,
        0,
        -1,
        5,
        1e300,
        True,
        [],
        {},
        [{}],
        {"S": "a"},
        {"N": "1"},
        {"N": "zz"},
        {"SS": []},
    ),
    *({"L": [{"M": {"a": {"NULL": True}}}]}, {"B": "!"}, {"S": "a", "N": "1"}, {"NS": ["1", "1.0"]}, {"N": "1e999"}),
    *("x = :v", "SET x = :v", "p", "m.y.z", "x[0]", "SET l[9] = l[0], l[8] = :v", "REMOVE l[0], l[1]", "((x = :v))"),
]


def places(body: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to each part of a body."""
    inner = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    found = [path] if path else []
    for name, value in inner:
        found += places(value, (*path, name))
    return found


def mutated(draw: random.Random, body: dict[str, Any]) -> dict[str, Any]:
    """The body with one to three parts taken away, or something odd in their place."""
    body = copy.deepcopy(body)
    for _ in range(draw.randint(1, 3)):
        ways = places(body)
        if not ways:
            return body
        *above, last = draw.choice(ways)
        holder: Any = body
        for step in above:
            holder = holder[step]
        if draw.random() < 0.3:
            del holder[last]
        elif isinstance(last, str) and draw.random() < 0.1:
            holder[draw.choice(["q", "p", "", ":v", "#x"])] = holder.pop(last)
        else:
            holder[last] = copy.deepcopy(draw.choice(ODD))
    return body


@pytest.mark.parametrize("seed", range(4))
def test_no_request_is_a_fault_of_ours(seed):
    draw = random.Random(seed)
    service, knobs = Service(Knobs()), Knobs()
    desk = TablesDesk(TableApi(service, knobs, KinesisService(knobs, REGION, ACCOUNT)))

    def ask(operation: str, body: Any) -> str:
        try:
            desk.read(operation, msgspec.json.encode(body), None).serve(1_750_000_000_000_000)
        except Refusal as refusal:
            assert refusal.status == 400, (operation, body, refusal)
            assert refusal.message or refusal.name == "UnknownOperationException", (operation, body)
            return refusal.name
        return "ok"

    assert ask("CreateTable", CREATE) == "ok"
    outcomes = set()
    for _ in range(1500):
        operation, body = draw.choice(REQUESTS)
        if draw.random() < 0.3:
            ask("PutItem", {"TableName": "things", "Item": ITEM})
        outcomes.add(ask(operation, mutated(draw, body)))
        if "things" not in service.tables:
            ask("CreateTable", CREATE)
    assert {"ok", "ValidationException", "SerializationException"} <= outcomes
