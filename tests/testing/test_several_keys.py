"""Several keys: a global index whose partition key and sort key are made up of up to four attributes each."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from streamiter.testing import Simulator
from tests.testing.readers import refused
from tests.testing.tables import Orders

KINDS = {"id": "S", "country": "S", "city": "S", "year": "N", "name": "S"}


def schema(*names: str, hashes: int = 2) -> list[dict[str, str]]:
    return [
        {"AttributeName": name, "KeyType": "HASH" if place < hashes else "RANGE"} for place, name in enumerate(names)
    ]


def index(*names: str, **more: Any) -> dict[str, Any]:
    return {"IndexName": "by-place", "KeySchema": schema(*names, **more), "Projection": {"ProjectionType": "ALL"}}


def definitions(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": KINDS.get(name, "S")} for name in names]


@pytest.fixture
def places() -> Any:
    with Simulator(table=None, ids="service") as sim:
        orders = Orders(
            sim,
            AttributeDefinitions=definitions(*KINDS),
            GlobalSecondaryIndexes=[index("country", "city", "year", "name")],
        )
        for country, city, year, name in product("ab", "xy", (2001, 2002, 2010), "pq"):
            key = f"{country}{city}{year}{name}"
            orders.put(key, country={"S": country}, city={"S": city}, year={"N": str(year)}, name={"S": name})
        orders.put("half", country={"S": "a"}, year={"N": "2001"}, name={"S": "p"})
        yield orders


def asked(condition: str, **values: Any) -> dict[str, Any]:
    return {
        "TableName": "orders",
        "IndexName": "by-place",
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": {f"#{name}": name for name in ("year", "name") if f"#{name}" in condition},
        "ExpressionAttributeValues": {f":{name}": value for name, value in values.items()},
    }


def query(orders: Orders, condition: str, *, limit: int = 100, **values: Any) -> list[str]:
    request = asked(condition, **values)
    if not request["ExpressionAttributeNames"]:
        del request["ExpressionAttributeNames"]
    found: list[str] = []
    while True:
        page = orders.tables.query(**request, Limit=limit)
        found += [item["id"]["S"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            return found
        assert page["LastEvaluatedKey"].keys() == set(KINDS)
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


PLACE = {"a": {"S": "a"}, "x": {"S": "x"}}
WHERE = "country = :a AND city = :x"


@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize(
    "more, values, found",
    [
        ("", {}, ["2001p", "2001q", "2002p", "2002q", "2010p", "2010q"]),
        (" AND #year = :y", {"y": {"N": "2002"}}, ["2002p", "2002q"]),
        (" AND #year > :y", {"y": {"N": "2001"}}, ["2002p", "2002q", "2010p", "2010q"]),
        (" AND #year = :y AND #name = :q", {"y": {"N": "2010"}, "q": {"S": "q"}}, ["2010q"]),
        (" AND #year = :y AND #name < :q", {"y": {"N": "2010"}, "q": {"S": "q"}}, ["2010p"]),
    ],
)
def test_a_query_names_the_whole_partition_and_the_sort_key_from_its_left(places, more, values, found, limit):
    assert query(places, WHERE + more, limit=limit, **PLACE, **values) == [f"ax{one}" for one in found]


@pytest.mark.parametrize(
    "condition, values, words",
    [
        ("country = :a", {"a": {"S": "a"}}, "missed key schema element: city"),
        ("city = :x", {"x": {"S": "x"}}, "missed key schema element: country"),
        ("country = :a AND city > :x", PLACE, "Query key condition not supported"),
        (f"{WHERE} AND #name = :q", {**PLACE, "q": {"S": "q"}}, "missed key schema element: year"),
        (f"{WHERE} AND #year > :y AND #name = :q", {**PLACE, "y": {"N": "1"}, "q": {"S": "q"}}, "not supported"),
    ],
)
def test_a_query_of_less_is_refused(places, condition, values, words):
    with refused("ValidationException", words):
        query(places, condition, **values)


def test_the_index_is_described_scanned_and_sparse(places):
    [told] = places.describe()["GlobalSecondaryIndexes"]
    assert told["KeySchema"] == schema("country", "city", "year", "name")
    assert told["ItemCount"] == 24
    segments = [
        places.tables.scan(TableName="orders", IndexName="by-place", Segment=segment, TotalSegments=3)["Count"]
        for segment in range(3)
    ]
    assert sum(segments) == 24
    places.delete("ax2001p")
    assert query(places, f"{WHERE} AND #year = :y", **PLACE, y={"N": "2001"}) == ["ax2001q"]


def test_statements_query_it_too(places):
    select = (
        "SELECT id FROM orders.\"by-place\" WHERE country = 'a' AND city = 'x' AND \"year\" = 2002 ORDER BY name DESC"
    )
    found = places.tables.execute_statement(Statement=select)["Items"]
    assert [item["id"]["S"] for item in found] == ["ax2002q", "ax2002p"]
    part = places.tables.execute_statement(Statement="SELECT id FROM orders.\"by-place\" WHERE country = 'a'")["Items"]
    assert len(part) == 12


@pytest.mark.parametrize(
    "keys, words",
    [
        (schema(*"abcde", hashes=5), "1 to 4 HASH and up to 4 RANGE"),
        (schema(*"abcdef", hashes=1), "1 to 4 HASH and up to 4 RANGE"),
        (schema(*"abc", hashes=2)[::-1], "HASH key elements come before"),
        (schema(*"aba", hashes=2), "have the same name"),
        (schema(*"abc", hashes=0), "1 to 4 HASH"),
    ],
)
def test_a_key_of_too_many_or_in_disorder(places, keys, words):
    create = {"IndexName": "by-more", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}
    with refused("ValidationException", words):
        places.tables.update_table(
            TableName="orders",
            AttributeDefinitions=definitions(*"abcdef"),
            GlobalSecondaryIndexUpdates=[{"Create": create}],
        )


def test_a_table_s_own_key_has_two_parts_at_most():
    with Simulator(table=None, ids="service") as sim, refused("ValidationException", "less than or equal to 2"):
        Orders(sim, KeySchema=schema("id", "a", "b", hashes=1), AttributeDefinitions=definitions("id", "a", "b"))
