"""Targets: the tables that a request names, by name or by ARN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamiter.testing.http.refusal import broken_rule
from streamiter.testing.tables.creation import NAME


def by_names(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same request with the names of its tables, where it has their ARNs."""
    named = dict(body)
    if isinstance(body.get("TableName"), str):
        named["TableName"] = table_name(body["TableName"])
    if "TransactItems" in body:
        named["TransactItems"] = [
            {kind: {**inner, "TableName": table_name(inner["TableName"])} for kind, inner in action.items()}
            for action in body["TransactItems"]
        ]
    return named


def table_name(name_or_arn: str) -> str:
    """A table's name."""
    return name_or_arn.rpartition(":table/")[2]


def check_names(body: Mapping[str, Any]) -> None:
    """Refuses a request with a name that no table can have."""
    if "TableName" in body:
        _check_name(body["TableName"])
        return
    requests = body.get("RequestItems")
    for name in requests if isinstance(requests, Mapping) else ():
        _check_name(table_name(name))
    for action in body.get("TransactItems", ()):
        for inner in action.values():
            _check_name(inner["TableName"])


def _check_name(name: str) -> None:
    if len(name) < 3:
        raise broken_rule(name, "tableName", "have length greater than or equal to 3")
    if len(name) > 255:
        raise broken_rule(name, "tableName", "have length less than or equal to 255")
    if not NAME.fullmatch(name):
        raise broken_rule(name, "tableName", f"satisfy regular expression pattern: {NAME.pattern}")
