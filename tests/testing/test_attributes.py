"""Attributes: what the service takes for a value, and what it calls the rest; by JSON as it is, for SDKs would not send it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.testing.readers import refused
from tests.testing.tables import Orders


def put(orders: Orders, value: Any) -> tuple[str, str]:
    """The code and the message of the refusal of an item with this value; none of either, where it is taken."""
    body = json.dumps({"TableName": "orders", "Item": {"id": {"S": "a"}, "v": value}}).encode()
    headers = {"X-Amz-Target": "DynamoDB_20120810.PutItem"}
    try:
        with urllib.request.urlopen(urllib.request.Request(orders.sim.endpoint_url, body, headers)):
            return "", ""
    except urllib.error.HTTPError as error:
        told = json.loads(error.read())
        return told["__type"].partition("#")[2], told["message"]


def read(orders: Orders) -> Any:
    return orders.tables.get_item(TableName="orders", Key={"id": {"S": "a"}})["Item"]["v"]


@pytest.mark.parametrize(
    "value, words",
    [
        ({"S": 5}, "NUMBER_VALUE cannot be converted to String"),
        ({"N": 5}, "NUMBER_VALUE cannot be converted to String"),
        ({"S": ["a"]}, "Unrecognized collection type class java.lang.String"),
        ({"BOOL": [True]}, "Unrecognized collection type class java.lang.Boolean"),
        ({"B": 5}, "Only base-64-encoded strings are convertible to bytes"),
        ({"B": ["YQ=="]}, "Unrecognized collection type class java.nio.ByteBuffer"),
        ({"B": "YQ="}, "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
        ({"B": "YR=="}, "Invalid last non-pad Base64 character dectected"),
        ({"BS": ["YQ==", "Y!=="]}, "Invalid Base64 character: '!'"),
        ({"BOOL": "true"}, "STRING_VALUE cannot be converted to Boolean"),
        ({"NULL": "true"}, "STRING_VALUE cannot be converted to Boolean"),
        ({"SS": "a"}, "Unexpected field type"),
        ({"SS": [1]}, "NUMBER_VALUE cannot be converted to String"),
        ({"NS": [1]}, "NUMBER_VALUE cannot be converted to String"),
        ({"L": "a"}, "Unexpected field type"),
        ({"L": {}}, "Start of structure or map found where not expected"),
        (
            {"M": []},
            "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
        ),
        ([], "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue"),
        ("a", "Unexpected field type"),
    ],
)
def test_values_of_another_json_type_cannot_be_read(orders, value, words):
    assert put(orders, value) == ("SerializationException", words)
    assert put(orders, {"L": [{"M": {"deep": value}}]}) == ("SerializationException", words)
    assert orders.events() == []


@pytest.mark.parametrize("value", [{}, {"X": "a"}, {"S": None}])
def test_values_of_no_type_are_refused_and_leave_nothing_behind(orders, value):
    assert put(orders, value) == (
        "ValidationException",
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
    )
    orders.put("a")
    assert orders.events() == [("INSERT", "a")]


def test_null_is_true(orders):
    code, message = put(orders, {"NULL": False})
    assert (code, message.rpartition(": ")[2]) == (
        "ValidationException",
        "Null attribute value types must have the value of true",
    )


@pytest.mark.parametrize(
    "number, words",
    [
        ("", "cannot be converted to a numeric value"),
        (" 1", "cannot be converted to a numeric value"),
        ("1_000", "cannot be converted to a numeric value"),
        ("NaN", "cannot be converted to a numeric value"),
        ("Infinity", "cannot be converted to a numeric value"),
        ("0x10", "cannot be converted to a numeric value"),
        ("٣", "cannot be converted to a numeric value"),
        ("1" * 39, "more than 38 significant digits"),
        ("0." + "1" * 39, "more than 38 significant digits"),
        ("1e126", "Number overflow"),
        ("-1" + "0" * 126, "Number overflow"),
        ("1e9999", "Number overflow"),
        ("1e-131", "Number underflow"),
        ("-0." + "0" * 130 + "1", "Number underflow"),
    ],
)
@pytest.mark.parametrize("kind", ["N", "NS"])
def test_numbers_beyond_what_a_number_holds_are_refused(orders, number, words, kind):
    value = {kind: number if kind == "N" else ["5", number]}
    with refused("ValidationException", words):
        orders.put("a", v=value)
    with refused("ValidationException", words):
        orders.update("a", "SET v = :v", v=value)
    assert orders.events() == []


@pytest.mark.parametrize(
    "number, kept",
    [
        ("1" * 38, "1" * 38),
        ("1" + "0" * 60, "1" + "0" * 60),
        ("0" * 60 + "1.50", "1.5"),
        ("9e125", "9" + "0" * 125),
        ("1e-130", "0." + "0" * 129 + "1"),
        ("0e9999", "0"),
        ("+.5", "0.5"),
        ("-5.", "-5"),
    ],
)
def test_numbers_up_to_there_are_kept_exactly(orders, number, kept):
    orders.put("a", v={"N": number})
    assert read(orders) == {"N": kept}
    assert orders.records()[0]["dynamodb"]["NewImage"]["v"] == {"N": kept}


@pytest.mark.parametrize("numbers", [["1", "1.0"], ["10", "1e1"], ["0", "-0"]])
def test_numbers_are_the_same_by_value_in_a_set_too(orders, numbers):
    with refused("ValidationException", "contains duplicates"):
        orders.put("a", v={"NS": numbers})


@pytest.mark.parametrize(
    "value, told",
    [
        (
            {"SS": ["a", "b", "a"]},
            "One or more parameter values were invalid: Input collection [a, b, a] contains duplicates.",
        ),
        ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
        (
            {"BS": ["YQ==", "YQ=="]},
            "One or more parameter values were invalid: Input collection [YQ==, YQ==]of type BS contains duplicates.",
        ),
    ],
)
def test_each_kind_of_set_tells_of_twice_the_same_in_its_own_words(orders, value, told):
    assert put(orders, value) == ("ValidationException", told)
