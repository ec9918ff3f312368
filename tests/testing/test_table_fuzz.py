"""Whatever a client sends to the tables, it is answered or refused: nothing breaks, and no refusal changes anything."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing.http.descriptions import description
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.kinesis.service import KinesisService
from streamiter.testing.tables.api import TableApi
from streamiter.testing.tables.desk import TablesDesk
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.service import ACCOUNT, REGION, Service
from tests.testing.expressions.drawn import PLACEHOLDERS, conditions, values, written
from tests.testing.expressions.test_oracle import text_of, updates

NOW_US = 1_750_000_000_000_000
TABLE: dict[str, Any] = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": kind} for name, kind in (("a", "S"), ("b", "N"), ("c1", "N"))
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-c",
            "KeySchema": [{"AttributeName": "c1", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}


class Desk:
    """A table, without HTTP around it."""

    def __init__(self) -> None:
        knobs = Knobs()
        service = Service(knobs)
        self._desk = TablesDesk(TableApi(service, knobs, KinesisService(knobs, REGION, ACCOUNT)))
        self.truth = service
        self.ask("CreateTable", TABLE)
        self.table = service.tables["things"]

    def ask(self, operation: str, body: Any) -> Any:
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return msgspec.json.decode(self._desk.read(operation, raw, None).serve(NOW_US))


_keys = st.fixed_dictionaries(
    {
        "a": st.sampled_from([{"S": "x"}, {"S": "y"}]) | values,
        "b": st.sampled_from([{"N": "1"}, {"N": "2.0"}, {"N": "-3e2"}]) | values,
    }
)
_items = st.builds(
    lambda key, more: {**more, **key},
    _keys,
    st.dictionaries(st.sampled_from(["c1", "d_e", "name"]), values, max_size=3),
)
_conditions = conditions.map(written) | st.text("ab:vw()= ANDORT", max_size=20)
_older = st.sampled_from(description("dynamodb")["shapes"]["ComparisonOperator"]["enum"])
_filters = st.dictionaries(
    st.sampled_from(["a", "b", "c1", "d_e"]),
    st.fixed_dictionaries(
        {"ComparisonOperator": _older}, optional={"AttributeValueList": st.lists(values, max_size=2)}
    ),
    max_size=2,
)
_expected = st.dictionaries(
    st.sampled_from(["a", "b", "c1"]),
    st.fixed_dictionaries(
        {},
        optional={
            "Value": values,
            "Exists": st.booleans(),
            "ComparisonOperator": _older,
            "AttributeValueList": st.lists(values, max_size=2),
        },
    ),
    max_size=2,
)
_attribute_updates = st.dictionaries(
    st.sampled_from(["b", "c1", "d_e"]),
    st.fixed_dictionaries({}, optional={"Value": values, "Action": st.sampled_from(["PUT", "ADD", "DELETE"])}),
    max_size=2,
)
_given = st.dictionaries(st.sampled_from(PLACEHOLDERS), values, max_size=3)
_members: dict[str, st.SearchStrategy[Any]] = {
    "ConditionExpression": _conditions,
    "FilterExpression": _conditions,
    "KeyConditionExpression": st.sampled_from(
        ["a = :v", "a = :v AND b > :w", "c1 = :v", "a = :v AND begins_with(b, :w)"]
    ),
    "ProjectionExpression": st.sampled_from(["a", "a, b", "c1.a[0]", "d_e, d_e"]),
    "UpdateExpression": updates.map(text_of),
    "ExpressionAttributeValues": _given,
    "Expected": _expected,
    "AttributeUpdates": _attribute_updates,
    "KeyConditions": _filters,
    "QueryFilter": _filters,
    "ScanFilter": _filters,
    "ConditionalOperator": st.sampled_from(["AND", "OR"]),
    "AttributesToGet": st.lists(st.sampled_from(["a", "c1", "q"]), min_size=1, max_size=2),
    "ExclusiveStartKey": _items,
    "IndexName": st.sampled_from(["by-c", "by-d"]),
    "Limit": st.integers(0, 3),
    "Segment": st.integers(0, 2),
    "TotalSegments": st.integers(1, 3),
    "Select": st.sampled_from(["ALL_ATTRIBUTES", "COUNT", "SPECIFIC_ATTRIBUTES"]),
    "ConsistentRead": st.booleans(),
    "ScanIndexForward": st.booleans(),
    "ReturnValues": st.sampled_from(["ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]),
    "ReturnConsumedCapacity": st.just("INDEXES"),
}
_OF = {
    "PutItem": "ConditionExpression Expected ConditionalOperator ExpressionAttributeValues ReturnValues",
    "DeleteItem": "ConditionExpression Expected ConditionalOperator ExpressionAttributeValues ReturnValues",
    "UpdateItem": "UpdateExpression ConditionExpression AttributeUpdates Expected ExpressionAttributeValues ReturnValues",
    "GetItem": "ProjectionExpression AttributesToGet ConsistentRead ReturnConsumedCapacity",
    "Query": "KeyConditionExpression FilterExpression KeyConditions QueryFilter ExpressionAttributeValues IndexName "
    "ExclusiveStartKey Limit Select ScanIndexForward ReturnConsumedCapacity",
    "Scan": "FilterExpression ScanFilter ConditionalOperator ExpressionAttributeValues IndexName ExclusiveStartKey Limit "
    "Segment TotalSegments Select ProjectionExpression ReturnConsumedCapacity",
}


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An operation, and members that it may have."""
    operation = draw(st.sampled_from(sorted(_OF)))
    body: dict[str, Any] = {"TableName": "things"}
    if operation not in ("Query", "Scan"):
        body["Item" if operation == "PutItem" else "Key"] = draw(_items if operation == "PutItem" else _keys)
    names = _OF[operation].split()
    for name in draw(st.lists(st.sampled_from(names), max_size=4, unique=True)):
        body[name] = draw(_members[name])
    return operation, body


