"""The memory store: rows in this process alone, for tests and for one worker that may forget."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from streamiter.store.base import Row, Store, Table, check_standing, next_version


class MemoryStore(Store):
    """Rows in a dict. Workers of one process share them by sharing the store."""

    def __init__(self) -> None:
        self._tables: dict[Table, dict[str, Row]] = {}
        self._lock = threading.Lock()

    def scan(self, table: Table) -> list[Row]:
        """All rows, as of one moment."""
        with self._lock:
            return [_copy(row) for row in self._tables.get(table, {}).values()]

    def read(self, table: Table, key: str) -> Row | None:
        """One row."""
        with self._lock:
            row = self._tables.get(table, {}).get(key)
            return None if row is None else _copy(row)

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        """Compares and sets under a lock."""
        with self._lock:
            rows = self._tables.setdefault(table, {})
            check_standing(row.key, expected, rows.get(row.key))
            rows[row.key] = _copy(row._replace(version=next_version(expected)))
            return _copy(rows[row.key])

    def delete(self, table: Table, key: str, expected: int) -> None:
        """Compares and removes under a lock."""
        with self._lock:
            rows = self._tables.setdefault(table, {})
            check_standing(key, expected, rows.get(key))
            del rows[key]

    def tables(self, kind: str) -> list[Table]:
        """The tables that have rows."""
        with self._lock:
            return sorted(table for table, rows in self._tables.items() if table.kind == kind and rows)

    def __repr__(self) -> str:
        return f"MemoryStore({sum(map(len, self._tables.values()))} rows)"


def _copy(row: Row) -> Row:
    # A caller that changes what it got, or what it gave, must not change the row.
    return row._replace(fields=_copied(row.fields))


_PLAIN = frozenset({str, int, bool, float, type(None)})


def _copied(value: Any) -> Any:
    # Rows hold JSON's types alone: this takes half of copy.deepcopy's time.
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return {name: told if type(told) in _PLAIN else _copied(told) for name, told in value.items()}
    return [_copied(told) for told in value]
