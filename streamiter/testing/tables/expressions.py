"""Expressions: whether each name and value that they use is given, and each that is given is used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from streamiter.testing.http.refusal import invalid

MEMBERS = (
    "ConditionExpression",
    "FilterExpression",
    "KeyConditionExpression",
    "ProjectionExpression",
    "UpdateExpression",
)
_KINDS = {
    "ExpressionAttributeNames": (re.compile(r"#\w+"), "name used in the document path is not defined; attribute name"),
    "ExpressionAttributeValues": (re.compile(r":\w+"), "value used in expression is not defined; attribute value"),
}


def units(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The parts of a request that have expressions of their own: itself, or the actions of a transaction."""
    if "TransactItems" in body:
        yield from (inner for action in body["TransactItems"] for inner in action.values())
    else:
        yield body


def check_expressions(unit: Mapping[str, Any]) -> None:
    """Refuses an expression that is empty, and names and values that lack or are left over."""
    expressions = {member: unit[member] for member in MEMBERS if member in unit}
    for member, expression in expressions.items():
        if not expression:
            raise invalid(f"Invalid {member}: The expression can not be empty;")
    for kind, (pattern, words) in _KINDS.items():
        given = unit.get(kind) or {}
        if given and not expressions:
            raise invalid(f"{kind} can only be specified when using expressions")
        used: set[str] = set()
        for member, expression in expressions.items():
            for name in pattern.findall(expression):
                if name not in given:
                    raise invalid(f"Invalid {member}: An expression attribute {words}: {name}")
                used.add(name)
        if given.keys() - used:
            left_over = ", ".join(sorted(given.keys() - used))
            raise invalid(f"Value provided in {kind} unused in expressions: keys: {{{left_over}}}")
