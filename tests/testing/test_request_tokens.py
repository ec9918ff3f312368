"""Request tokens: a transaction that is sent again with its token is the same one for ten minutes, in the stream, too."""

from __future__ import annotations

from typing import Any

from tests.testing.readers import refused
from tests.testing.tables import Orders


def add(orders: Orders, token: str, amount: int = 1, **more: Any) -> Any:
    update = {
        "TableName": "orders",
        "Key": {"id": {"S": "a"}},
        "UpdateExpression": "ADD n :n",
        "ExpressionAttributeValues": {":n": {"N": str(amount)}},
    }
    return orders.tables.transact_write_items(TransactItems=[{"Update": update}], ClientRequestToken=token, **more)


def numbers(orders: Orders) -> list[str]:
    return [record["dynamodb"]["NewImage"]["n"]["N"] for record in orders.records()]


def test_a_transaction_that_is_sent_again_changes_nothing(orders):
    add(orders, "one")
    add(orders, "one")
    add(orders, "one", ReturnConsumedCapacity="TOTAL")
    add(orders, "two")
    assert numbers(orders) == ["1", "2"]


def test_a_token_lasts_ten_minutes(sim, orders):
    add(orders, "one")
    sim.clock.advance(minutes=9, seconds=59)
    add(orders, "one")
    assert numbers(orders) == ["1"]
    sim.clock.advance(seconds=1)
    add(orders, "one")
    assert numbers(orders) == ["1", "2"]


def test_a_token_stands_for_one_request(orders):
    add(orders, "one")
    with refused("IdempotentParameterMismatchException"):
        add(orders, "one", amount=2)
    assert numbers(orders) == ["1"]


def test_a_transaction_that_failed_may_be_tried_again(orders):
    put = {"TableName": "orders", "Item": {"id": {"S": "b"}}}
    check = {"TableName": "orders", "Key": {"id": {"S": "a"}}, "ConditionExpression": "attribute_exists(id)"}
    for _ in range(2):
        with refused("TransactionCanceledException"):
            orders.tables.transact_write_items(
                TransactItems=[{"Put": put}, {"ConditionCheck": check}], ClientRequestToken="one"
            )
    orders.put("a")
    orders.tables.transact_write_items(
        TransactItems=[{"Put": put}, {"ConditionCheck": check}], ClientRequestToken="one"
    )
    assert orders.events() == [("INSERT", "a"), ("INSERT", "b")]


def test_a_transaction_sent_again_consumes_what_reading_takes(orders):
    put = {"Put": {"TableName": "orders", "Item": {"id": {"S": "a"}, "text": {"S": "x" * 5000}}}}
    request = {"TransactItems": [put], "ClientRequestToken": "once"}
    [told] = orders.tables.transact_write_items(**request, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert (told["CapacityUnits"], told["WriteCapacityUnits"]) == (10, 10)
    [told] = orders.tables.transact_write_items(**request, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert (told["CapacityUnits"], told["ReadCapacityUnits"]) == (4, 4)
    assert "ConsumedCapacity" not in orders.tables.transact_write_items(**request)
