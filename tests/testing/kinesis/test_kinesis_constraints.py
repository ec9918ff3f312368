"""Each rule of the service's description, broken on purpose, for each operation: what is refused, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from streamiter.testing.http.request import Request
from tests.indoors import IndoorSimulator
from tests.testing.kinesis.test_kinesis_mistakes import GOOD, MODEL

SHAPES = MODEL["shapes"]
WRONG_TYPES: dict[str, list[Any]] = {
    "string": [23, True, [], {}],
    "blob": [23, True, [], {}, "abc", "a*==", "aR=="],
    "integer": ["23", True, [], {}],
    "boolean": [23, "maybe", [], {}],
    "timestamp": ["soon", True, [], {}, 1e300],
    "list": ["23", 34.56, True, {}],
    "map": ["23", 34.56, True, []],
    "structure": ["23", 34.56, True, []],
}
UNSERVED = {name for name in MODEL["operations"] if "Channel" in name}


class Broken(NamedTuple):
    """A request with one mistake: where, and what its refusal says of it."""

    asked: dict[str, Any]
    error: str
    words: str


def broken(operation: str) -> Iterator[Broken]:
    """A request for each rule of each member."""
    name = MODEL["operations"][operation]["input"]["shape"]
    good = filled(name)
    for member, part in SHAPES[name]["members"].items():
        shape = SHAPES[part["shape"]]
        path = member[0].lower() + member[1:]
        for value in WRONG_TYPES[shape["type"]]:
            yield Broken(good | {member: value}, "SerializationException", "")
        for value, words in bad_values(shape):
            yield Broken(
                good | {member: value}, "ValidationException", f"at '{path}' failed to satisfy constraint: {words}"
            )
        if member in SHAPES[name].get("required", ()):
            without = {key: value for key, value in good.items() if key != member}
            yield Broken(without, "ValidationException", f"Value null at '{path}'")
            yield Broken(good | {member: None}, "ValidationException", f"Value null at '{path}'")


def filled(name: str) -> dict[str, Any]:
    """What a structure's required members may be, and who the stream is."""
    shape = SHAPES[name]
    asked = {member: GOOD[member] for member in shape.get("required", ())}
    for member in ("StreamName", "ShardCount"):
        if member in shape["members"] and name != "ListShardsInput":
            asked[member] = {"StreamName": "s", "ShardCount": 1}[member]
    return asked


def bad_values(shape: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    """Values of the right type that break a rule, and the rule in words."""
    kind = shape["type"]
    if kind == "integer":
        if "min" in shape:
            yield shape["min"] - 1, f"Member must have value greater than or equal to {shape['min']}"
        if "max" in shape:
            yield shape["max"] + 1, f"Member must have value less than or equal to {shape['max']}"
        return
    if kind == "string":
        if shape.get("min"):
            yield "", f"Member must have length greater than or equal to {shape['min']}"
        if 0 < shape.get("max", 0) <= 1 << 16:
            yield "a" * (shape["max"] + 1), f"Member must have length less than or equal to {shape['max']}"
        if "pattern" in shape:
            yield "!", f"Member must satisfy regular expression pattern: {shape['pattern']}"
        if "enum" in shape:
            yield "NONSENSE", "Member must satisfy enum value set: ["
    elif kind == "list":
        element = GOOD["Records"][0] if SHAPES[shape["member"]["shape"]]["type"] == "structure" else "ALL"
        yield [], f"Member must have length greater than or equal to {shape['min']}"
        yield [element] * (shape["max"] + 1), f"Member must have length less than or equal to {shape['max']}"
    elif kind == "map":
        yield {}, f"Member must have length greater than or equal to {shape['min']}"
        many = {str(number): "" for number in range(shape["max"] + 1)}
        yield many, f"Member must have length less than or equal to {shape['max']}"
        yield {"k" * 129: "v"}, "Map keys must satisfy constraint: [Member must have length less than or equal to 128"
        yield {"k": "v" * 257}, "Map value must satisfy constraint: [Member must have length less than or equal to 256"


def ask(sim: IndoorSimulator, operation: str, body: bytes) -> tuple[int, dict[str, Any]]:
    answer = sim._reception.answer(Request("POST", {"x-amz-target": f"Kinesis_20131202.{operation}"}, body))
    return answer.status, json.loads(answer.body or b"{}")


@pytest.fixture(scope="module")
def sim() -> Iterator[IndoorSimulator]:
    with IndoorSimulator(table=None, ids="service") as simulator:
        simulator.create_stream("s", "S0 ~ S1")
        yield simulator


@pytest.mark.parametrize("operation", sorted({*MODEL["operations"]} - UNSERVED))
def test_each_rule_that_is_broken_is_told(sim: IndoorSimulator, operation: str):
    before = len(sim._reception.kinesis.streams)
    for asked, error, words in broken(operation):
        status, told = ask(sim, operation, json.dumps(asked).encode())
        assert (status, told["__type"]) == (400, error), asked
        assert words in told.get("message", told.get("Message", "")), asked
    assert len(sim._reception.kinesis.streams) == before, "nothing was done"


@pytest.mark.parametrize("operation", sorted({*MODEL["operations"]} - UNSERVED))
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"23", b'"a"', b'{"a": \xff}', b"[" * 100_000])
def test_a_body_that_is_no_object_is_no_request(sim: IndoorSimulator, operation: str, body: bytes):
    status, told = ask(sim, operation, body)
    assert (status, told["__type"]) == (400, "SerializationException")


@pytest.mark.parametrize("operation", sorted(UNSERVED | {"", "Nonsense", "getRecords", "GetRecords ", "Put.Record"}))
def test_an_operation_that_is_not_served_is_unknown(sim: IndoorSimulator, operation: str):
    status, told = ask(sim, operation, b"{}")
    assert (status, told["__type"]) == (400, "UnknownOperationException")
    if operation in UNSERVED:
        assert told["message"] == f"the simulator has no {operation}"


@pytest.mark.parametrize(
    "asked, told",
    [
        (
            {"StreamName": "", "ShardCount": 0},
            "3 validation errors detected: Value '0' at 'shardCount' failed to satisfy constraint: Member must have "
            "value greater than or equal to 1; Value '' at 'streamName' failed to satisfy constraint: Member must "
            "satisfy regular expression pattern: [a-zA-Z0-9_.-]+; Value '' at 'streamName' failed to satisfy "
            "constraint: Member must have length greater than or equal to 1",
        ),
        (
            {},
            "2 validation errors detected: Value null at 'shardCount' failed to satisfy constraint: Member must not "
            "be null; Value null at 'streamName' failed to satisfy constraint: Member must not be null",
        ),
    ],
)
def test_all_that_is_wrong_is_told_in_the_services_order(sim: IndoorSimulator, asked: dict[str, Any], told: str):
    assert ask(sim, "CreateStream", json.dumps(asked).encode())[1]["message"] == told


def test_a_member_of_a_list_breaks_the_rule_of_the_list(sim: IndoorSimulator):
    _, told = ask(sim, "RemoveTagsFromStream", json.dumps({"StreamName": "s", "TagKeys": ["a", "b" * 129]}).encode())
    assert told["message"] == (
        f"1 validation error detected: Value '[a, {'b' * 129}]' at 'tagKeys' failed to satisfy constraint: Member must "
        "satisfy constraint: [Member must have length less than or equal to 128, Member must have length greater than "
        "or equal to 1]"
    )
