"""Books: a made-up database that is the store, too: transactions over its rows and a table of effects, which can end badly.

Whether a transaction may move a checkpoint, and to what, is decided by the statement that the SQL stores send.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Self

from streamiter.errors import LeaseLost, TransientError
from streamiter.lease.lease import ACCEPTED, END, TOTAL
from streamiter.store import Row, Table
from streamiter.store.base import Move, Write
from streamiter.store.memory import MemoryStore

Mark = tuple[str, str]  # a shard, and a record's number


class Broken(Exception):
    """The connection broke: nobody knows whether the transaction was committed."""


class Locked(Exception):
    """Another transaction has the row, and was waited for in vain."""


class Statements:
    """The SQL stores' own statements, on one row at a time."""

    def __init__(self, sql: Any) -> None:
        self._sql = sql
        self._rows = sqlite3.connect(":memory:", isolation_level=None)
        for statement in sql.MIGRATIONS[0]:
            self._rows.execute(statement)

    def moved(self, table: Table, row: Row | None, move: Move) -> Row | None:
        """The row as the move leaves it; None: it is refused."""
        sql, rows = self._sql, self._rows
        rows.execute("DELETE FROM streamiter_leases")
        if row is not None:
            rows.execute(*sql.write(table, Write(row, None)))
        if not rows.execute(*sql.move(table, move, patched="json_patch(progress, ?)")).fetchall():
            return None
        found: Row = sql.to_row(table, rows.execute(*sql.read(table, move.key)).fetchone())
        return found

    def close(self) -> None:
        """Closes the database."""
        self._rows.close()


class Books(MemoryStore):
    """Rows, and what processors wrote beside them. `later` has something happen so many seconds from now."""

    def __init__(self, chance: Random, later: Callable[[float, Callable[[], None]], None], sql: Any) -> None:
        super().__init__()
        self._statements = Statements(sql)
        self.chance = chance
        self.is_calm = False
        self.patience = chance.choice((1.0, 4.0, 15.0))  # seconds until the server gives up a connection that broke
        self.entries: dict[str, set[Mark]] = defaultdict(set)  # by processor
        self.clerks: dict[str, Clerk] = {}
        self.is_dead: Callable[[str], bool] = lambda worker: False
        self.broken = 0  # connections, at a commit
        self.refused = 0  # moves of checkpoints, for the lease was another worker's, or its work was done
        self.later = later
        self.stall: Callable[[str], None] = lambda worker: None
        self.on_refusal: Callable[[], None] = lambda: None
        self._locks: dict[tuple[Table, str], Transaction] = {}

    def begin(self, worker: str, processor: str) -> Transaction:
        """A transaction of one worker's processor."""
        return Transaction(self, worker, processor)

    # -- the store

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        """As a database does it: a row that a transaction has is waited for, here in vain."""
        self._wait_for(table, row.key)
        written = super().write(table, row, expected)
        if table.kind == "leases" and table.stream in self.clerks:
            self.clerks[table.stream].check(written)
        return written

    def delete(self, table: Table, key: str, expected: int) -> None:
        """The same."""
        self._wait_for(table, key)
        super().delete(table, key, expected)

    def move_checkpoint(self, connection: Any, table: Table, move: Move) -> None:
        """Inside the transaction; the row is its own until that ends."""
        assert isinstance(connection, Transaction)
        assert connection.is_open
        holder = self._holder(table, move.key)
        if holder is not None and holder is not connection:
            raise Locked
        if self._statements.moved(table, self.read(table, move.key), move) is None:
            self.refused += 1
            raise LeaseLost(move.key, move.fence)
        self._locks[table, move.key] = connection
        connection.moves.append((table, move))

    async def amove_checkpoint(self, connection: Any, table: Table, move: Move) -> None:
        """The same, by a server that takes its time, and waits for who has the row."""
        await asyncio.sleep(self.chance.uniform(0, self.patience) if self.chance.random() < 0.1 else 0.001)
        self.move_checkpoint(connection, table, move)

    # -- what transactions ask

    def apply(self, transaction: Transaction) -> None:
        """The transaction is committed: all of it at once."""
        clerk = self.clerks[transaction.processor]
        clerk.enter(transaction.records)
        self.free(transaction)
        for table, move in transaction.moves:
            row = self.read(table, move.key)
            moved = self._statements.moved(table, row, move)
            assert row is not None
            assert moved is not None, "its row was locked since"
            self.write(table, moved, row.version)

    def end(self) -> None:
        """Lets go of the statements' database."""
        self._statements.close()

    def free(self, transaction: Transaction) -> None:
        """Its rows are anybody's."""
        self._locks = {row: holder for row, holder in self._locks.items() if holder is not transaction}

    def _wait_for(self, table: Table, key: str) -> None:
        if self._holder(table, key) is not None:
            self.on_refusal()
            raise TransientError("another transaction has the row")

    def _holder(self, table: Table, key: str) -> Transaction | None:
        holder = self._locks.get((table, key))
        if holder is not None and holder.is_open and self.is_dead(holder.worker):
            holder.rollback()  # its process was killed: the server sees its connection close
            return None
        return holder