@given(st.lists(requests(), min_size=1, max_size=12))
def test_requests_are_answered_or_refused(asked):
    desk = Desk()
    for operation, body in asked:
        before = len(desk.table.history)
        stored = desk.ask("Scan", {"TableName": "things"})
        try:
            desk.ask(operation, body)
        except Refusal as refusal:
            assert refusal.status == 400 and refusal.message
            assert refusal.name in ("ValidationException", "ConditionalCheckFailedException")
            assert desk.ask("Scan", {"TableName": "things"}) == stored
            assert len(desk.table.history) == before
    assert desk.ask("Scan", {"TableName": "things", "IndexName": "by-c"})["Count"] == sum(
        "N" in item.get("c1", {}) for item in desk.ask("Scan", {"TableName": "things"})["Items"]
    )


_WORDS = """SELECT INSERT UPDATE DELETE EXISTS ( ) * FROM INTO VALUE things WHERE a b c1 = < 'x' 1 -2 , { } [ ] << >> : ? . AND
OR NOT IN IS MISSING NULL SET REMOVE RETURNING ALL OLD ORDER BY DESC begins_with size ;"""
_statements = st.lists(st.sampled_from(_WORDS.split()), max_size=14).map(" ".join)
_usual = st.sampled_from(
    [
        "SELECT * FROM things WHERE a = 'x' AND",
        "INSERT INTO things VALUE {'a': 'x', 'b': 1, 'c1':",
        "UPDATE things SET c1 =",
        "DELETE FROM things WHERE a = 'x' AND b =",
    ]
)


@given(st.lists(st.one_of(_statements, st.builds("{} {}".format, _usual, _statements)), min_size=1, max_size=4))
def test_statements_are_answered_or_refused(texts):
    desk = Desk()
    for text in texts:
        try:
            desk.ask("ExecuteStatement", {"Statement": text})
        except Refusal as refusal:
            assert refusal.status == 400 and refusal.message


@pytest.mark.parametrize("operation", ["PutItem", "Query", "BatchWriteItem", "TransactWriteItems", "CreateTable"])
@given(raw=st.binary(max_size=60) | st.text('{}[]":,SNBtruefalsenull01ab\\', max_size=60).map(str.encode))
def test_any_bytes_are_refused(operation, raw):
    with pytest.raises(Refusal) as told:
        Desk().ask(operation, raw)
    assert told.value.status == 400
