"""The SQL layout: which columns rows have, the statements that change them, and how older layouts become today's.

Leases have a table of their own whose first columns are shard_id, app_name, stream_name, lease_owner, lease_count (the
version), checkpoint and completed; all other kinds share a table, their fields as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from streamiter.errors import InvalidStore
from streamiter.store.base import LEASES, Move, Row, Table, Write, next_version

# By version: what makes each layout of the one before. Never change a line that was released; add a version.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE IF NOT EXISTS streamiter_leases (
            shard_id TEXT NOT NULL, app_name TEXT NOT NULL, stream_name TEXT NOT NULL,
            lease_owner TEXT, lease_count BIGINT NOT NULL, checkpoint TEXT NOT NULL, completed BOOLEAN NOT NULL,
            fence BIGINT NOT NULL, parents TEXT NOT NULL, progress TEXT NOT NULL,
            PRIMARY KEY (app_name, stream_name, shard_id))""",
        """CREATE TABLE IF NOT EXISTS streamiter_rows (
            kind TEXT NOT NULL, app_name TEXT NOT NULL, stream_name TEXT NOT NULL, row_key TEXT NOT NULL,
            row_version BIGINT NOT NULL, fields TEXT NOT NULL,
            PRIMARY KEY (kind, app_name, stream_name, row_key))""",
    ),
)
MAKE_SCHEMA = "CREATE TABLE IF NOT EXISTS streamiter_schema (version BIGINT NOT NULL)"
READ_SCHEMA = "SELECT MAX(version) FROM streamiter_schema"
WRITE_SCHEMA = "INSERT INTO streamiter_schema (version) VALUES (?)"

Parameters = tuple[Any, ...]
Statement = tuple[str, Parameters]


class Layout(NamedTuple):
    """One SQL table: its name, its key's columns, its version's column, and the columns of the fields."""

    name: str
    keys: tuple[str, ...]  # the row's own key is the last of them
    version: str
    columns: tuple[str, ...]

    def select(self, values: Parameters) -> Statement:
        """Reads the rows whose first key columns have these values."""
        shown = ", ".join((self.keys[-1], self.version, *self.columns))
        return f"SELECT {shown} FROM {self.name} WHERE {_equal(self.keys[: len(values)])}", values

    def insert(self, keys: Parameters, version: int, fields: Parameters) -> Statement:
        """Writes a row that must not be there."""
        names = (*self.keys, self.version, *self.columns)
        marks = ", ".join("?" * len(names))
        told = f"INSERT INTO {self.name} ({', '.join(names)}) VALUES ({marks}) ON CONFLICT DO NOTHING"
        return told, (*keys, version, *fields)

    def update(self, keys: Parameters, version: int, fields: Parameters, expected: int) -> Statement:
        """Changes a row that must have this version."""
        changed = ", ".join(f"{name} = ?" for name in (self.version, *self.columns))
        told = f"UPDATE {self.name} SET {changed} WHERE {_equal((*self.keys, self.version))}"
        return told, (version, *fields, *keys, expected)

    def delete(self, keys: Parameters, expected: int) -> Statement:
        """Removes a row that must have this version."""
        return f"DELETE FROM {self.name} WHERE {_equal((*self.keys, self.version))}", (*keys, expected)


_LEASES = Layout(
    "streamiter_leases",
    ("app_name", "stream_name", "shard_id"),
    "lease_count",
    ("lease_owner", "checkpoint", "completed", "fence", "parents", "progress"),
)
_ROWS = Layout("streamiter_rows", ("kind", "app_name", "stream_name", "row_key"), "row_version", ("fields",))


def scan(table: Table) -> Statement:
    """Reads all rows of a table."""
    layout, keys = _place(table)
    return layout.select(keys)


def read(table: Table, key: str) -> Statement:
    """Reads one row."""
    layout, keys = _place(table)
    return layout.select((*keys, key))


def tables(kind: str) -> Statement:
    """Reads which apps and streams have rows of a kind."""
    if kind == LEASES:
        return f"SELECT DISTINCT app_name, stream_name FROM {_LEASES.name} ORDER BY 1, 2", ()
    return f"SELECT DISTINCT app_name, stream_name FROM {_ROWS.name} WHERE kind = ? ORDER BY 1, 2", (kind,)


def write(table: Table, change: Write) -> Statement:
    """Writes one row, if the expected version stands: one row is changed, or none."""
    layout, keys = _place(table)
    keys, version, fields = (*keys, change.row.key), next_version(change.expected), _to_columns(table, change.row)
    if change.expected is None:
        return layout.insert(keys, version, fields)
    return layout.update(keys, version, fields, change.expected)


def move(table: Table, wanted: Move, *, patched: str) -> Statement:
    """Moves the checkpoint of a lease that is held by this owner under this fence: it gives one row, or none.

    `patched`: how this database writes the column `progress` with the names and values of another JSON object in it.
    """
    changed = f"UPDATE {_LEASES.name} SET checkpoint = ?, progress = {patched}, lease_count = lease_count + 1"
    held = (*_LEASES.keys, "lease_owner", "fence", "completed")
    others = "".join(" AND checkpoint <> ?" for _ in wanted.unless)
    values = (table.app, table.stream, wanted.key, wanted.owner, wanted.fence, False, *wanted.unless)
    return f"{changed} WHERE {_equal(held)}{others} RETURNING lease_count", (
        wanted.checkpoint,
        json.dumps(dict(wanted.progress)),
        *values,
    )


def delete(table: Table, key: str, expected: int) -> Statement:
    """Removes one row, if the expected version stands."""
    layout, keys = _place(table)
    return layout.delete((*keys, key), expected)


def to_row(table: Table, columns: Sequence[Any]) -> Row:
    """A row as it was read."""
    key, version, *rest = columns
    if table.kind != LEASES:
        return Row(key, json.loads(rest[0]), version)
    owner, checkpoint, completed, fence, parents, progress = rest
    told = {"owner": owner, "checkpoint": checkpoint, "completed": bool(completed), "fence": fence}
    return Row(key, {**told, "parents": json.loads(parents), "progress": json.loads(progress)}, version)


def migrations_from(version: int | None, where: str) -> list[tuple[int, tuple[str, ...]]]:
    """What brings a layout of this version (None: nothing is there) to today's."""
    found = version or 0
    if found > len(MIGRATIONS):
        raise InvalidStore(
            f"{where} was laid out by a newer streamiter (layout {found}, this one knows up to {len(MIGRATIONS)}); "
            "upgrade streamiter here too"
        )
    return list(enumerate(MIGRATIONS[found:], found + 1))


def _place(table: Table) -> tuple[Layout, Parameters]:
    if table.kind == LEASES:
        return _LEASES, (table.app, table.stream)
    return _ROWS, tuple(table)


def _to_columns(table: Table, row: Row) -> Parameters:
    fields = row.fields
    if table.kind != LEASES:
        return (json.dumps(dict(fields)),)
    told = (fields["owner"], fields["checkpoint"], fields["completed"], fields["fence"])
    return (*told, json.dumps(list(fields["parents"])), json.dumps(dict(fields["progress"])))


def _equal(names: Sequence[str]) -> str:
    return " AND ".join(f"{name} = ?" for name in names)
