"""The SQLite store: rows in a file that several processes of one machine share; the default."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from streamiter.clock import Clock, SystemClock
from streamiter.errors import Conflict, InvalidOption, InvalidStore, LeaseLost, StreamiterError
from streamiter.sqlitefile import LOG_SCHEMA, Kind, SqliteFile, has_table, transaction
from streamiter.store import sql
from streamiter.store.base import Move, Row, Store, Table, Write, next_version

_Answer = TypeVar("_Answer")
_FILES = "PRAGMA database_list"
_PATCHED = "json_patch(progress, ?)"


class SqliteStore(Store):
    """Rows in one file. Keep them apart from a log's file: a busy log would make renewals wait.

    A power failure may take back the last writes (synchronous=NORMAL), but neither a crash nor a kill does. The machine is down
    then, and so are all workers that read those writes.
    """

    def __init__(self, path: str | Path, *, clock: Clock | None = None) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()  # one writer in each process: threads wait here, not in SQLite
        self._file = SqliteFile(
            self._path, repr(self), Kind(InvalidStore, partial(_prepare, where=str(self._path))), clock or SystemClock()
        )
        self._is_closed = False

    @property
    def path(self) -> Path:
        """The file, which is made at the first call."""
        return self._path

    def scan(self, table: Table) -> list[Row]:
        """All rows, as of one moment."""
        return self._call(lambda db: [sql.to_row(table, found) for found in db.execute(*sql.scan(table))])

    def read(self, table: Table, key: str) -> Row | None:
        """One row."""
        return self._call(lambda db: _read(db, table, key))

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        """Compares and sets in one transaction."""
        (found,) = self.write_all(table, [Write(row, expected)])
        if isinstance(found, StreamiterError):
            raise found
        return found

    def write_all(self, table: Table, writes: Sequence[Write]) -> list[Row | StreamiterError]:
        """All of them in one transaction: one wait for the disk."""

        def change(db: sqlite3.Connection) -> list[Row | StreamiterError]:
            with transaction(db):
                return [_write(db, table, write) for write in writes]

        return self._call(change)

    def delete(self, table: Table, key: str, expected: int) -> None:
        """Compares and removes in one transaction."""

        def change(db: sqlite3.Connection) -> Conflict | None:
            with transaction(db):
                is_done = db.execute(*sql.delete(table, key, expected)).rowcount == 1
                return None if is_done else Conflict(key, expected, _read(db, table, key))

        if error := self._call(change):
            raise error

    def move_checkpoint(self, connection: Any, table: Table, move: Move) -> None:
        """Inside the transaction of a connection to the same file."""
        if not isinstance(connection, sqlite3.Connection):
            raise InvalidOption(f"batch.commit() takes a sqlite3 connection here, not a {type(connection).__name__}")
        self._check_home(connection.execute(_FILES).fetchall(), "batch.commit()")
        if not connection.in_transaction:
            _check_begins(connection, "batch.commit()")
            connection.execute("BEGIN IMMEDIATE")
        if not connection.execute(*sql.move(table, move, patched=_PATCHED)).fetchall():
            raise LeaseLost(move.key, move.fence)

    async def amove_checkpoint(self, connection: Any, table: Table, move: Move) -> None:
        """Inside the transaction of an aiosqlite connection to the same file."""
        if isinstance(connection, sqlite3.Connection) or not hasattr(connection, "execute_fetchall"):
            raise InvalidOption(
                f"batch.acommit() takes an aiosqlite connection here, not a {type(connection).__name__}; "
                "for a sqlite3 connection there is batch.commit()"
            )
        self._check_home(await connection.execute_fetchall(_FILES), "batch.acommit()")
        if not connection.in_transaction:
            _check_begins(connection, "batch.acommit()")
            await connection.execute("BEGIN IMMEDIATE")
        if not await connection.execute_fetchall(*sql.move(table, move, patched=_PATCHED)):
            raise LeaseLost(move.key, move.fence)

    def _check_home(self, files: Iterable[Sequence[Any]], call: str) -> None:
        path = next((row[2] for row in files if row[1] == "main"), "")
        if not path or not Path(path).samefile(self._path):
            raise InvalidOption(f"{call} takes a connection to the app's own store, {str(self._path)!r}")

    def tables(self, kind: str) -> list[Table]:
        """The tables that have rows."""
        return self._call(lambda db: [Table(kind, *found) for found in db.execute(*sql.tables(kind))])

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._is_closed = True
            self._file.close()

    def _call(self, call: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        if self._is_closed:
            raise InvalidStore(f"{self!r} was closed; open another one")
        return self._file.call(call, self._lock)

    def __repr__(self) -> str:
        return f"SqliteStore({str(self._path)!r})"


def _check_begins(connection: Any, call: str) -> None:
    """Refuses a connection on which statements outside of an explicit transaction stand at once."""
    legacy = -1  # sqlite3.LEGACY_TRANSACTION_CONTROL, from Python 3.12 on
    mode = getattr(connection, "autocommit", legacy)
    if connection.isolation_level is None if mode == legacy else mode:
        raise InvalidOption(f"{call} works in a transaction: execute('BEGIN IMMEDIATE') before the effects")


def _prepare(db: sqlite3.Connection, where: str) -> None:
    db.execute("PRAGMA synchronous = NORMAL")
    if has_table(db, LOG_SCHEMA):
        raise InvalidStore(
            f"{where} is a log's file; keep leases in a file of their own: a busy log makes renewals wait"
        )
    db.execute("PRAGMA journal_mode = WAL")
    with transaction(db):
        db.execute(sql.MAKE_SCHEMA)
        (version,) = db.execute(sql.READ_SCHEMA).fetchone()
        for number, statements in sql.migrations_from(version, where):
            for statement in statements:
                db.execute(statement)
            db.execute(sql.WRITE_SCHEMA, (number,))


def _write(db: sqlite3.Connection, table: Table, write: Write) -> Row | StreamiterError:
    if db.execute(*sql.write(table, write)).rowcount == 1:
        return write.row._replace(version=next_version(write.expected))
    return Conflict(write.row.key, write.expected, _read(db, table, write.row.key))


def _read(db: sqlite3.Connection, table: Table, key: str) -> Row | None:
    found = db.execute(*sql.read(table, key)).fetchone()
    return None if found is None else sql.to_row(table, found)
