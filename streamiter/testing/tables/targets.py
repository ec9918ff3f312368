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
