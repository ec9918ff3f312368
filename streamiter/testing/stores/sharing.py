"""What the rules of stores share: rows to write, and what a check expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamiter.errors import Conflict
from streamiter.store import Row, Store, Table
from streamiter.store.base import LEASE_FIELDS, LEASES
from streamiter.testing.contract.probe import equal as equal

SHOP = Table(LEASES, "shop", "orders")
WORKERS = Table("workers", "shop", "orders")


def lease(key: str, **fields: Any) -> Row:
    """A lease's row."""
    return Row(key, {**LEASE_FIELDS, **fields})


def conflict(call: Callable[[], object]) -> Row | None:
    """The row that a refused write tells of."""
    try:
        call()
    except Conflict as error:
        standing: Row | None = error.standing
        return standing
    raise AssertionError("there was no Conflict")


def seen(store: Store, table: Table) -> dict[str, Row]:
    """The rows of a scan, by key. Each key must come once."""
    rows = store.scan(table)
    found = {row.key: row for row in rows}
    equal(len(rows), len(found), "rows of a scan, each key once")
    return found
