"""Shapes: whether a request has the form that the service's own description asks for, in the words of its check.

The description is botocore's, the one that clients check against before they send; a client that does not (the AWS CLI
with --no-..., Go, a test of one's own) gets its answer from here.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from streamiter.testing.http.descriptions import description
from streamiter.testing.http.json_types import check_type, java_type, unrecognized
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
    "ShardIteratorType": ["AFTER_SEQUENCE_NUMBER", "LATEST", "AT_TIMESTAMP", "AT_SEQUENCE_NUMBER", "TRIM_HORIZON"],
}

Problem = tuple[str, str, str]  # value, member, rule


class Manner(NamedTuple):
    """How a service's own check goes about it, where that is not as DynamoDB's does."""

    check_type: Callable[[Any, str], Any] = check_type  # gives the value as it is taken
    forms_first: bool = False  # whether a text's pattern is looked at before its length
    sums_up: bool = False  # whether what is wrong with the members of a list or a map is told of the whole of it
    order: Mapping[str, Sequence[str]] = {}  # of a structure's members, where it is not the description's
    required: Callable[[str, Mapping[str, Any]], Sequence[str]] | None = None  # besides what the description requires


_PLAIN = Manner()


def check(service: str, operation: str, request: object, *, short_ids: bool = False, manner: Manner = _PLAIN) -> None:
    """Refuses a request that is not of the service's form; `short_ids` lets shard ids be as short as tests name them."""
    known = description(service)
    shape = known["operations"][operation]["input"]["shape"]
    broken = list(
        islice(_Check(known["shapes"], service, short_ids, manner).problems(shape, request, ""), MOST_PROBLEMS)
    )
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
    """One request's check: a generator of what is wrong."""

    def __init__(self, shapes: Mapping[str, Any], service: str, short_ids: bool, manner: Manner) -> None:
        self._shapes = shapes
        self._free = "StreamArn" if service == "dynamodbstreams" else None
        self._short_ids = short_ids
        self._manner = manner

    def problems(self, name: str, value: Any, path: str) -> Iterator[Problem]:
        if name == "AttributeValue":
            check_attribute_form(value)
            return
        shape = self._shapes[name]
        kind: str = shape["type"]
        try:
            found = self._manner.check_type(value, kind)  # of the type that the kind has, from here on
        except Refusal:
            if isinstance(value, list) and self._manner is _PLAIN:
                raise unrecognized(java_type(self._shapes, name)) from None
            raise
        if kind == "structure":
            yield from self._members(name, shape, found, path)
        elif kind == "list":
            yield from _length(shape, found, path)
            yield from self._elements(shape["member"]["shape"], found, path)
        elif kind == "map":
            yield from _length(shape, found, path)
            yield from self._entries(shape, found, path)
        elif kind == "string":
            # A wrong ARN is "Invalid StreamArn" to DynamoDB Streams, however short.
            is_spared = name == self._free or (name == "ShardId" and self._short_ids)
            lengths = [] if is_spared else list(_length(shape, found, path))
            forms = list(_form(name, shape, found, path))
            yield from (*forms, *lengths) if self._manner.forms_first else (*lengths, *forms)
        elif kind == "blob":
            size = len(found) * 3 // 4 - found[-2:].count("=")
            if size > shape.get("max", size):
                told = f"'java.nio.HeapByteBuffer[pos=0 lim={size} cap={size}]'"
                yield told, path, f"have length less than or equal to {shape['max']}"
        elif kind in ("integer", "long", "double"):
            yield from _range(shape, found, path)

    def _members(self, name: str, shape: Mapping[str, Any], value: Mapping[str, Any], path: str) -> Iterator[Problem]:
        more, required = self._manner.required, shape.get("required", ())
        if more is not None:
            required = (*required, *more(name, value))
        members = shape["members"]
        order = self._manner.order.get(name)
        for member in members if order is None else dict.fromkeys((*order, *members)):
            given = value.get(member)
            if given is not None:
                yield from self.problems(members[member]["shape"], given, f"{path}.{_camel(member)}".lstrip("."))
            elif member in required:
                yield "null", f"{path}.{_camel(member)}".lstrip("."), "not be null"

    def _elements(self, name: str, elements: Sequence[Any], path: str) -> Iterator[Problem]:
        member = self._shapes[name]
        if not self._manner.sums_up or member["type"] != "string":
            for place, element in enumerate(elements, 1):
                yield from self.problems(name, element, f"{path}.{place}.member")
        elif self._has_broken(name, elements, path):
            yield _shown(elements), path, f"satisfy constraint: [{_rules(name, member)}]"

    def _entries(self, shape: Mapping[str, Any], entries: Mapping[str, Any], path: str) -> Iterator[Problem]:
        keys, name = self._shapes[shape["key"]["shape"]], shape["value"]["shape"]
        least, most = keys.get("min", 0), keys.get("max", math.inf)
        has_bad_keys = not all(least <= len(key) <= most for key in entries)
        if has_bad_keys:
            yield _shown(entries), path, f"Map keys must satisfy constraint: [{_rules('', keys)}]"
        if not self._manner.sums_up and not self._has_lists_beyond(name, entries):
            for key, element in entries.items():
                yield from self.problems(name, element, f"{path}.{key}.member")
        elif self._has_broken(name, entries.values(), path):
            rules = _rules(name, self._shapes[name])
            yield _shown(entries), path, f"Map value must satisfy constraint: [{rules}]"

    def _has_lists_beyond(self, name: str, entries: Mapping[str, Any]) -> bool:
        """Whether values are lists that are too long or too short, which any service tells of the whole map."""
        shape = self._shapes[name]
        return shape["type"] == "list" and any(
            isinstance(one, list) and next(_length(shape, one, ""), None) is not None for one in entries.values()
        )

    def _has_broken(self, name: str, elements: Iterable[Any], path: str) -> bool:
        """Whether one of them breaks a rule; all are looked at, for one of a wrong type is refused at once."""
        return sum(len(list(self.problems(name, element, path))) for element in elements) > 0


