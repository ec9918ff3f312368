"""Real tables: what happens to items is what their stream tells."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.tables import KEYS, Orders


@pytest.fixture
def sim():
    with Simulator(table=None, ids="service") as simulator:
        yield simulator


def test_writes_of_all_kinds_are_told(orders):
    orders.put("a", n={"N": "1"})
    orders.put("a", n={"N": "2"})
    orders.update("b", "SET n = :n", n={"N": "3"})
    orders.delete("a")
    orders.delete("nobody")
    assert orders.events() == [("INSERT", "a"), ("MODIFY", "a"), ("INSERT", "b"), ("REMOVE", "a")]
    insert, modify, update, remove = (record["dynamodb"] for record in orders.records())
    assert insert["NewImage"] == {"id": {"S": "a"}, "n": {"N": "1"}}
    assert "OldImage" not in insert
    assert (modify["OldImage"]["n"], modify["NewImage"]["n"]) == ({"N": "1"}, {"N": "2"})
    assert update["NewImage"] == {"id": {"S": "b"}, "n": {"N": "3"}}
    assert remove["OldImage"] == {"id": {"S": "a"}, "n": {"N": "2"}}
    assert "NewImage" not in remove


def test_a_write_that_changes_nothing_is_not_told(orders):
    orders.put("a", n={"N": "10"}, tags={"SS": ["x", "y"]}, deep={"M": {"l": {"L": [{"N": "1.50"}]}}})
    orders.put("a", n={"N": "1E1"}, tags={"SS": ["y", "x"]}, deep={"M": {"l": {"L": [{"N": "1.5"}]}}})
    orders.update("a", "SET n = :n", n={"N": "10.0"})
    orders.update("a", "REMOVE nothing")
    assert orders.events() == [("INSERT", "a")]
    orders.put("a", n={"S": "10"}, tags={"SS": ["x", "y"]}, deep={"M": {"l": {"L": [{"N": "1.5"}]}}})
    assert orders.events()[1:] == [("MODIFY", "a")], "another type is another value"


def test_numbers_come_back_as_the_service_gives_them(orders):
    orders.put("a", n={"N": "1.50"}, m={"NS": ["1E2", "-0.0"]}, z={"N": "0.00"}, t={"N": "1E-3"})
    item = {"n": {"N": "1.5"}, "m": {"NS": ["100", "0"]}, "z": {"N": "0"}, "t": {"N": "0.001"}, "id": {"S": "a"}}
    assert orders.records()[0]["dynamodb"]["NewImage"] == item
    assert orders.tables.get_item(TableName="orders", Key={"id": {"S": "a"}})["Item"] == item
    with refused("ValidationException"):
        orders.put("b", n={"N": "many"})


def test_binary_comes_back_as_it_went(orders):
    blob = {
        "b": {"B": b"\x00\xff"},
        "bs": {"BS": [b"1", b"2"]},
        "l": {"L": [{"B": b"x"}]},
        "m": {"M": {"B": {"B": b"y"}}},
    }
    orders.put("a", **blob)
    assert orders.records()[0]["dynamodb"]["NewImage"] == {"id": {"S": "a"}, **blob}


def test_one_record_a_changed_item_of_a_batch_and_of_a_transaction(orders):
    orders.put("gone")
    writes = [{"PutRequest": {"Item": {"id": {"S": key}}}} for key in "ab"]
    writes.append({"DeleteRequest": {"Key": {"id": {"S": "gone"}}}})
    orders.tables.batch_write_item(RequestItems={"orders": writes})
    named = {"TableName": "orders"}
    setting = {"UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "1"}}}
    actions = [
        {"Put": {**named, "Item": {"id": {"S": "c"}}}},
        {"Update": {**named, "Key": {"id": {"S": "a"}}, **setting}},
        {"Delete": {**named, "Key": {"id": {"S": "b"}}}},
        {"ConditionCheck": {**named, "Key": {"id": {"S": "x"}}, "ConditionExpression": "attribute_not_exists(id)"}},
    ]
    orders.tables.transact_write_items(TransactItems=actions)
    assert sorted(orders.events()[1:4]) == [("INSERT", "a"), ("INSERT", "b"), ("REMOVE", "gone")]
    assert sorted(orders.events()[4:]) == [("INSERT", "c"), ("MODIFY", "a"), ("REMOVE", "b")]


def test_what_fails_is_not_told(orders):
    orders.put("a")
    with refused("ConditionalCheckFailedException"):
        orders.tables.put_item(
            TableName="orders", Item={"id": {"S": "a"}, "n": {"N": "1"}}, ConditionExpression="attribute_not_exists(id)"
        )
    never = {"TableName": "orders", "Key": {"id": {"S": "x"}}, "ConditionExpression": "attribute_exists(id)"}
    with refused("TransactionCanceledException"):
        orders.tables.transact_write_items(
            TransactItems=[{"Put": {"TableName": "orders", "Item": {"id": {"S": "b"}}}}, {"ConditionCheck": never}]
        )
    twice = [{"PutRequest": {"Item": {"id": {"S": "c"}}}}, {"DeleteRequest": {"Key": {"id": {"S": "c"}}}}]
    with refused("ValidationException", match="duplicates"):
        orders.tables.batch_write_item(RequestItems={"orders": twice})
    assert orders.events() == [("INSERT", "a")]
    assert orders.tables.scan(TableName="orders")["Count"] == 1


def test_a_batch_has_25_writes_at_most(orders):
    writes = [{"PutRequest": {"Item": {"id": {"S": str(number)}}}} for number in range(26)]
    with refused("ValidationException", match="less than or equal to 25"):
        orders.tables.batch_write_item(RequestItems={"orders": writes})
    orders.tables.batch_write_item(RequestItems={"orders": writes[:25]})
    assert len(orders.records()) == 25


@pytest.mark.parametrize(
    "view,images",
    [
        ("KEYS_ONLY", set()),
        ("NEW_IMAGE", {"NewImage"}),
        ("OLD_IMAGE", {"OldImage"}),
        ("NEW_AND_OLD_IMAGES", {"NewImage", "OldImage"}),
    ],
)
def test_the_view_type_chooses_the_images(sim, view, images):
    orders = Orders(sim, view)
    orders.put("a")
    orders.put("a", n={"N": "1"})
    change = orders.records()[1]["dynamodb"]
    assert {"NewImage", "OldImage"} & change.keys() == images
    assert change["StreamViewType"] == view
    assert change["Keys"] == {"id": {"S": "a"}}


def test_sizes_are_the_services_own():
    # The examples of the Developer Guide.
    numeric = KEYS | {"AttributeDefinitions": [{"AttributeName": "Id", "AttributeType": "N"}]}
    numeric["KeySchema"] = [{"AttributeName": "Id", "KeyType": "HASH"}]
    with Simulator(table=None, ids="service") as sim:
        orders = Orders(sim, **numeric)
        key = {"Id": {"N": "101"}}
        orders.tables.put_item(TableName="orders", Item={**key, "Message": {"S": "New item!"}})
        orders.tables.put_item(TableName="orders", Item={**key, "Message": {"S": "This item has changed"}})
        orders.tables.delete_item(TableName="orders", Key=key)
        assert [record["dynamodb"]["SizeBytes"] for record in orders.records()] == [26, 59, 38]


def test_a_table_may_have_a_sort_key(sim):
    schema = [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]
    attributes = [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "at", "AttributeType": "N"}]
    orders = Orders(sim, KeySchema=schema, AttributeDefinitions=attributes)
    for at in ("1", "2", "1"):
        orders.put("a", at={"N": at})
    keys = [record["dynamodb"]["Keys"] for record in orders.records()]
    assert keys == [{"id": {"S": "a"}, "at": {"N": "1"}}, {"id": {"S": "a"}, "at": {"N": "2"}}]
    description = orders.streams.describe_stream(StreamArn=orders.arn)["StreamDescription"]
    assert description["KeySchema"] == schema


def test_history_is_the_truth_of_a_table_as_plain_values(sim, orders):
    orders.put("a", n={"N": "1.5"}, b={"B": b"x"}, s={"SS": ["y"]})
    orders.delete("a")
    insert, remove = sim.table("orders").history
    assert insert.new == {"id": "a", "n": 1.5, "b": b"x", "s": {"y"}}
    assert (remove.old, remove.new, remove.event_name) == (insert.new, None, "REMOVE")
    with pytest.raises(LookupError, match="orders"):
        sim.table("nobody")


def test_a_table_made_by_hand_takes_items_too():
    with Simulator("S0 => {S1, S2}") as sim:
        tables = sim.client("dynamodb")
        for number in range(20):
            tables.put_item(TableName="users", Item={"id": {"S": str(number)}})
        assert len(sim.history) == 20
        assert {record.shard_id for record in sim.history} == {"S1", "S2"}
        tables.delete_item(TableName=sim.table_arn, Key={"id": {"S": "7"}})
        assert sim.history[-1].key == {"id": "7"}
        assert sim.history[-1].shard_id == sim.history[7].shard_id


def test_faults_meet_table_calls_too(sim, orders):
    sim.fault("PutItem", kind="throttle")
    with refused("ThrottlingException"):
        orders.put("a")
    sim.fault("PutItem", kind="reset")
    with pytest.raises(Exception, match="Connection was closed"):
        orders.put("b")
    assert orders.events() == [("INSERT", "b")], "written, though nobody was told"
    assert sim.calls.of("PutItem")[-1].table == "orders"


def test_an_unknown_table_is_not_found(orders):
    for call in (
        lambda: orders.tables.put_item(TableName="nobody", Item={"id": {"S": "a"}}),
        lambda: orders.tables.describe_table(TableName="nobody"),
        lambda: orders.tables.delete_table(TableName="nobody"),
        lambda: orders.tables.describe_time_to_live(TableName="nobody"),
    ):
        with refused("ResourceNotFoundException"):
            call()


def test_a_name_is_taken_once_and_has_three_characters(sim, orders):
    with refused("ResourceInUseException", match="orders"):
        Orders(sim)
    with refused("ValidationException", match="at least 3 characters"):
        orders.tables.create_table(TableName="xy", **KEYS)


def test_conditions_say_which_item_they_met(orders):
    orders.put("a", n={"N": "1"})
    with pytest.raises(ClientError) as caught:
        orders.tables.put_item(
            TableName="orders",
            Item={"id": {"S": "a"}},
            ConditionExpression="attribute_not_exists(id)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    response: Any = caught.value.response
    assert response["Item"]["n"] == {"N": "1"}


def test_a_delete_answers_nothing_unless_asked(sim, orders):
    bodies: list[bytes] = []
    orders.tables.meta.events.register(
        "before-parse.dynamodb.DeleteItem", lambda response_dict, **_: bodies.append(response_dict["body"])
    )
    orders.delete("nobody")
    assert bodies == [b"{}"]


def test_what_is_copied_within_an_item_is_a_value_of_its_own(orders):
    inner = {"M": {"b": {"N": "1"}}}
    orders.put("a", cur={"M": {"x": inner}}, tags={"SS": ["s"]}, many={"L": [inner]})
    orders.update("a", "SET past = cur, twice = cur.x, cur.y = cur.x, more = tags, cur.x.b = :n", n={"N": "2"})
    orders.update("a", "SET cur.x.b = :n, cur.y.c = :n ADD tags :t", n={"N": "3"}, t={"SS": ["t"]})
    orders.update("a", "SET longer = list_append(many, many)")
    orders.update("a", "SET longer[0].b = :n", n={"N": "4"})
    item = orders.tables.get_item(TableName="orders", Key={"id": {"S": "a"}})["Item"]
    assert item["past"] == {"M": {"x": inner}}
    assert item["twice"] == inner
    assert item["cur"] == {"M": {"x": {"M": {"b": {"N": "3"}}}, "y": {"M": {"b": {"N": "1"}, "c": {"N": "3"}}}}}
    assert item["more"] == {"SS": ["s"]}
    assert item["many"] == {"L": [inner]}
    assert item["longer"] == {"L": [{"M": {"b": {"N": "4"}}}, inner]}
    assert orders.records()[-1]["dynamodb"]["NewImage"] == item


@pytest.mark.parametrize(
    "expression, words",
    [
        ("SET n = :v, n = :v", r": Invalid UpdateExpression: Two document paths overlap with each other"),
        ("SET n = :v SET q = :v", r': Invalid UpdateExpression: The "SET" section can only be used once'),
    ],
)
def test_expressions_that_cannot_be_are_refused_in_the_service_s_words(orders, expression, words):
    with refused("ValidationException", r"\)" + words):
        orders.update("a", expression, v={"N": "1"})
