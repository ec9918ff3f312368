"""Shapes: whether a request has the form that the service's own description asks for, in the words of its check.

The description is botocore's, the one that clients check against before they send; a client that does not (the AWS CLI
with --no-..., Go, a test of one's own) gets its answer from here.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from streamiter.testing.http.descriptions import description
from streamiter.testing.http.json_types import check_type
from streamiter.testing.http.refusal import Refusal, broken_rules, unknown_operation
from streamiter.testing.truth.attributes import check_attribute_form

MOST_PROBLEMS = 10  # are told of one request, as the service does
MOST_MATCHED = 8192  # characters of a text that a pattern is tried on
MOST_SHOWN = 512  # characters of a value that is quoted
# What Java writes in another way than Python: printable text, and what lies beyond 16 bits.
_OF_JAVA = {r"\p{Print}": r"[ -~]", r"\uD800\uDC00-\uDBFF\uDFFF": r"\U00010000-\U0010FFFF"}
# In which order the service lists an enum's values, where that is known.
_LISTED = {
    "AttributeAction": ["ADD", "PUT", "DELETE"],
    "BillingMode": ["PROVISIONED", "PAY_PER_REQUEST"],
    "ComparisonOperator": [
        *("IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL"),
        *("NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"),
    ],
    "ConditionalOperator": ["OR", "AND"],
    "ReturnConsumedCapacity": ["INDEXES", "TOTAL", "NONE"],
    "ReturnItemCollectionMetrics": ["SIZE", "NONE"],
    "ReturnValue": ["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"],
    "Select": ["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"],
    "StreamViewType": ["OLD_IMAGE", "KEYS_ONLY", "NEW_AND_OLD_IMAGES", "NEW_IMAGE"],
}


def check(service: str, operation: str, request: object, *, short_ids: bool = False) -> None:
    """Refuses a request that is not of the service's form; `short_ids` lets shard ids be as short as tests name them."""
    known = description(service)
    shape = known["operations"][operation]["input"]["shape"]
    broken = list(islice(_Check(known["shapes"], service, short_ids).problems(shape, request, ""), MOST_PROBLEMS))
    if broken:
        raise broken_rules(broken)


def pruned(service: str, operation: str, request: Any) -> Any:
    """A request that was checked, without the members that the description does not know and those that are null."""
    known = description(service)
    return _pruned(known["shapes"], known["operations"][operation]["input"]["shape"], request)


def unserved(service: str, operation: str) -> Refusal:
    """The refusal of an operation that is not served, which the service may have or not."""
    is_known = operation in description(service)["operations"]
    return unknown_operation(f"the simulator has no {operation}" if is_known else "")


