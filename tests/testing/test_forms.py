"""Forms: the quick way to read a request takes nothing that the careful one refuses, and makes the same of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing.http import forms
from streamiter.testing.http.descriptions import description
from streamiter.testing.http.protocol import parse
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.http.shapes import check, pruned

HOT = {
    "dynamodb": ("PutItem", "UpdateItem", "Query", "BatchWriteItem", "TransactWriteItems", "CreateTable"),
    "dynamodbstreams": ("GetRecords", "DescribeStream"),
}
TEXTS = st.sampled_from(
    ["", "a", "ab", "abc", "orders", "1", "a b", "\n", "abc\n", "x" * 300, "x" * 70_000, "ä", "NONE", "SET"]
)
LEAVES = st.none() | st.booleans() | st.integers(-2, 2000) | st.sampled_from([1.0, 1.5, 1e300]) | TEXTS
ANYTHING = st.recursive(
    LEAVES, lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXTS, part, max_size=3), max_leaves=5
)


def values_of(service: str, name: str, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that are nearly of a shape."""
    shape = description(service)["shapes"][name]
    kind = shape["type"]
    if depth > 6:
        return ANYTHING
    if kind == "structure":
        members = {member: values_of(service, part["shape"], depth + 1) for member, part in shape["members"].items()}
        required = {member: members[member] for member in shape.get("required", ())}
        more = {member: value for member, value in members.items() if member not in required}
        whole = st.fixed_dictionaries(required, optional=dict(list(more.items())[:6]) | {"Unknown": ANYTHING})
        return one_in_many_is_anything(whole)
    if kind == "list":
        return one_in_many_is_anything(st.lists(values_of(service, shape["member"]["shape"], depth + 1), max_size=3))
    if kind == "map":
        return one_in_many_is_anything(
            st.dictionaries(TEXTS, values_of(service, shape["value"]["shape"], depth + 1), max_size=2)
        )
    plain: dict[str, st.SearchStrategy[Any]] = {
        "string": st.sampled_from(shape.get("enum", ["abc"])) | TEXTS,
        "blob": st.sampled_from(["", "YQ==", "YR==", "YQ", "?"]),
        "boolean": st.booleans(),
        "integer": st.integers(-1, 1001),
        "long": st.integers(-1, 1001),
    }
    return one_in_many_is_anything(plain.get(kind, ANYTHING))


def one_in_many_is_anything(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 24).flatmap(lambda number: ANYTHING if number == 0 else strategy)


def carefully_read(service: str, operation: str, body: bytes) -> Any:
    asked = parse(body)
    check(service, operation, asked)
    return pruned(service, operation, asked)


def is_equal(one: Any, other: Any) -> bool:
    """Also in types: True is not 1, and 1.0 is not."""
    return repr(one) == repr(other) or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@pytest.mark.parametrize("service, operation", [(service, name) for service, names in HOT.items() for name in names])
def test_the_quick_way_takes_what_the_careful_one_takes(service: str, operation: str):
    shape = description(service)["operations"][operation]["input"]["shape"]

    @given(values_of(service, shape))
    def look(request: Any) -> None:
        body = json.dumps(request).encode()
        try:
            found = forms.quickly_read(service, operation, body)
        except Refusal as refusal:
            with pytest.raises(Refusal, match=refusal.name):
                carefully_read(service, operation, body)
            return
        if found is not None:
            assert is_equal(found, carefully_read(service, operation, body))

    look()


def test_the_usual_requests_are_read_quickly():
    value = {"L": [{"M": {"x": {"N": "1"}}}, {"BS": ["YQ=="]}, {"NULL": True}]}
    asked: dict[str, Any] = {"TableName": "orders", "Item": {"id": {"S": "a"}, "v": value}, "ReturnValues": "ALL_OLD"}
    assert forms.quickly_read("dynamodb", "PutItem", json.dumps(asked | {"Foo": 1}).encode()) == asked
    asked = {"ShardIterator": "arn", "Limit": 1000}
    assert forms.quickly_read("dynamodbstreams", "GetRecords", json.dumps(asked).encode()) == asked


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"TableName":"orders","TableName":7,"Item":{}}',
        b'{"TableName":"orders"}',
        b'{"TableName":"orders","Item":{"id":{"S":"\\ud800"}}}',
        b'{"TableName":"orders","Item":{"id":{"S":"\xff"}}}',
        b'{"TableName":"orders","Item":{"id":{"S":null}}}',
    ],
)
def test_what_is_doubtful_is_looked_at_again(body: bytes):
    assert forms.quickly_read("dynamodb", "PutItem", body) is None


def test_a_request_that_is_too_deep_is_refused_wherever_it_is():
    deep = b"[" * 200 + b"]" * 200
    with pytest.raises(Refusal, match="nested more than"):
        forms.quickly_read("dynamodb", "PutItem", b'{"TableName":"orders","Item":{},"Unknown":' + deep + b"}")


def test_a_shape_that_has_itself_within_it_is_an_attribute_value_and_no_other():
    for service in HOT:
        shapes = description(service)["shapes"]

        def walk(name: str, above: tuple[str, ...], shapes: Any = shapes) -> None:
            if name == "AttributeValue":
                return
            assert name not in above
            shape = shapes[name]
            parts = [part["shape"] for part in shape.get("members", {}).values()]
            parts += [shape[part]["shape"] for part in ("member", "key", "value") if part in shape]
            for part in parts:
                walk(part, (*above, name))

        for operation in description(service)["operations"].values():
            walk(operation["input"]["shape"], ())
