"""The layout of a SQLite log's file: topics, counts of partitions, a table for each partition's entries; and its statements.

streamiter_log_schema       the version of this layout
streamiter_log_clock        one row: the greatest stamp of the file
streamiter_log_topics       a topic: its name, its number, and its incarnation, which no other topic of this name has
streamiter_log_partitions   of each partition: the number of the entry that comes next, the greatest that was trimmed
streamiter_log_TOPIC_N      the entries of a partition N: number, stamp_us, payload, key, headers (MessagePack)
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from streamiter.errors import InvalidStream
from streamiter.log.base import Entry
from streamiter.sqlitefile import LOG_SCHEMA, STORE_SCHEMA, has_table, transaction

VERSION = 1
_CREATE = (
    f"CREATE TABLE {LOG_SCHEMA} (version INTEGER NOT NULL)",
    "CREATE TABLE streamiter_log_clock (last_us INTEGER NOT NULL)",
    """CREATE TABLE streamiter_log_topics (
        topic_id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, incarnation TEXT NOT NULL, partitions INTEGER NOT NULL)""",
    """CREATE TABLE streamiter_log_partitions (
        topic_id INTEGER NOT NULL, partition_number INTEGER NOT NULL, next_number INTEGER NOT NULL, trimmed INTEGER NOT NULL,
        PRIMARY KEY (topic_id, partition_number)) WITHOUT ROWID""",
    f"INSERT INTO {LOG_SCHEMA} VALUES ({VERSION})",
    "INSERT INTO streamiter_log_clock VALUES (0)",
)
_ENTRIES = """CREATE TABLE {} (
    number INTEGER PRIMARY KEY, stamp_us INTEGER NOT NULL, payload BLOB, key BLOB, headers BLOB)"""
_STATE = """SELECT next_number, trimmed, last_us FROM streamiter_log_partitions, streamiter_log_clock
    WHERE topic_id = ? AND partition_number = ?"""
_TAKE = """UPDATE streamiter_log_partitions SET next_number = next_number + ?
    WHERE topic_id = ? AND partition_number = ? RETURNING next_number"""
_STAMP = "UPDATE streamiter_log_clock SET last_us = MAX(?, last_us + 1) + ? - 1 RETURNING last_us"

Row = tuple[int, int, "bytes | None", "bytes | None", "bytes | None"]

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(tuple[tuple[str, bytes], ...]).decode


class Topic(NamedTuple):
    """A topic of the file."""

    id: int
    incarnation: str
    partitions: int


class State(NamedTuple):
    """What is known of a partition at a moment."""

    next: int  # the number of the entry that comes next
    trimmed: int  # the greatest number that is gone; all below it are, too
    last_us: int  # the greatest stamp of the whole file


def prepare(db: sqlite3.Connection, where: str, makes: bool) -> None:
    """Makes a connection ready; `makes`: lays a new file out."""
    db.execute("PRAGMA synchronous = FULL")
    if not has_table(db, LOG_SCHEMA):
        if has_table(db, STORE_SCHEMA):
            raise InvalidStream(
                f"{where} is a store's file; keep logs in a file of their own: a busy log makes renewals of leases wait"
            )
        if not makes:
            raise InvalidStream(f"{where} is no log's file: no topic was made in it yet")
        db.execute("PRAGMA journal_mode = WAL")
        with transaction(db):
            if not has_table(db, LOG_SCHEMA):  # another process may have been faster
                for statement in _CREATE:
                    db.execute(statement)
    (version,) = db.execute(f"SELECT MAX(version) FROM {LOG_SCHEMA}").fetchone()
    if version > VERSION:
        raise InvalidStream(
            f"{where} was laid out by a newer streamiter (layout {version}, this one knows up to {VERSION}); "
            "upgrade streamiter here too"
        )


@contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """All that is read inside is as of one moment."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


# -- topics


def topic(db: sqlite3.Connection, name: str) -> Topic | None:
    """The topic of this name."""
    found = db.execute(
        "SELECT topic_id, incarnation, partitions FROM streamiter_log_topics WHERE name = ?", (name,)
    ).fetchone()
    return None if found is None else Topic(*found)


def names(db: sqlite3.Connection) -> str:
    """The topics of the file, for an error."""
    found = [row[0] for row in db.execute("SELECT name FROM streamiter_log_topics ORDER BY name LIMIT 21")]
    shown = ", ".join(repr(name) for name in found[:20])
    return shown + (" and more" if len(found) > 20 else "") or "none"