class _Check:
    """One request's check: a generator of what is wrong, as (value, member, rule)."""

    def __init__(self, shapes: Mapping[str, Any], service: str, short_ids: bool) -> None:
        self._shapes = shapes
        self._free = "StreamArn" if service == "dynamodbstreams" else None
        self._short_ids = short_ids

    def problems(self, name: str, value: Any, path: str, *, is_in_map: bool = False) -> Iterator[tuple[str, str, str]]:
        if name == "AttributeValue":
            check_attribute_form(value)
            return
        shape = self._shapes[name]
        kind: str = shape["type"]
        found: Any = value  # of the type that the kind has, from here on
        check_type(value, kind)
        if kind == "structure":
            yield from self._members(shape, found, path)
        elif kind == "list":
            if not is_in_map:  # which says so of all its values at once
                yield from _length(shape, found, path)
            for place, element in enumerate(found, 1):
                yield from self.problems(shape["member"]["shape"], element, f"{path}.{place}.member")
        elif kind == "map":
            yield from _length(shape, found, path)
            yield from _keys(self._shapes[shape["key"]["shape"]], found, path)
            if self._shapes[shape["value"]["shape"]]["type"] == "list":
                yield from _lists(self._shapes[shape["value"]["shape"]], found, path)
            for key, element in found.items():
                yield from self.problems(shape["value"]["shape"], element, f"{path}.{key}.member", is_in_map=True)
        elif kind == "string":
            # A wrong ARN is "Invalid StreamArn" to DynamoDB Streams, however short.
            if name != self._free and not (name == "ShardId" and self._short_ids):
                yield from _length(shape, found, path)
            yield from _form(name, shape, found, path)
        elif kind == "blob":
            size = len(found) * 3 // 4 - found[-2:].count("=")
            if size > shape.get("max", size):
                told = f"'java.nio.HeapByteBuffer[pos=0 lim={size} cap={size}]'"
                yield told, path, f"have length less than or equal to {shape['max']}"
        elif kind in ("integer", "long", "double"):
            yield from _range(shape, found, path)

    def _members(self, shape: Mapping[str, Any], value: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
        for member, described in shape["members"].items():
            place = f"{path}.{_camel(member)}".lstrip(".")
            if value.get(member) is not None:
                yield from self.problems(described["shape"], value[member], place)
            elif member in shape.get("required", ()):
                yield "null", place, "not be null"


def _pruned(shapes: Mapping[str, Any], name: str, value: Any) -> Any:
    shape = shapes[name]
    if shape["type"] == "structure":
        members = {member: part["shape"] for member, part in shape["members"].items() if value.get(member) is not None}
        return {member: _pruned(shapes, kind, value[member]) for member, kind in members.items()}
    if shape["type"] == "list":
        return [_pruned(shapes, shape["member"]["shape"], element) for element in value]
    if shape["type"] == "map":
        return {key: _pruned(shapes, shape["value"]["shape"], element) for key, element in value.items()}
    return value


def _length(shape: Mapping[str, Any], value: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if len(value) < shape.get("min", 0):
        yield _shown(value), path, f"have length greater than or equal to {shape['min']}"
    if len(value) > shape.get("max", len(value)):
        yield _shown(value), path, f"have length less than or equal to {shape['max']}"


def _keys(shape: Mapping[str, Any], value: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    least, most = shape.get("min", 0), shape.get("max", math.inf)
    if not all(least <= len(key) <= most for key in value):
        yield _shown(value), path, f"Map keys must satisfy constraint: [{_both(least, most)}]"


def _lists(shape: Mapping[str, Any], value: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    least, most = shape.get("min", 0), shape.get("max", math.inf)
    if shape["type"] == "list" and any(
        isinstance(one, list) and not least <= len(one) <= most for one in value.values()
    ):
        yield _shown(value), path, f"Map value must satisfy constraint: [{_both(least, most)}]"


def _both(least: float, most: float) -> str:
    return f"Member must have length less than or equal to {most}, Member must have length greater than or equal to {least}"


def _range(shape: Mapping[str, Any], value: float, path: str) -> Iterator[tuple[str, str, str]]:
    if value < shape.get("min", value):
        yield _shown(value), path, f"have value greater than or equal to {shape['min']}"
    if value > shape.get("max", value):
        yield _shown(value), path, f"have value less than or equal to {shape['max']}"


def _form(name: str, shape: Mapping[str, Any], value: str, path: str) -> Iterator[tuple[str, str, str]]:
    if "pattern" in shape and not re.fullmatch(_python(shape["pattern"]), value[:MOST_MATCHED]):
        yield _shown(value), path, f"satisfy regular expression pattern: {shape['pattern']}"
    if "enum" in shape and value not in shape["enum"]:
        told = _LISTED.get(name) or sorted(shape["enum"])
        yield _shown(value), path, f"satisfy enum value set: [{', '.join(told)}]"


@functools.cache
def _python(pattern: str) -> str:
    """A pattern of the service's, which is one of Java's, as Python writes it."""
    for java, own in _OF_JAVA.items():
        pattern = pattern.replace(java, own)
    return pattern


def _shown(value: object) -> str:
    """The value in quotes, as far as a reader wants to see it: requests may be megabytes long."""
    if isinstance(value, list | dict) and len(value) > MOST_SHOWN:
        return f"[{len(value)} members]"
    text = str(value)
    return f"'{text}'" if len(text) <= MOST_SHOWN else f"'{text[:MOST_SHOWN]}...' ({len(text)} characters)"


def _camel(member: str) -> str:
    return member[0].lower() + member[1:]
