"""Calls on tables: what each answers beyond its change: conditions, returned values, sizes, capacity, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.config import Config

from streamiter.testing import Simulator
from tests.testing.readers import refused

KEY = {"p": {"S": "a"}, "c": {"N": "1"}}


class Things:
    """A table with a key of two parts, a global index of keys alone and a local one; calls know its name."""

    def __init__(self, sim: Simulator) -> None:
        self.client = sim.client("dynamodb", config=Config(parameter_validation=False))
        kinds = {"p": "S", "c": "N", "g": "S", "k": "S"}
        self.client.create_table(
            TableName="things",
            KeySchema=keys("p", "c"),
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in kinds.items()],
            GlobalSecondaryIndexes=[
                {"IndexName": "by-g", "KeySchema": keys("g"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
            ],
            LocalSecondaryIndexes=[
                {
                    "IndexName": "by-k",
                    "KeySchema": keys("p", "k"),
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
                }
            ],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )

    def __getattr__(self, operation: str) -> Any:
        call = getattr(self.client, operation)
        return lambda **body: call(TableName="things", **body)

    def item(self) -> Any:
        return self.get_item(Key=KEY).get("Item")

    def put(self, **more: Any) -> Any:
        return self.put_item(Item=KEY | more)

    def update(self, expression: str, **more: Any) -> Any:
        values = {f":{name}": value for name, value in more.pop("values", {}).items()}
        given = {"ExpressionAttributeValues": values} if values else {}
        return self.update_item(Key=KEY, UpdateExpression=expression, **given, **more).get("Attributes")


def keys(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


@pytest.fixture
def things(sim: Simulator) -> Things:
    return Things(sim)


def N(number: object) -> dict[str, str]:
    return {"N": str(number)}


def S(text: str) -> dict[str, str]:
    return {"S": text}


def test_a_delete_heeds_what_is_expected_and_tells_no_lie(sim, things):
    things.put(x=N(1))
    with refused("ConditionalCheckFailedException"):
        things.delete_item(Key=KEY, Expected={"x": {"Value": N(2)}})
    assert [record.event_name for record in sim.table("things").history] == ["INSERT"]
    assert things.delete_item(Key=KEY, Expected={"x": {"Value": N(1)}}, ReturnValues="ALL_OLD")["Attributes"]["x"] == N(
        1
    )


@pytest.mark.parametrize(
    "expected, operator, is_met",
    [
        ({"x": {"ComparisonOperator": "GE", "AttributeValueList": [N(3)]}}, None, True),
        ({"x": {"ComparisonOperator": "LT", "Value": N(3)}}, None, False),
        ({"x": {"ComparisonOperator": "NE", "AttributeValueList": [S("3")]}}, None, True),
        ({"q": {"ComparisonOperator": "NE", "AttributeValueList": [N(3)]}}, None, True),
        ({"q": {"ComparisonOperator": "NULL"}}, None, True),
        ({"x": {"ComparisonOperator": "NOT_NULL"}, "q": {"Exists": False}}, None, True),
        ({"q": {"ComparisonOperator": "NOT_CONTAINS", "AttributeValueList": [S("a")]}}, None, False),
        ({"s": {"ComparisonOperator": "NOT_CONTAINS", "AttributeValueList": [S("z")]}}, None, True),
        ({"s": {"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [S("te")]}}, None, True),
        ({"x": {"ComparisonOperator": "IN", "AttributeValueList": [N(1), N("3.0")]}}, None, True),
        ({"x": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [N(1), N(2)]}}, None, False),
        ({"x": {"Value": N(9)}, "s": {"Value": S("text")}}, "OR", True),
        ({"x": {"Value": N(9)}, "s": {"Value": S("text")}}, "AND", False),
    ],
)
def test_the_older_conditions(things, expected, operator, is_met):
    things.put(x=N(3), s=S("text"))
    more = {"ConditionalOperator": operator} if operator else {}
    if is_met:
        things.put_item(Item=KEY, Expected=expected, **more)
        return
    with refused("ConditionalCheckFailedException"):
        things.put_item(Item=KEY, Expected=expected, **more)


@pytest.mark.parametrize(
    "expected, words",
    [
        ({"x": {}}, "Value must be provided when Exists is null for Attribute: x"),
        ({"x": {"Exists": True}}, "Value must be provided when Exists is true for Attribute: x"),
        ({"x": {"Exists": False, "Value": N(1)}}, "Value cannot be used when Exists is false for Attribute: x"),
        ({"x": {"AttributeValueList": [N(1)]}}, "AttributeValueList can only be used with a ComparisonOperator"),
        ({"x": {"ComparisonOperator": "EQ"}}, "Value or AttributeValueList must be used with ComparisonOperator: EQ"),
        (
            {"x": {"ComparisonOperator": "EQ", "AttributeValueList": [N(1), N(2)]}},
            r"Invalid number of argument\(s\) for the EQ ComparisonOperator",
        ),
        (
            {"x": {"ComparisonOperator": "LT", "AttributeValueList": [{"BOOL": True}]}},
            "ComparisonOperator LT is not valid for BOOL AttributeValue type",
        ),
        (
            {"x": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [N(2), N(1)]}},
            "the lower bound is greater than the upper bound",
        ),
        (
            {"x": {"ComparisonOperator": "IN", "AttributeValueList": [N(2), S("1")]}},
            "must all be of the same type",
        ),
    ],
)
def test_older_conditions_that_cannot_be(things, expected, words):
    with refused("ValidationException", words):
        things.put_item(Item=KEY, Expected=expected)
    with refused("ValidationException", "ConditionalOperator cannot be used without Filter or Expected"):
        things.put_item(Item=KEY, ConditionalOperator="AND")


def test_an_index_key_has_its_type_whichever_way_it_is_updated(things):
    things.put(g=S("g"))
    with refused("ValidationException", "Type mismatch for Index Key g Expected: S Actual: N"):
        things.update_item(Key=KEY, AttributeUpdates={"g": {"Value": N(1)}})
    with refused("ValidationException", "attempted to update the secondary index key to unsupported type"):
        things.update("SET g = :v", values={"v": N(1)})
    with refused("ValidationException", "cannot contain an empty string value"):
        things.update("SET g = :v", values={"v": S("")})
    assert things.scan(IndexName="by-g")["Items"] == [KEY | {"g": S("g")}]
    things.update("REMOVE g")
    assert things.scan(IndexName="by-g")["Items"] == []


@pytest.mark.parametrize(
    "expression, which, told",
    [
        ("SET m.a = :v", "UPDATED_OLD", {"m": {"M": {"a": N(1)}}}),
        ("SET m.a = :v", "UPDATED_NEW", {"m": {"M": {"a": N(7)}}}),
        ("SET l[1] = :v", "UPDATED_NEW", {"l": {"L": [N(7)]}}),
        ("SET l[1] = :v", "UPDATED_OLD", {"l": {"L": [N(1)]}}),
        ("SET q = :v", "UPDATED_OLD", None),
        ("SET q = :v REMOVE x", "UPDATED_NEW", {"q": N(7)}),
        ("SET q = :v REMOVE x", "UPDATED_OLD", {"x": N(5)}),
        ("ADD x :v", "UPDATED_NEW", {"x": N(12)}),
        ("SET q = :v", "NONE", None),
    ],
)
def test_an_update_returns_what_it_touched(things, expression, which, told):
    things.put(x=N(5), m={"M": {"a": N(1), "b": N(2)}}, l={"L": [N(0), N(1)]})
    assert things.update(expression, ReturnValues=which, values={"v": N(7)}) == told


def test_a_put_and_a_delete_return_the_old_item_or_nothing(things):
    assert "Attributes" not in things.put_item(Item=KEY, ReturnValues="ALL_OLD")
    assert things.put_item(Item=KEY, ReturnValues="ALL_OLD")["Attributes"] == KEY
    for which in ("ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"):
        with refused("ValidationException", "ReturnValues can only be ALL_OLD or NONE"):
            things.put_item(Item=KEY, ReturnValues=which)
        with refused("ValidationException", "ReturnValues can only be ALL_OLD or NONE"):
            things.delete_item(Key=KEY, ReturnValues=which)
    with refused("ValidationException", "satisfy enum value set"):
        things.put_item(Item=KEY, ReturnValues="ALL")


def test_a_failed_condition_shows_the_item_if_asked(things):
    things.put(x=N(5))
    for ask, item in (("ALL_OLD", KEY | {"x": N(5)}), ("NONE", None)):
        with pytest.raises(things.client.exceptions.ConditionalCheckFailedException) as told:
            things.put_item(
                Item=KEY, ConditionExpression="attribute_not_exists(p)", ReturnValuesOnConditionCheckFailure=ask
            )
        assert told.value.response.get("Item") == item


def test_a_filter_over_values_of_all_types_fails_for_none(things):
    for number, value in enumerate(
        [N(1), S("a"), {"B": b"b"}, {"BOOL": True}, {"NULL": True}, {"L": []}, {"SS": ["a"]}]
    ):
        things.put_item(Item=KEY | {"c": N(number), "x": value})

    def count(expression: str, **values: Any) -> int:
        given = {f":{name}": value for name, value in values.items()}
        return int(things.scan(FilterExpression=expression, ExpressionAttributeValues=given)["Count"])

    assert count("x BETWEEN :a AND :b", a=S("a"), b=S("b")) == 1
    assert count("x < :a", a=N(5)) == 1
    assert count("x <> :a", a=N(5)) == 7
    assert count("size(x) >= :a", a=N(0)) == 4
    assert count("begins_with(x, :a)", a=S("a")) == 1
    assert count("contains(x, :a)", a=S("a")) == 2
    older = {"x": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [N(0), N(2)]}}
    assert things.scan(ScanFilter=older)["Count"] == 1
    condition = {"p": {"ComparisonOperator": "EQ", "AttributeValueList": [S("a")]}}
    assert things.query(KeyConditions=condition, QueryFilter=older)["Count"] == 1


def test_get_item_checks_its_key_and_projects(things):
    things.put(x=N(5), m={"M": {"a": N(1), "b": N(2)}})
    assert things.get_item(Key=KEY, AttributesToGet=["x", "q"])["Item"] == {"x": N(5)}
    assert things.get_item(Key=KEY, ProjectionExpression="m.b, q.w")["Item"] == {"m": {"M": {"b": N(2)}}}
    assert "Item" not in things.get_item(Key={**KEY, "c": N(2)})
    for key in ({"p": S("a")}, {**KEY, "c": S("1")}, {**KEY, "q": S("q")}):
        with refused("ValidationException", "The provided key element does not match the schema"):
            things.get_item(Key=key)


def test_an_item_has_409600_bytes_and_not_one_more(things):
    rest = 400 * 1024 - sum(map(len, ("pa", "c", "x"))) - 2
    things.put(x=S("x" * rest))
    with refused("ValidationException", "Item size has exceeded the maximum allowed size"):
        things.put(x=S("x" * (rest + 1)))
    with refused("ValidationException", "Item size to update has exceeded the maximum allowed size"):
        things.update("SET y = :v", values={"v": N(1)})


def test_an_expression_has_4096_bytes(things):
    fits = "x = :v" + " " * (4096 - 6)
    assert things.scan(FilterExpression=fits, ExpressionAttributeValues={":v": N(1)})["Count"] == 0
    with refused("ValidationException", "Expression size has exceeded the maximum allowed size; expression size: 4097"):
        things.scan(FilterExpression=fits + " ", ExpressionAttributeValues={":v": N(1)})


def test_values_are_nested_32_levels_deep_at_most(things):
    def nested(levels: int) -> dict[str, Any]:
        return N(1) if levels == 0 else {"L": [nested(levels - 1)]}

    things.put(x=nested(32))
    with refused("ValidationException", "Nesting Levels have exceeded supported limits"):
        things.put(x=nested(33))


def test_consumed_capacity_counts_items_and_indexes(things):
    def units(answer: dict[str, Any]) -> Any:
        told = answer["ConsumedCapacity"]
        indexes = {**told.get("GlobalSecondaryIndexes", {}), **told.get("LocalSecondaryIndexes", {})}
        return told["CapacityUnits"], {name: one["CapacityUnits"] for name, one in indexes.items()}

    put = things.put_item(Item=KEY | {"g": S("g"), "k": S("k"), "y": S("y" * 2000)}, ReturnConsumedCapacity="INDEXES")
    assert units(put) == (4.0, {"by-g": 1.0, "by-k": 1.0})
    moved = things.update_item(
        Key=KEY,
        UpdateExpression="SET g = :v",
        ExpressionAttributeValues={":v": S("h")},
        ReturnConsumedCapacity="INDEXES",
    )
    assert units(moved) == (4.0, {"by-g": 2.0})
    assert units(things.get_item(Key=KEY, ReturnConsumedCapacity="TOTAL")) == (0.5, {})
    assert units(things.get_item(Key=KEY, ConsistentRead=True, ReturnConsumedCapacity="TOTAL")) == (1.0, {})
    assert units(things.scan(IndexName="by-g", ReturnConsumedCapacity="INDEXES")) == (0.5, {"by-g": 0.5})
    assert "ConsumedCapacity" not in things.scan()
    gets = [{"Get": {"TableName": "things", "Key": KEY}}]
    [read] = things.client.transact_get_items(TransactItems=gets, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert (read["CapacityUnits"], read["ReadCapacityUnits"]) == (2.0, 2.0)
    metrics = things.put_item(Item=KEY, ReturnItemCollectionMetrics="SIZE")["ItemCollectionMetrics"]
    assert metrics == {"ItemCollectionKey": {"p": S("a")}, "SizeEstimateRangeGB": [0.0, 1.0]}


def test_an_attribute_has_a_name_of_65535_bytes_at_most(things):
    things.put(**{"x" * 65535: N(1)})
    for name, words in (("x" * 65536, "less than"), ("\u00e9" * 40000, "less than 65536 bytes"), ("", "not be empty")):
        with refused("ValidationException", words):
            things.put(**{name: N(1)})
        with refused("ValidationException", words):
            things.get_item(Key=KEY, ProjectionExpression="#x", ExpressionAttributeNames={"#x": name})
