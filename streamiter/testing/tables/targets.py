"""Targets: which tables a request writes to, and what it asks of each item there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def targets(operation: str, body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each item's table, and what is asked for it: a Key or an Item, and more."""
    if operation in ("PutItem", "UpdateItem", "DeleteItem"):
        yield body["TableName"], body
    elif operation == "BatchWriteItem":
        for table, requests in body["RequestItems"].items():
            for request in requests:
                for inner in request.values():
                    yield table, inner
    elif operation == "TransactWriteItems":
        for action in body["TransactItems"]:
            for inner in action.values():
                yield inner.get("TableName"), inner


def by_names(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same request with the names of the tables that it writes to, where it has their ARNs."""
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