class Transaction:
    """One transaction: effects of records, and checkpoints, together or not at all."""

    def __init__(self, books: Books, worker: str, processor: str) -> None:
        self.worker, self.processor = worker, processor
        self.records: list[Any] = []
        self.moves: list[tuple[Table, Move]] = []
        self.is_open = True
        self._books = books

    def insert(self, record: Any) -> None:
        """An effect of this record."""
        assert self.is_open
        self.records.append(record)

    def stall(self) -> None:
        """Its worker stands still, in the middle of it."""
        self._books.later(0, lambda: self._books.stall(self.worker))

    def commit(self) -> None:
        """Both stand, or the connection breaks: then they stand already, will stand, or never do."""
        assert self.is_open
        self.is_open = False
        books = self._books
        match books.chance.choice(("", "", "", "", "lost", "late", "answer")) if not books.is_calm else "":
            case "lost":
                books.later(books.chance.uniform(0, books.patience), self.rollback)
            case "late":
                books.later(books.chance.uniform(0, books.patience), self._apply)
            case "answer":
                self._apply()
            case _:
                self._apply()
                return
        books.broken += 1
        books.clerks[self.processor].doubt(self.records)
        raise Broken

    def rollback(self) -> None:
        """Nothing of it stands."""
        self.is_open = False
        self._books.free(self)

    def _apply(self) -> None:
        self._books.apply(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_open:
            self.rollback()


class Clerk:
    """Law 18, of one processor: no effect stands twice, none is lacking behind a checkpoint, none lies beyond it."""

    def __init__(self, books: Books, observer: Any, wants: Callable[[Any], bool]) -> None:
        self._entries = books.entries[observer.processor]
        self._observer = observer
        self._wants = wants

    def enter(self, records: Sequence[Any]) -> None:
        """Effects stand."""
        for record in records:
            mark = record.shard_id, record.sequence_number
            if mark in self._entries:
                self._observer.wrong(18, f"the effect of record {mark[1]} of {mark[0]} stands twice")
            self._entries.add(mark)
        self._observer.committed(records)

    def doubt(self, records: Sequence[Any]) -> None:
        """Nobody knows whether these effects stand."""
        self._observer.doubted(records)

    def check(self, row: Row) -> None:
        """A lease was written: the effects that stand are those up to its checkpoint."""
        if row.key == TOTAL:
            return
        records = self._observer.laws.truth.shards[row.key].records
        checkpoint = row.fields["checkpoint"]
        place = len(records) if checkpoint == END else self._observer.tap.place_of(row.key, checkpoint)
        for number, record in enumerate(records, 1):
            stands = (row.key, record.sequence_number) in self._entries
            if self._is_lost(row.key, number) and (not stands or ACCEPTED in row.fields["progress"]):
                continue
            if stands != (number <= place and self._wants(record)):
                what = "stands beyond" if stands else "is lacking behind"
                self._observer.wrong(18, f"the effect of record {number} of {row.key} {what} the checkpoint, {place}")
                return

    def _is_lost(self, shard_id: str, number: int) -> bool:
        """Whether it is held no more. That nothing is lost without a gap is for the observer."""
        return bool(number <= self._observer.laws.truth.shards[shard_id].trimmed)

    def check_all(self) -> None:
        """At the end: all effects stand."""
        for shard in self._observer.laws.truth.shards.values():
            self._check_shard(shard.id, shard.records)

    def _check_shard(self, shard_id: str, records: Sequence[Any]) -> None:
        lacking = [
            record.sequence_number
            for number, record in enumerate(records, 1)
            if self._wants(record) and (shard_id, record.sequence_number) not in self._entries
            if not self._is_lost(shard_id, number)
        ]
        if lacking:
            self._observer.wrong(18, f"of {shard_id} the effects of {len(lacking)} records are lacking")