def _pruned(shapes: Mapping[str, Any], name: str, value: Any) -> Any:
    shape = shapes[name]
    if shape["type"] == "structure":
        members = {member: part["shape"] for member, part in shape["members"].items() if value.get(member) is not None}
        return {member: _pruned(shapes, kind, value[member]) for member, kind in members.items()}
    if shape["type"] == "list":
        return [_pruned(shapes, shape["member"]["shape"], element) for element in value]
    if shape["type"] == "map":
        return {key: _pruned(shapes, shape["value"]["shape"], element) for key, element in value.items()}
    return int(value) if shape["type"] in ("integer", "long") else value


def _length(shape: Mapping[str, Any], value: Any, path: str) -> Iterator[Problem]:
    if len(value) < shape.get("min", 0):
        yield _shown(value), path, f"have length greater than or equal to {shape['min']}"
    if len(value) > shape.get("max", len(value)):
        yield _shown(value), path, f"have length less than or equal to {shape['max']}"


def _rules(name: str, shape: Mapping[str, Any]) -> str:
    """What holds for each member of a list or a map."""
    rules = []
    if "max" in shape:
        rules.append(f"Member must have length less than or equal to {shape['max']}")
    if "max" in shape or "min" in shape:
        rules.append(f"Member must have length greater than or equal to {shape.get('min', 0)}")
    if "enum" in shape:
        rules.append(f"Member must satisfy enum value set: [{', '.join(_LISTED.get(name) or sorted(shape['enum']))}]")
    return ", ".join(rules)


def _range(shape: Mapping[str, Any], value: float, path: str) -> Iterator[Problem]:
    if value < shape.get("min", value):
        yield _shown(value), path, f"have value greater than or equal to {shape['min']}"
    if value > shape.get("max", value):
        yield _shown(value), path, f"have value less than or equal to {shape['max']}"


def _form(name: str, shape: Mapping[str, Any], value: str, path: str) -> Iterator[Problem]:
    if "pattern" in shape and not re.fullmatch(python_pattern(shape["pattern"]), value[:MOST_MATCHED]):
        yield _shown(value), path, f"satisfy regular expression pattern: {shape['pattern']}"
    if "enum" in shape and value not in shape["enum"]:
        told = _LISTED.get(name) or sorted(shape["enum"])
        yield _shown(value), path, f"satisfy enum value set: [{', '.join(told)}]"


@functools.cache
def python_pattern(pattern: str) -> str:
    """A pattern of the service's, which is one of Java's, as Python writes it."""
    for java, own in _OF_JAVA.items():
        pattern = pattern.replace(java, own)
    return pattern


def _shown(value: object) -> str:
    """The value in quotes, as Java writes it, as far as a reader wants to see it: requests may be megabytes long."""
    if isinstance(value, list | dict) and len(value) > MOST_SHOWN:
        return f"[{len(value)} members]"
    text = _java(value)
    return f"'{text}'" if len(text) <= MOST_SHOWN else f"'{text[:MOST_SHOWN]}...' ({len(text)} characters)"


def _java(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_java, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}={_java(part)}' for key, part in value.items())}}}"
    return str(value)


def _camel(member: str) -> str:
    return member[0].lower() + member[1:]
