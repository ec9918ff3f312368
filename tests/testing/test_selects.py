"""Selects: pages, orders and what they consume, by PartiQL's statements."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.readers import refused
from tests.testing.tables import Orders
from tests.testing.test_statements import run


@pytest.fixture
def lines(orders: Orders) -> Orders:
    """A table `lines` of two partitions, with an index by g."""
    names = [{"AttributeName": name, "AttributeType": kind} for name, kind in (("id", "S"), ("n", "N"), ("g", "S"))]
    orders.tables.create_table(
        TableName="lines",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
        AttributeDefinitions=names,
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-g",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    for number in range(5):
        for key in "ab":
            item = {"id": {"S": key}, "n": {"N": str(number)}, "g": {"S": "x"}, "odd": {"BOOL": number % 2 == 1}}
            orders.tables.put_item(TableName="lines", Item=item)
    return orders


def numbers(items: list[dict[str, Any]]) -> list[str]:
    return [item["n"]["N"] for item in items]


@pytest.mark.parametrize(
    "where, found",
    [
        ("id = 'a'", "01234"),
        ("id = 'a' ORDER BY n DESC", "43210"),
        ("id = 'a' AND n > 1 ORDER BY n ASC", "234"),
        ("id = 'a' AND n BETWEEN 1 AND 3 AND odd = true", "13"),
        ("n IN [1, 4] AND id = 'a'", "14"),
        ("id = 'a' AND NOT n = 1", "0234"),
        ("id = 'a' AND n > 1 AND n < 4", "23"),
        ("id = 'a' AND (n = 1 OR odd = false)", "0124"),
    ],
)
def test_a_select_of_a_partition(lines, where, found):
    assert "".join(numbers(run(lines, f"SELECT n FROM lines WHERE {where}"))) == found


def test_a_nested_value_goes_by_its_last_name(lines):
    deep = {"x": {"N": "1"}, "l": {"L": [{"S": "first"}, {"S": "second"}]}}
    item = {"id": {"S": "deep"}, "n": {"N": "0"}, "m": {"M": deep}}
    lines.tables.put_item(TableName="lines", Item=item)
    select = "SELECT n, m.x, m.l[1], m.none FROM lines WHERE id = 'deep' AND n = 0"
    expected = {"n": {"N": "0"}, "x": {"N": "1"}, "_3": {"S": "second"}}
    assert run(lines, select) == [expected]
    asked = [{"Statement": select}]
    assert lines.tables.batch_execute_statement(Statements=asked)["Responses"][0]["Item"] == expected
    assert lines.tables.execute_transaction(TransactStatements=asked)["Responses"] == [{"Item": expected}]


def test_an_index_is_a_partition_s_too(lines):
    found = run(lines, "SELECT * FROM lines.\"by-g\" WHERE g = 'x' AND n >= 3 ORDER BY n DESC")
    assert numbers(found) == ["4", "4", "3", "3"]
    with refused("ValidationException", "Consistent reads are not supported"):
        run(lines, "SELECT * FROM lines.\"by-g\" WHERE g = 'x'", ConsistentRead=True)
    with refused("ValidationException", "does not have the specified index: by-h"):
        run(lines, "SELECT * FROM lines.\"by-h\" WHERE h = 'x'")


@pytest.mark.parametrize(
    "statement, words",
    [
        ("SELECT * FROM lines ORDER BY n", "at least one non-optional hash key condition"),
        ("SELECT * FROM lines WHERE id = 'a' ORDER BY odd", "must be part of the primary key"),
        ("SELECT * FROM lines WHERE id = 1", "Condition parameter type does not match schema type"),
        ("SELECT * FROM lines WHERE id = 'a' AND f()", "Syntax error"),
        ("SELEKT * FROM lines", "unexpected 'SELEKT'"),
    ],
)
def test_a_select_that_cannot_be(lines, statement, words):
    with refused("ValidationException", words):
        run(lines, statement)


@pytest.mark.parametrize("statement", ["SELECT n FROM lines", "SELECT n FROM lines WHERE id = 'a' ORDER BY n DESC"])
def test_a_select_goes_on_where_its_page_ended(lines, statement):
    whole = numbers(run(lines, statement))
    found: list[str] = []
    more: dict[str, Any] = {}
    while True:
        page = lines.tables.execute_statement(Statement=statement, Limit=3, **more)
        assert len(page["Items"]) <= 3
        found += numbers(page["Items"])
        if "NextToken" not in page:
            break
        assert page["LastEvaluatedKey"].keys() == {"id", "n"}
        more = {"NextToken": page["NextToken"]}
    assert found == whole
    for other, token in (("SELECT * FROM lines", more["NextToken"]), (statement, "AAAA"), (statement, "x")):
        with refused("ValidationException", "NextToken"):
            lines.tables.execute_statement(Statement=other, NextToken=token)


def test_what_statements_consumed(lines):
    def consumed(statement: str, **more: Any) -> float:
        answer = lines.tables.execute_statement(Statement=statement, ReturnConsumedCapacity="TOTAL", **more)
        return answer["ConsumedCapacity"]["CapacityUnits"]

    whole = "SELECT * FROM lines WHERE id = 'a' AND n = 1"
    assert consumed(whole) == 0.5
    assert consumed(whole, ConsistentRead=True) == 1
    assert consumed("UPDATE lines SET q = 1 WHERE id = 'a' AND n = 1") == 2  # the index has it, too
    asked = {"Statements": [{"Statement": whole}, {"Statement": whole, "ConsistentRead": True}]}
    batch = lines.tables.batch_execute_statement(**asked, ReturnConsumedCapacity="TOTAL")
    assert [one["CapacityUnits"] for one in batch["ConsumedCapacity"]] == [0.5, 1]
    both = {"TransactStatements": [{"Statement": whole}, {"Statement": whole.replace("'a'", "'b'")}]}
    [told] = lines.tables.execute_transaction(**both, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert told["CapacityUnits"] == 4


def test_a_select_among_others_names_its_item(lines):
    whole = "SELECT n FROM lines WHERE id = 'a' AND n = 1"
    part = "SELECT n FROM lines WHERE id = 'a'"
    words = "must specify the primary key in the where clause"
    [one, other, wrong] = lines.tables.batch_execute_statement(
        Statements=[{"Statement": whole}, {"Statement": part}, {"Statement": "nonsense"}]
    )["Responses"]
    assert one["Item"] == {"n": {"N": "1"}}
    assert other["Error"]["Code"] == "ValidationError" and words in other["Error"]["Message"]
    assert wrong["Error"]["Code"] == "ValidationError"
    with refused("ValidationException", words):
        lines.tables.execute_transaction(TransactStatements=[{"Statement": part}])
    with refused("ValidationException", "multiple operations on one item"):
        lines.tables.execute_transaction(TransactStatements=[{"Statement": whole}, {"Statement": whole}])
