"""Arithmetic: what an update makes of numbers, and of an item's size, within what DynamoDB holds."""

from __future__ import annotations

import pytest

from tests.testing.readers import refused

LONG = "12345678901234567890123456789012345678"  # 38 digits


@pytest.mark.parametrize(
    "number, change, by, result",
    [
        (LONG, "SET n = n - :by", "0.5", LONG),  # rounded to 38 digits
        (LONG, "ADD n :by", "1", LONG[:-1] + "9"),
        ("0." + "1" * 38, "SET n = n + :by", "0." + "1" * 38, "0." + "2" * 38),
        ("1e30", "ADD n :by", "1e-7", "1" + "0" * 30 + ".0000001"),
        ("1e30", "ADD n :by", "1e-10", "1" + "0" * 30),
        ("1e-130", "SET n = n - :by", "1e-130", "0"),
        ("5e125", "ADD n :by", "4e125", "9" + "0" * 125),
    ],
)
def test_numbers_have_38_digits_and_no_exponent(orders, number, change, by, result):
    orders.put("a", n={"N": number})
    answer = orders.tables.update_item(
        TableName="orders",
        Key={"id": {"S": "a"}},
        UpdateExpression=change,
        ExpressionAttributeValues={":by": {"N": by}},
        ReturnValues="ALL_NEW",
    )
    assert answer["Attributes"]["n"] == {"N": result}
    assert orders.tables.get_item(TableName="orders", Key={"id": {"S": "a"}})["Item"]["n"] == {"N": result}
    assert orders.records()[-1]["dynamodb"]["NewImage"]["n"] == {"N": result}


@pytest.mark.parametrize("change", ["ADD n :by", "SET n = n + :by", "SET m.deep = n + :by"])
def test_a_sum_that_is_too_great_is_refused(orders, change):
    orders.put("a", n={"N": "9e125"}, m={"M": {}})
    with refused("ValidationException", "Number overflow"):
        orders.update("a", change, by={"N": "9e125"})
    assert orders.events() == [("INSERT", "a")]
    orders.update("a", "ADD n :by", by={"N": "-9e125"})
    assert orders.records()[-1]["dynamodb"]["NewImage"]["n"] == {"N": "0"}


def test_an_item_does_not_outgrow_400_kb_by_its_depths(orders):
    orders.put("a", m={"M": {"one": {"S": "x" * 300_000}}})
    with refused("ValidationException", "Item size to update has exceeded the maximum allowed size"):
        orders.update("a", "SET m.two = :v", v={"S": "x" * 120_000})
    assert orders.events() == [("INSERT", "a")]
    orders.update("a", "SET m.two = :v", v={"S": "x" * 100_000})
    assert orders.events()[1:] == [("MODIFY", "a")]
