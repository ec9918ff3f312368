"""Statements of PartiQL: what they write, and are refused, is told like any other write."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.tables import Orders


def run(orders: Orders, statement: str, *parameters: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    given = {"Parameters": list(parameters)} if parameters else {}
    return orders.tables.execute_statement(Statement=statement, **given, **more)["Items"]


def history(orders: Orders) -> list[tuple[str, Any, Any]]:
    return [(record.event_name, record.old, record.new) for record in orders.sim.table("orders").history]


@pytest.fixture
def ann(orders: Orders) -> Orders:
    """A table with one item."""
    item = {"n": {"N": "1"}, "m": {"M": {"deep": {"L": [{"S": "x"}]}}}, "tags": {"SS": ["a", "b"]}}
    orders.put("ann", **item)
    orders.sim.table("orders").history.clear()
    return orders


# -- one by one


@pytest.mark.parametrize(
    "statement, parameters",
    [
        ("INSERT INTO orders VALUE {'id': 'a', 'n': 2.5, 't': true, 'z': null}", []),
        ("insert into \"orders\" value {'id':'a','n':2.50,'t':TRUE,'z':NULL};", []),
        ("INSERT INTO \"orders\" VALUE {'id': ?, 'n': ?, 't': true, 'z': null}", [{"S": "a"}, {"N": "2.5"}]),
        (
            "INSERT INTO orders VALUE ?",
            [{"M": {"id": {"S": "a"}, "n": {"N": "2.5"}, "t": {"BOOL": True}, "z": {"NULL": True}}}],
        ),
    ],
)
def test_an_insert(orders, statement, parameters):
    assert run(orders, statement, *parameters) == []
    assert history(orders) == [("INSERT", None, {"id": "a", "n": Decimal("2.5"), "t": True, "z": None})]


def test_values_of_every_kind(orders):
    run(
        orders,
        "INSERT INTO orders VALUE {'id': 'it''s', 'l': [-1, 'x', []], 'm': {'a': {}}, "
        "'s': <<'a', 'b'>>, 'ns': <<1, 2>>, 'b': ?}",
        {"B": b"\x00"},
    )
    [(_, _, new)] = history(orders)
    assert new == {
        "id": "it's",
        "l": [-1, "x", []],
        "m": {"a": {}},
        "s": {"a", "b"},
        "ns": {1, 2},
        "b": b"\x00",
    }


def test_an_insert_over_an_item_is_a_duplicate(ann):
    with refused("DuplicateItemException", "Duplicate primary key exists in table"):
        run(ann, "INSERT INTO orders VALUE {'id': 'ann'}")
    assert history(ann) == []


@pytest.mark.parametrize(
    "change, parameters, expected",
    [
        ("SET n=5", [], {"n": 5}),
        ("SET n = n + 4", [], {"n": 5}),
        ("SET n = n - 1, x = 'y'", [], {"n": 0, "x": "y"}),
        ("SET n = ? SET x = ?", [{"N": "5"}, {"S": "y"}], {"n": 5, "x": "y"}),
        ("SET m.deep[0] = 'z'", [], {"m": {"deep": ["z"]}}),
        ("SET m.deep = list_append(m.deep, ['z'])", [], {"m": {"deep": ["x", "z"]}}),
        ("SET tags = set_add(tags, <<'c'>>)", [], {"tags": {"a", "b", "c"}}),
        ("SET tags = set_delete(tags, <<'a'>>)", [], {"tags": {"b"}}),
        ("REMOVE m.deep[0]", [], {"m": {"deep": []}}),
    ],
)
def test_an_update(ann, change, parameters, expected):
    assert run(ann, f"UPDATE orders {change} WHERE id = ?", *parameters, {"S": "ann"}) == []
    [(event, old, new)] = history(ann)
    assert event == "MODIFY"
    assert new == old | expected


def test_an_update_that_changes_nothing_is_not_told(ann):
    run(ann, "UPDATE orders SET n=1.0 WHERE id='ann'")
    assert history(ann) == []


@pytest.mark.parametrize(
    "where",
    [
        "id='nobody'",
        "id='ann' AND n > 1",
        "id='ann' AND (n = 2 OR m IS MISSING)",
        "id='ann' AND NOT contains(tags, 'a')",
    ],
)
def test_an_update_of_nothing_fails(ann, where):
    with refused("ConditionalCheckFailedException"):
        run(ann, f"UPDATE orders SET n = 7 WHERE {where}")
    assert history(ann) == []


@pytest.mark.parametrize(
    "where",
    [
        "id='ann'",
        "n BETWEEN 0 AND 1 AND id='ann'",
        "id='ann' AND n IN [1, 2]",
        "id='ann' AND n IN (1, 2)",
        "id='ann' AND begins_with(m.deep[0], 'x') AND size(tags) = 2",
        "id='ann' AND m IS NOT MISSING AND n IS NOT NULL",
        "id='ann' AND attribute_type(n, 'N')",
    ],
)
def test_a_delete(ann, where):
    [item] = run(ann, f"DELETE FROM orders WHERE {where} RETURNING ALL OLD *")
    assert item["n"] == {"N": "1"}
    assert [event for event, _, _ in history(ann)] == ["REMOVE"]


def test_a_delete_of_nobody_succeeds_and_one_of_somebody_else_fails(ann):
    assert run(ann, "DELETE FROM orders WHERE id='nobody' AND n=1") == []
    with refused("ConditionalCheckFailedException"):
        run(ann, "DELETE FROM orders WHERE id='ann' AND n=2")
    assert history(ann) == []


@pytest.mark.parametrize(
    "returning, expected",
    [
        ("ALL OLD *", {"n": {"N": "1"}, "id": {"S": "ann"}}),
        ("ALL NEW *", {"n": {"N": "2"}, "id": {"S": "ann"}}),
        ("MODIFIED OLD *", {"n": {"N": "1"}}),
        ("MODIFIED NEW *", {"n": {"N": "2"}}),
    ],
)
def test_an_update_returns_what_is_asked_for(orders, returning, expected):
    orders.put("ann", n={"N": "1"})
    assert run(orders, f"UPDATE orders SET n=2 WHERE id='ann' RETURNING {returning}") == [expected]


def test_a_select_reads(ann):
    assert [item["id"] for item in run(ann, 'SELECT * FROM "orders"')] == [{"S": "ann"}]
    assert run(ann, "SELECT n, m.deep FROM orders WHERE id='ann'") == [{"n": {"N": "1"}, "deep": {"L": [{"S": "x"}]}}]
    assert run(ann, "SELECT * FROM orders WHERE id=? AND n <> 1", {"S": "ann"}) == []


@pytest.mark.parametrize(
    "statement, error, words",
    [
        ("FROB", "ValidationException", "wasn't well formed"),
        ("INSERT INTO orders VALUE 'a'", "ValidationException", "takes a tuple"),
        ("INSERT INTO orders VALUE {'id': 'a'", "ValidationException", "wasn't well formed"),
        ("INSERT INTO orders VALUE {'id': ?}", "ValidationException", "Number of parameters"),
        ("INSERT INTO orders VALUE {'n': 1}", "ValidationException", "Missing the key id"),
        ("INSERT INTO orders VALUE {'id': 'a', 'n': <<1, 1.0>>}", "ValidationException", "duplicates"),
        ("INSERT INTO nobody VALUE {'id': 'a'}", "ResourceNotFoundException", "Requested resource not found"),
        ("UPDATE orders WHERE id='ann'", "ValidationException", "wasn't well formed"),
        ("UPDATE orders SET n=1", "ValidationException", "mandatory equality on all key attributes"),
        ("UPDATE orders SET n=1 WHERE n=1", "ValidationException", "mandatory equality on all key attributes"),
        ("UPDATE orders SET id='b' WHERE id='ann'", "ValidationException", "part of the key"),
        ("DELETE FROM orders WHERE id='ann' OR n=1", "ValidationException", "mandatory equality"),
        ("DELETE FROM orders WHERE id='ann' n=1", "ValidationException", "wasn't well formed"),
        ("SELECT * FROM orders WHERE id='ann' ~", "ValidationException", "wasn't well formed"),
        ("SELECT * FROM orders WHERE id IN []", "ValidationException", "wasn't well formed"),
        ("SELECT * FROM orders WHERE " + "(" * 5000, "ValidationException", "nested too deep"),
    ],
)
def test_statements_are_refused(ann, statement, error, words):
    with refused(error, words):
        run(ann, statement)
    assert history(ann) == []


def test_too_many_parameters_are_refused(orders):
    with refused("ValidationException", "Number of parameters"):
        run(orders, "INSERT INTO orders VALUE {'id': 'a'}", {"S": "a"})


# -- several at once


def test_a_batch_writes_what_it_can(ann):
    statements = [
        "INSERT INTO orders VALUE {'id': 'bob'}",
        "INSERT INTO orders VALUE {'id': 'ann'}",
        "UPDATE orders SET n=2 WHERE id='nobody'",
        "UPDATE nobody SET n=2 WHERE id='ann'",
        "FROB",
        "DELETE FROM orders WHERE id='ann'",
    ]
    answer = ann.tables.batch_execute_statement(Statements=[{"Statement": statement} for statement in statements])
    codes = [response.get("Error", {}).get("Code") for response in answer["Responses"]]
    assert codes == [None, "DuplicateItem", "ConditionalCheckFailed", "ResourceNotFound", "ValidationError", None]
    assert [(event, (new or old)["id"]) for event, old, new in history(ann)] == [("INSERT", "bob"), ("REMOVE", "ann")]


def test_a_batch_reads_or_writes(ann):
    found = ann.tables.batch_execute_statement(
        Statements=[{"Statement": f"SELECT n FROM orders WHERE id='{key}'"} for key in ("ann", "nobody")]
    )
    assert [response.get("Item") for response in found["Responses"]] == [{"n": {"N": "1"}}, None]
    mixed = ["SELECT n FROM orders WHERE id='ann'", "DELETE FROM orders WHERE id='ann'"]
    with refused("ValidationException", "reads or writes"):
        ann.tables.batch_execute_statement(Statements=[{"Statement": statement} for statement in mixed])


def transact(orders: Orders, *statements: str, **more: Any) -> Any:
    return orders.tables.execute_transaction(
        TransactStatements=[{"Statement": statement} for statement in statements], **more
    )


def test_a_transaction_writes_all_or_nothing(ann):
    transact(
        ann,
        "EXISTS(SELECT * FROM orders WHERE id='ann' AND n=1)",
        "INSERT INTO orders VALUE {'id': 'bob'}",
    )
    assert [(event, new["id"]) for event, _, new in history(ann)] == [("INSERT", "bob")]
    with refused("TransactionCanceledException", r"\[None, DuplicateItem\]"):
        transact(ann, "UPDATE orders SET n=2 WHERE id='ann'", "INSERT INTO orders VALUE {'id': 'bob'}")
    with refused("TransactionCanceledException", r"\[ConditionalCheckFailed, None\]"):
        transact(ann, "EXISTS(SELECT * FROM orders WHERE id='ann' AND n=2)", "INSERT INTO orders VALUE {'id': 'cid'}")
    assert len(history(ann)) == 1


def test_a_transaction_is_done_once_for_its_token(ann):
    for _ in range(2):
        transact(ann, "UPDATE orders SET n=n+1 WHERE id='ann'", ClientRequestToken="one")
    assert [new["n"] for _, _, new in history(ann)] == [2]
    with refused("IdempotentParameterMismatchException"):
        transact(ann, "UPDATE orders SET n=n+2 WHERE id='ann'", ClientRequestToken="one")


def test_a_transaction_reads_too(ann):
    found = transact(ann, "SELECT n FROM orders WHERE id='ann'", "SELECT n FROM orders WHERE id='nobody'")
    assert found["Responses"] == [{"Item": {"n": {"N": "1"}}}, {}]
    with refused("ValidationException", "reads or writes"):
        transact(ann, "SELECT n FROM orders WHERE id='ann'", "DELETE FROM orders WHERE id='ann'")


def test_a_table_made_by_hand_takes_statements_too():
    with Simulator("S0") as sim:
        tables = sim.client("dynamodb")
        tables.execute_statement(Statement="INSERT INTO users VALUE {'id': 'ann'}")
        assert [record.new for record in sim.history] == [{"id": "ann"}]


def test_a_key_of_two_parts_is_named_whole(sim):
    sim.client("dynamodb").create_table(
        TableName="pairs",
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "c", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "pc"],
        BillingMode="PAY_PER_REQUEST",
    )
    tables = sim.client("dynamodb")
    tables.execute_statement(Statement="INSERT INTO pairs VALUE {'p': '1', 'c': '2'}")
    with refused("ValidationException", "all key attributes"):
        tables.execute_statement(Statement="DELETE FROM pairs WHERE p='1'")
    tables.execute_statement(Statement="DELETE FROM pairs WHERE c='2' AND p='1'")
    assert tables.scan(TableName="pairs")["Count"] == 0
