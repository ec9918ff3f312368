"""The Postgres store: rows in two tables of a database, for workers on many machines."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from weakref import WeakSet

from streamiter.errors import (
    AccessDenied,
    Conflict,
    InvalidOption,
    InvalidStore,
    LeaseLost,
    MissingExtra,
    StreamiterError,
    TransientError,
)
from streamiter.store import sql
from streamiter.store.base import CALL_SECONDS, Move, Row, Store, Table, Write, next_version

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

_Answer = TypeVar("_Answer")
# Which leases a connection reaches, however it got there: by another name of the server, or through a pooler.
_HOME: sql.Statement = (
    "SELECT system_identifier, current_database(), to_regclass('streamiter_leases')::oid::bigint FROM pg_control_system()",
    (),
)
_PATCHED = "(progress::jsonb || CAST(? AS jsonb))::text"
_LOCK = 0x73747265616D  # "stream" in ASCII: the advisory lock under which the tables are made


class PostgresStore(Store):
    """Rows in a Postgres database, of version 12 or newer; its tables are made where they are missing.

    The URL is libpq's; a password may come from PGPASSWORD, PGPASSFILE or ~/.pgpass, too.
    """

    def __init__(self, url: str, *, call_seconds: float = CALL_SECONDS) -> None:
        self._url = url
        self._call_seconds = call_seconds
        self._lock = threading.Lock()  # a connection serves one call at a time
        self._connection: Connection | None = None
        self._at_home: WeakSet[Any] = WeakSet()  # callers' connections that were found to reach our tables
        self._is_closed = False

    def scan(self, table: Table) -> list[Row]:
        """All rows, as of one moment."""
        return self._call(lambda db: [sql.to_row(table, found) for found in _ask(db, sql.scan(table)).fetchall()])

    def read(self, table: Table, key: str) -> Row | None:
        """One row."""
        return self._call(lambda db: _read(db, table, key))

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        """Compares and sets in one statement."""
        asked = Write(row, expected)
        found = self._call(lambda db: _result(db, table, asked, _ask(db, sql.write(table, asked)).rowcount))
        if isinstance(found, StreamiterError):
            raise found
        return found

    def write_all(self, table: Table, writes: Sequence[Write]) -> list[Row | StreamiterError]:
        """All of them sent at once, in one transaction."""

        def change(db: Connection) -> list[Row | StreamiterError]:
            # Two workers that write the same rows lock them in the same order.
            order = sorted(range(len(writes)), key=lambda index: writes[index].row.key)
            with db.pipeline(), db.transaction():
                asked = {index: _ask(db, sql.write(table, writes[index])) for index in order}
            return [_result(db, table, write, asked[index].rowcount) for index, write in enumerate(writes)]

        return self._call(change)

    def delete(self, table: Table, key: str, expected: int) -> None:
        """Compares and removes in one statement."""

        def change(db: Connection) -> Conflict | None:
            is_done = _ask(db, sql.delete(table, key, expected)).rowcount == 1
            return None if is_done else Conflict(key, expected, _read(db, table, key))

        if error := self._call(change):
            raise error

    def move_checkpoint(self, connection: Any, table: Table, move: Move) -> None:
        """Inside the transaction of a psycopg connection to the same database."""
        if isinstance(connection, _psycopg().AsyncConnection):
            raise InvalidOption(
                "batch.commit() takes a psycopg.Connection; with this one `await batch.acommit(connection)`"
            )
        _check_transaction(connection, _psycopg().Connection, "batch.commit()")
        if connection not in self._at_home:
            self._check_home(connection, _ask(connection, _HOME).fetchone(), self._call(_home), "batch.commit()")
        if _ask(connection, sql.move(table, move, patched=_PATCHED)).fetchone() is None:
            raise LeaseLost(move.key, move.fence)

    async def amove_checkpoint(self, connection: Any, table: Table, move: Move) -> None:
        """Inside the transaction of a psycopg connection whose calls are awaited."""
        if isinstance(connection, _psycopg().Connection):
            raise InvalidOption(
                "batch.acommit() takes a psycopg.AsyncConnection; with this one batch.commit(connection)"
            )
        _check_transaction(connection, _psycopg().AsyncConnection, "batch.acommit()")
        if connection not in self._at_home:
            theirs = await (await _aask(connection, _HOME)).fetchone()
            self._check_home(connection, theirs, await asyncio.to_thread(self._call, _home), "batch.acommit()")
        if await (await _aask(connection, sql.move(table, move, patched=_PATCHED))).fetchone() is None:
            raise LeaseLost(move.key, move.fence)

    def _check_home(self, connection: Any, theirs: object, ours: object, call: str) -> None:
        if theirs != ours:
            raise InvalidOption(f"{call} takes a connection to the app's own store, {self!r}")
        self._at_home.add(connection)

    def tables(self, kind: str) -> list[Table]:
        """The tables that have rows."""
        return self._call(lambda db: [Table(kind, *found) for found in _ask(db, sql.tables(kind)).fetchall()])

    def close(self) -> None:
        """Closes the connection."""
        with self._lock:
            self._is_closed = True
            self._drop()

    def _call(self, call: Callable[[Connection], _Answer]) -> _Answer:
        psycopg = _psycopg()
        with self._lock:
            try:
                db = self._open()
                with _limited(db, self._call_seconds):
                    return call(db)
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                self._drop()  # a connection that broke is of no use; the next call makes another
                raise self._in_our_words(error) from None  # libpq's text may quote the URL
            except psycopg.errors.InsufficientPrivilege as error:
                raise AccessDenied(f"{self!r}: {error.diag.message_primary}; grant it to this user") from error
            except psycopg.Error as error:
                self._drop()
                raise InvalidStore(f"{self!r}: {type(error).__name__}: {error.diag.message_primary}") from error

    def _open(self) -> Connection:
        if self._is_closed:
            raise InvalidStore(f"{self!r} was closed; open another one")
        if self._connection is None:
            limit_ms = int(self._call_seconds * 1000)
            db = _psycopg().connect(
                self._url,
                autocommit=True,
                connect_timeout=max(2, int(self._call_seconds)),  # 2 is libpq's least
                options=f"-c statement_timeout={limit_ms} -c lock_timeout={limit_ms}",
            )
            try:
                with _limited(db, self._call_seconds):
                    _prepare(db, repr(self))
            except BaseException:
                db.close()
                raise
            self._connection = db
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _in_our_words(self, error: Exception) -> StreamiterError:
        state = getattr(error, "sqlstate", None) or ""
        if state.startswith("28"):
            return AccessDenied(
                f"{self!r} refuses this user or password; set PGUSER and PGPASSWORD, or the store's URL"
            )
        if state == "3D000":
            return InvalidStore(f"{self!r}: there is no such database; make it first: createdb NAME")
        return TransientError(f"{self!r}: {type(error).__name__}{f' {state}' if state else ''}: is the server reached?")

    def __repr__(self) -> str:
        parts = urlsplit(self._url)
        return f"PostgresStore('{parts.hostname or 'local'}{parts.path}')"


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtra("psycopg", "postgres") from error
    return psycopg


@contextmanager
def _limited(db: Connection, seconds: float) -> Iterator[None]:
    """Breaks the connection off where the server does not answer: psycopg itself would wait for ever."""
    timer = threading.Timer(seconds, _break_off, [db])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _break_off(db: Connection) -> None:
    # It may be closed by now. A descriptor of its own, for libpq closes the other.
    with suppress(Exception), socket.socket(fileno=os.dup(db.fileno())) as connection:
        connection.shutdown(socket.SHUT_RDWR)


def _prepare(db: Connection, where: str) -> None:
    with db.transaction():
        # CREATE TABLE IF NOT EXISTS fails where two sessions do it at once.
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        is_there = _ask(db, ("SELECT to_regclass('streamiter_schema') IS NOT NULL", ())).fetchone()
        if is_there != (True,):
            _ask(db, (sql.MAKE_SCHEMA, ()))
        (version,) = _ask(db, (sql.READ_SCHEMA, ())).fetchone() or (None,)
        for number, statements in sql.migrations_from(version, where):
            for statement in statements:
                _ask(db, (statement, ()))
            _ask(db, (sql.WRITE_SCHEMA, (number,)))


def _result(db: Connection, table: Table, write: Write, changed: int) -> Row | StreamiterError:
    if changed == 1:
        return write.row._replace(version=next_version(write.expected))
    return Conflict(write.row.key, write.expected, _read(db, table, write.row.key))


def _read(db: Connection, table: Table, key: str) -> Row | None:
    found = _ask(db, sql.read(table, key)).fetchone()
    return None if found is None else sql.to_row(table, found)


def _check_transaction(connection: Any, kind: Any, call: str) -> None:
    """Whether it is a connection of this kind, in a transaction that its caller ends."""
    pg = _psycopg()
    if not isinstance(connection, kind):
        raise InvalidOption(f"{call} takes a psycopg connection here, not a {type(connection).__name__}")
    is_idle = connection.info.transaction_status == pg.pq.TransactionStatus.IDLE
    if connection.autocommit and is_idle:
        raise InvalidOption(f"{call} works in a transaction: `with connection.transaction():`, or autocommit off")


def _home(db: Connection) -> tuple[Any, ...] | None:
    return _ask(db, _HOME).fetchone()


def _ask(db: Connection, statement: sql.Statement) -> psycopg.Cursor[tuple[Any, ...]]:
    text, parameters = statement
    pg = _psycopg()
    cursor: psycopg.Cursor[tuple[Any, ...]] = pg.Cursor(db, row_factory=pg.rows.tuple_row)  # a caller's may be others
    return cursor.execute(text.replace("?", "%s"), parameters)


async def _aask(db: Any, statement: sql.Statement) -> Any:
    text, parameters = statement
    pg = _psycopg()
    return await pg.AsyncCursor(db, row_factory=pg.rows.tuple_row).execute(text.replace("?", "%s"), parameters)