def grow(db: sqlite3.Connection, name: str, partitions: int) -> None:
    """Makes the topic and its tables, as far as they are lacking."""
    with transaction(db):
        found = topic(db, name)
        if found is None:
            db.execute(
                "INSERT INTO streamiter_log_topics (name, incarnation, partitions) VALUES (?, ?, 0)",
                (name, secrets.token_hex(4)),
            )
            found = topic(db, name)
        assert found is not None
        for partition in range(found.partitions, partitions):
            db.execute(_ENTRIES.format(_table(found, partition)))
            db.execute("INSERT INTO streamiter_log_partitions VALUES (?, ?, 1, 0)", (found.id, partition))
        if partitions > found.partitions:
            db.execute("UPDATE streamiter_log_topics SET partitions = ? WHERE topic_id = ?", (partitions, found.id))


# -- entries


def state(db: sqlite3.Connection, of: Topic, partition: int) -> State | None:
    """The counts of a partition; None where there is none."""
    found = db.execute(_STATE, (of.id, partition)).fetchone()
    return None if found is None else State(*found)


def commits(db: sqlite3.Connection) -> int:
    """A number that another connection's commit changes."""
    found: tuple[int] = db.execute("PRAGMA data_version").fetchone()
    return found[0]


def following(db: sqlite3.Connection, of: Topic) -> dict[int, int]:
    """By partition, the number of the entry that comes next."""
    told = "SELECT partition_number, next_number FROM streamiter_log_partitions WHERE topic_id = ?"
    return dict(db.execute(told, (of.id,)))


def last_us(db: sqlite3.Connection) -> int:
    """The greatest stamp of the file."""
    found: tuple[int] = db.execute("SELECT last_us FROM streamiter_log_clock").fetchone()
    return found[0]


def entries(db: sqlite3.Connection, of: Topic, partition: int, after: int, limit: int) -> sqlite3.Cursor:
    """The entries that follow a number."""
    columns = "number, stamp_us, payload, key, headers"
    table = _table(of, partition)
    return db.execute(f"SELECT {columns} FROM {table} WHERE number > ? ORDER BY number LIMIT ?", (after, limit))


def append(db: sqlite3.Connection, of: Topic, partition: int, new: Sequence[Entry], now_us: int) -> list[int] | None:
    """Writes entries, stamped later than all before them; their numbers, or None where there is no such partition."""
    taken = db.execute(_TAKE, (len(new), of.id, partition)).fetchall()
    if not taken:
        return None
    if not new:
        return []
    numbers = range(taken[0][0] - len(new), taken[0][0])
    stamped = db.execute(_STAMP, (now_us, len(new))).fetchall()
    stamps = range(stamped[0][0] - len(new) + 1, stamped[0][0] + 1)
    rows = [
        (number, stamp_us, entry.payload, entry.key, _pack(entry.headers) if entry.headers else None)
        for number, stamp_us, entry in zip(numbers, stamps, new, strict=True)
    ]
    db.executemany(f"INSERT INTO {_table(of, partition)} VALUES (?, ?, ?, ?, ?)", rows)
    return list(numbers)


def seek(db: sqlite3.Connection, of: Topic, partition: int, known: State, time_us: int) -> int:
    """The number behind which all entries stand that are stamped at this time or later."""
    read = f"SELECT stamp_us FROM {_table(of, partition)} WHERE number = ?"
    low, high = known.trimmed, known.next - 1  # the first is before that time, or gone; so may be all up to the second
    while low < high:
        middle = (low + high + 1) // 2
        (stamp_us,) = db.execute(read, (middle,)).fetchone()
        low, high = (middle, high) if stamp_us < time_us else (low, middle - 1)
    return low


def trim(db: sqlite3.Connection, of: Topic, partition: int, before: int, most: int) -> State | None:
    """Lets go of entries with lower numbers, so many at most."""
    known = state(db, of, partition)
    if known is None:
        return None
    upto = min(before - 1, known.next - 1, known.trimmed + most)
    if upto <= known.trimmed:
        return known
    db.execute(f"DELETE FROM {_table(of, partition)} WHERE number <= ?", (upto,))
    db.execute(
        "UPDATE streamiter_log_partitions SET trimmed = ? WHERE topic_id = ? AND partition_number = ?",
        (upto, of.id, partition),
    )
    return known._replace(trimmed=upto)


def unpack_headers(packed: bytes | None) -> tuple[tuple[str, bytes], ...]:
    """Headers as they were given."""
    return _unpack(packed) if packed else ()


def _table(of: Topic, partition: int) -> str:
    return f"streamiter_log_{int(of.id)}_{int(partition)}"
