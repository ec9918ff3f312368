"""Checks: refuses requests for tables that the service refuses and moto accepts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from streamiter.testing.http.refusal import broken_rule, broken_rules, invalid

_BATCH = 25
_KEYS = ("HASH", "RANGE")
# Of a write that is both a put and a delete, or neither: the service takes it for a value.
_NOT_ONE = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)
_NAME = re.compile(r"[a-zA-Z0-9_.-]+")


def check_new_table(body: Mapping[str, Any]) -> None:
    """A table's name, and that its key is one."""
    name = body["TableName"]
    if not _NAME.fullmatch(name):
        raise broken_rule(name, "tableName", f"satisfy regular expression pattern: {_NAME.pattern}")
    if not 3 <= len(name) <= 255:
        raise invalid("TableName must be at least 3 characters long and at most 255 characters long")
    for member in ("keySchema", "attributeDefinitions"):
        if not body.get(member[0].upper() + member[1:]):
            raise broken_rules([("null", member, "not be null")])
    schema = body["KeySchema"]
    for place, (element, kind) in enumerate(zip(schema, _KEYS, strict=False)):
        if element["KeyType"] != kind:
            raise invalid(
                f"Invalid KeySchema: The {('first', 'second')[place]} KeySchemaElement is not a {kind} key type"
            )


def check_batch(requests: Mapping[str, Any], keys: Mapping[str, list[str]]) -> None:
    """A batch has 1 to 25 writes, each of another item."""
    count = sum(map(len, requests.values()))
    if not 1 <= count <= _BATCH:
        bound = "less than or equal to 25" if count else "greater than or equal to 1"
        raise invalid(
            f"1 validation error detected: Value '{{{', '.join(requests)}}}' at 'requestItems' failed to satisfy "
            f"constraint: Map value must satisfy constraint: [Member must have length {bound}]"
        )
    for table, writes in requests.items():
        if len({_key(write, keys.get(table, [])) for write in writes}) < len(writes):
            raise invalid("Provided list of item keys contains duplicates")


def check_actions(actions: Sequence[Mapping[str, Any]]) -> None:
    """Each part of a transaction does one thing."""
    if not all(actions):
        raise invalid("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
    if any(len(action) != 1 for action in actions):
        raise invalid("TransactItems can only contain one of Check, Put, Update or Delete")


def _key(write: Mapping[str, Any], names: list[str]) -> bytes:
    if len(write) != 1:
        raise invalid(_NOT_ONE)
    [inner] = write.values()
    image = inner.get("Item", inner.get("Key", {}))
    return msgspec.json.encode([image.get(name) for name in names])
