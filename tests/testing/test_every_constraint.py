"""Every constraint of the service's description, broken once in each request of DynamoDB's tables: refused, in its words."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from streamiter.testing.http.descriptions import description
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.http.shapes import _LISTED, check

NAME = "#name"
DEEPEST = 9
LONGEST = 100_000
MOST = 1000

WRONG: dict[str, list[Any]] = {
    "string": [1, True, [], {}],
    "structure": ["x", 1, []],
    "list": ["x", {}, 1],
    "map": ["x", [], 1],
    "boolean": ["x", 1, []],
    "integer": ["x", True, 1.5, {}],
    "long": ["x", True, {}],
    "double": ["x", {}],
    "timestamp": ["x", {}],
    "blob": [1, {}],
}


class Broken(NamedTuple):
    """A request that breaks one constraint, and what it is told for that."""

    body: Any
    error: str
    words: str


def shape(name: str) -> dict[str, Any]:
    return dict(description("dynamodb")["shapes"][name])


def sample(name: str) -> Any:
    """The least that a shape takes."""
    one = shape(name)
    if name == "AttributeValue":
        return {"S": "a"}
    if one["type"] == "structure":
        members = one["members"].items()
        return {member: sample(part["shape"]) for member, part in members if member in one.get("required", ())}
    if one["type"] == "list":
        return [sample(one["member"]["shape"])] * max(1, one.get("min", 1))
    if one["type"] == "map":
        return {NAME: sample(one["value"]["shape"])}
    if "enum" in one:
        return one["enum"][0]
    texts = {"string": "abc".ljust(one.get("min", 3), "x"), "blob": "YWJj"}
    return texts.get(one["type"], True if one["type"] == "boolean" else max(1, one.get("min", 1)))


def below(name: str) -> dict[str | int, str]:
    """The shapes of a shape's parts, by the steps to them."""
    one = shape(name)
    if name == "AttributeValue" or one["type"] not in ("structure", "list", "map"):
        return {}
    if one["type"] == "structure":
        return {member: part["shape"] for member, part in one["members"].items()}
    return {0: one["member"]["shape"]} if one["type"] == "list" else {NAME: one["value"]["shape"]}


def places(name: str, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    yield path, name
    if len(path) < DEEPEST:
        for step, part in below(name).items():
            yield from places(part, (*path, step))


def with_part(name: str, path: tuple[str | int, ...], value: Any) -> Any:
    """A sample that has a value at a place."""
    if not path:
        return value
    whole = copy.deepcopy(sample(name))
    first, *others = path
    whole[first] = with_part(below(name)[first], tuple(others), value)
    return whole


def wrong_values(name: str) -> Iterator[tuple[Any, str, str]]:
    one = shape(name)
    kind = one["type"]
    for value in WRONG.get(kind, ()):
        yield value, "SerializationException", ""
    least, most = one.get("min", 0), one.get("max", MOST)
    if kind in ("string", "list"):
        filling = "x" if kind == "string" else [sample(one["member"]["shape"])]
        if least:
            yield filling * (least - 1), "ValidationException", f"{least}"
        if one.get("max", LONGEST) < (LONGEST if kind == "string" else MOST):
            yield filling * (most + 1), "ValidationException", f"{most}"
    if kind in ("integer", "long"):
        for limit, beyond in (("min", -1), ("max", 1)):
            if limit in one:
                yield one[limit] + beyond, "ValidationException", f"than or equal to {one[limit]}"
    if "enum" in one:
        yield "NOPE", "ValidationException", "Member must satisfy enum value set: ["
    if "pattern" in one and "$" not in one["pattern"]:
        yield "a b;\u00e9\x01", "ValidationException", "Member must satisfy regular expression pattern: "


def broken_requests(operation: str) -> Iterator[Broken]:
    whole = description("dynamodb")["operations"][operation]["input"]["shape"]
    for path, name in places(whole):
        for value, error, words in wrong_values(name) if path else ():
            yield Broken(with_part(whole, path, value), error, words)
        for member in shape(name).get("required", ()) if name != "AttributeValue" else ():
            lacking = {key: value for key, value in sample(name).items() if key != member}
            yield Broken(with_part(whole, path, lacking), "ValidationException", "Member must not be null")


@pytest.mark.parametrize("operation", sorted(description("dynamodb")["operations"]))
def test_every_constraint_holds(operation):
    for broken in broken_requests(operation):
        with pytest.raises(Refusal) as told:
            check("dynamodb", operation, broken.body)
        assert (told.value.name, told.value.status) == (broken.error, 400), broken
        assert broken.words in told.value.message, broken
        if broken.error == "ValidationException":
            assert "validation error" in told.value.message and "failed to satisfy constraint: M" in told.value.message


def test_some_are_told_at_once():
    with pytest.raises(Refusal) as told:
        check("dynamodb", "Scan", {"TableName": "", "Limit": 0, "Select": "SOME", "Segment": -1})
    assert told.value.message.startswith("4 validation errors detected: Value '' at 'tableName' failed to satisfy ")


def test_a_wrong_type_comes_before_a_wrong_value():
    with pytest.raises(Refusal, match="SerializationException"):
        check("dynamodb", "Scan", {"TableName": "", "Limit": "1"})


def test_a_map_tells_of_all_its_values_at_once():
    with pytest.raises(Refusal) as told:
        check("dynamodb", "BatchWriteItem", {"RequestItems": {"one": [], "two": []}})
    assert told.value.message == (
        "1 validation error detected: Value '{one=[], two=[]}' at 'requestItems' failed to satisfy constraint: "
        "Map value must satisfy constraint: [Member must have length less than or equal to 25, "
        "Member must have length greater than or equal to 1]"
    )


@pytest.mark.parametrize(
    "operation, body, listed",
    [
        ("Scan", {"Select": "ALL"}, "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]"),
        ("Scan", {"ReturnConsumedCapacity": "ALL"}, "[INDEXES, TOTAL, NONE]"),
        ("CreateTable", {"BillingMode": "NONE"}, "[PROVISIONED, PAY_PER_REQUEST]"),
        ("UpdateItem", {"Key": {}, "ReturnValues": "ALL"}, "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"),
    ],
)
def test_what_may_be_is_listed_in_the_service_s_order(operation, body, listed):
    with pytest.raises(Refusal) as told:
        check("dynamodb", operation, {"TableName": "things", **body})
    assert told.value.message.endswith(f"Member must satisfy enum value set: {listed}")


@pytest.mark.parametrize("name", sorted(_LISTED))
def test_the_service_s_order_lacks_nothing(name):
    services = (description(service)["shapes"] for service in ("dynamodb", "dynamodbstreams", "kinesis"))
    [*known] = (shapes[name]["enum"] for shapes in services if name in shapes)
    assert sorted(_LISTED[name]) in list(map(sorted, known))
