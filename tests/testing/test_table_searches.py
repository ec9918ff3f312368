"""Searches: Query and Scan over tables and indexes: order, pages, segments, projections, and what they refuse."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing.expressions.values import sort_key
from streamiter.testing.tables.places import following, part, place_of, segment_bounds
from tests.testing.readers import refused
from tests.testing.test_table_calls import N, S, Things, keys

numbers = st.decimals(min_value=Decimal(-(10**20)), max_value=Decimal(10**20), places=6).map(
    lambda number: {"N": format(number.normalize(), "f")}
)
texts = st.text(st.characters(codec="utf-8"), max_size=4).map(lambda text: {"S": text})
binary = st.binary(max_size=4).map(lambda inner: {"B": inner})


@pytest.fixture
def things(sim) -> Things:
    made = Things(sim)
    for number in range(10):
        item = {"p": S("a" if number < 7 else "b"), "c": N(number), "x": N(number * number), "y": S("y")}
        made.put_item(Item=item | {"g": S(f"g{number % 2}"), "k": S(f"k{9 - number}")})
    return made


@given(st.one_of(*(st.tuples(kind, kind) for kind in (numbers, texts, binary))))
def test_places_sort_as_values_do(pair):
    one, other = pair
    assert (part(one) < part(other)) == (sort_key(one) < sort_key(other))
    assert (part(one) == part(other)) == (sort_key(one) == sort_key(other))
    assert part(one) < following(part(one))
    assert part(one) + b"\xff" * 4 < following(part(one))


@given(st.integers(1, 1000), texts)
def test_each_place_is_in_one_segment(total, key):
    place = place_of([key])
    bounds = [segment_bounds(segment, total) for segment in range(total)]
    assert sum(low <= place < high for low, high in bounds) == 1


def numbered(answer: dict[str, Any]) -> list[int]:
    return [int(item["c"]["N"]) for item in answer["Items"]]


def query(things: Things, condition: str, **more: Any) -> dict[str, Any]:
    values = {f":{name}": value for name, value in more.pop("values", {"p": S("a")}).items()}
    answer = things.query(KeyConditionExpression=condition, ExpressionAttributeValues=values, **more)
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize(
    "condition, found",
    [
        ("p = :p", [0, 1, 2, 3, 4, 5, 6]),
        (":p = p AND c < :c", [0, 1, 2]),
        ("p = :p AND c <= :c", [0, 1, 2, 3]),
        ("c > :c AND p = :p", [4, 5, 6]),
        ("(p = :p) AND (:c <= c)", [3, 4, 5, 6]),
        ("p = :p AND c BETWEEN :c AND :d", [3, 4, 5]),
        ("p = :p AND c = :c", [3]),
    ],
)
def test_a_query_looks_through_one_stretch_in_order(things, condition, found):
    values = {"p": S("a"), "c": N(3), "d": N(5)}
    used = {name: value for name, value in values.items() if f":{name}" in condition}
    assert numbered(query(things, condition, values=used)) == found
    assert numbered(query(things, condition, values=used, ScanIndexForward=False)) == found[::-1]


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("index", [None, "by-k", "by-g"])
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_together_are_the_whole(things, forward, index, limit):
    place = {} if index is None else {"IndexName": index}
    condition, values = ("g = :p", {"p": S("g1")}) if index == "by-g" else ("p = :p", {"p": S("a")})
    whole = query(things, condition, values=values, ScanIndexForward=forward, **place)["Items"]
    assert len(whole) == (5 if index == "by-g" else 7)
    found: list[Any] = []
    start: dict[str, Any] = {}
    while True:
        page = query(things, condition, values=values, ScanIndexForward=forward, Limit=limit, **place, **start)
        assert page["Count"] == page["ScannedCount"] == len(page["Items"]) <= limit
        found += page["Items"]
        if "LastEvaluatedKey" not in page:
            break
        assert page["LastEvaluatedKey"].keys() == {"p", "c"} | ({index[-1]} if index else set())
        things.delete_item(Key={"p": S("zz"), "c": N(1)})
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert found == whole


def test_segments_of_a_scan_are_the_whole_and_each_goes_on_from_its_own(sim):
    made = Things(sim)
    for number in range(40):
        made.put_item(Item={"p": S(str(number)), "c": N(1)})
    found: list[str] = []
    for segment in range(3):
        start: dict[str, Any] = {}
        while True:
            page = made.scan(Segment=segment, TotalSegments=3, Limit=4, **start)
            found += [item["p"]["S"] for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                break
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
            with refused("ValidationException", "Please use ExclusiveStartKey with correct Segment"):
                made.scan(Segment=(segment + 1) % 3, TotalSegments=3, **start)
    assert sorted(found) == sorted(map(str, range(40)))


def test_a_filter_keeps_some_of_what_was_looked_at(things):
    page = query(things, "p = :p", FilterExpression="x > :x", values={"p": S("a"), "x": N(4)}, Limit=4)
    assert (page["Count"], page["ScannedCount"], numbered(page)) == (1, 4, [3])
    assert "Items" not in things.scan(Select="COUNT")
    assert things.scan(Select="COUNT")["Count"] == 10


def test_an_index_has_what_it_projects(things):
    by_g = query(things, "g = :p", IndexName="by-g", values={"p": S("g1")})["Items"]
    assert all(item.keys() == {"p", "c", "g"} for item in by_g)
    by_k = {"IndexName": "by-k", "values": {"p": S("a"), "k": S("k9")}}
    [item] = query(things, "p = :p AND k = :k", **by_k)["Items"]
    assert item.keys() == {"p", "c", "k", "x"}
    by_k = {"IndexName": "by-k", "values": {"p": S("a"), "k": S("k9")}}
    [item] = query(things, "p = :p AND k = :k", **by_k, Select="ALL_ATTRIBUTES")["Items"]
    assert item.keys() == {"p", "c", "k", "x", "y", "g"}
    with refused("ValidationException", r"Global secondary index by-g does not project \[y\]"):
        query(things, "g = :p", IndexName="by-g", ProjectionExpression="y")
    with refused("ValidationException", "because its projection type is not ALL"):
        query(things, "g = :p", IndexName="by-g", Select="ALL_ATTRIBUTES")
    with refused("ValidationException", "Consistent reads are not supported on global secondary indexes"):
        things.scan(IndexName="by-g", ConsistentRead=True)


def test_a_page_has_a_megabyte(sim):
    made = Things(sim)
    for number in range(5):
        made.put_item(Item={"p": S("a"), "c": N(number), "x": S("x" * 300_000)})
    page = made.scan()
    assert page["Count"] == 4
    assert numbered(made.scan(ExclusiveStartKey=page["LastEvaluatedKey"])) == [4]


def test_an_index_made_later_has_what_was_there_already(things):
    definitions = [{"AttributeName": "x", "AttributeType": "N"}]
    index = {"IndexName": "by-x", "KeySchema": keys("x"), "Projection": {"ProjectionType": "ALL"}}
    made = things.update_table(AttributeDefinitions=definitions, GlobalSecondaryIndexUpdates=[{"Create": index}])
    assert [one["IndexStatus"] for one in made["TableDescription"]["GlobalSecondaryIndexes"]] == ["ACTIVE", "CREATING"]
    [item] = query(things, "x = :p", IndexName="by-x", values={"p": N(16)})["Items"]
    assert item["c"] == N(4)
    told = {one["IndexName"]: one for one in things.describe_table()["Table"]["GlobalSecondaryIndexes"]}
    assert told["by-x"]["ItemCount"] == 10
    assert told["by-x"]["IndexArn"].endswith(":table/things/index/by-x")
    with refused("ValidationException", "Attempting to create an index which already exists"):
        things.update_table(AttributeDefinitions=definitions, GlobalSecondaryIndexUpdates=[{"Create": index}])
    things.update_table(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-x"}}])
    with refused("ValidationException", "The table does not have the specified index: by-x"):
        query(things, "x = :p", IndexName="by-x")
    with refused("ResourceNotFoundException"):
        things.update_table(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-x"}}])


@pytest.mark.parametrize("call", ["query", "scan"])
def test_a_start_of_no_value_is_told_as_the_start(things, call):
    start = {"p": {"S": "a"}, "c": {"N": "one"}}
    asked = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": S("a")}} if call == "query" else {}
    words = "The provided starting key is invalid: The parameter cannot be converted to a numeric value: one"
    with refused("ValidationException", words):
        getattr(things, call)(ExclusiveStartKey=start, **asked)
