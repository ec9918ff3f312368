"""Effects in the app's own SQLite file, as a processor writes them; and worlds in which its workers die in the middle."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from streamiter import App
from streamiter.app.virtual.given import GivenRecords
from streamiter.app.virtual.process import WorkerProcess
from streamiter.app.virtual.world import World
from streamiter.store.sqlite import SqliteStore
from streamiter.testing import ManualClock

Step = Callable[[str], Awaitable[None]]


class Ledger:
    """A table of effects beside the leases. Nothing in it keeps an effect from standing twice."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open: list[sqlite3.Connection] = []
        with self.connected() as db:
            db.execute("CREATE TABLE IF NOT EXISTS effects (lease TEXT, id TEXT)")
            db.commit()

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """A connection that does not wait for others."""
        db = sqlite3.connect(self.path, timeout=0)
        self._open.append(db)
        try:
            yield db
        finally:
            db.close()

    def break_off(self) -> None:
        """As the system does with what a process had open when it was killed: transactions are rolled back."""
        for db in self._open:
            db.close()
        self._open.clear()

    def effects(self) -> list[tuple[str, str]]:
        """All of them, in the order in which they were written."""
        with self.connected() as db:
            return db.execute("SELECT lease, id FROM effects ORDER BY rowid").fetchall()

    async def write(self, batch: Any, step: Step) -> None:
        """A processor's work: each record's effect, then the checkpoint, in one transaction."""
        with self.connected() as db:
            await step("before all")
            db.execute("BEGIN IMMEDIATE")
            for record in batch:
                await step("before an effect")
                db.execute("INSERT INTO effects VALUES (?, ?)", (batch.lease.key, record.key["id"]))
            await step("before the checkpoint")
            batch.commit(db)
            await step("before the commit")
            db.commit()
            await step("after the commit")


class Stage:
    """A world with one stream, a SQLite store, and a worker that may be killed at a step of its processor."""

    opened: ClassVar[list[Stage]] = []

    def __init__(self, app: App, path: Path, *, records: int, shards: int = 1) -> None:
        self.given = GivenRecords(({"id": f"r{number}"} for number in range(records)), shards=shards)
        self.world = World(app, self.given)
        # Its clock is not the machine's: where others keep the file locked, it gives up at once.
        self.world.store = SqliteStore(path, clock=ManualClock())
        self.process: WorkerProcess | None = None
        Stage.opened.append(self)
        self._count = 0

    def start(self) -> WorkerProcess:
        """One more worker."""
        self._count += 1
        self.process = self.world.start(f"worker {self._count}")
        return self.process

    async def die(self) -> None:
        """From within a processor: its process is killed at this point."""
        assert self.process is not None
        self.process.kill()
        await asyncio.sleep(1e9)

    def finish(self, ledger: Ledger) -> None:
        """Workers begin, and are replaced when they die, until all is processed."""
        for _ in range(100):
            ledger.break_off()
            process = self.start()
            for _ in range(600):
                self.world.run(1)
                if process.is_dead or {key for _, key in ledger.effects()} >= self._wanted():
                    break
            self.world.run(5)  # what comes twice comes soon
            if not process.is_dead:
                process.leave()
                self.world.run(100, lambda p=process: p.is_dead)  # type: ignore[misc]
                assert process.error is None, process.error
                return
        raise AssertionError("it never caught up")

    def _wanted(self) -> set[str]:
        return {record.key["id"] for shard in self.given.shards.values() for record in shard.records}

    def close(self) -> None:
        """Clears all workers away."""
        Stage.opened.remove(self)
        with suppress(sqlite3.ProgrammingError):
            self.world.close()
        self.world.store.close()

    def assert_each_once(self, ledger: Ledger) -> None:
        """Each record's effect stands once, and, shard by shard, in order."""
        effects = ledger.effects()
        assert sorted(key for _, key in effects) == sorted(self._wanted())
        for name, shard in self.given.shards.items():
            wanted = [record.key["id"] for record in shard.records]
            assert [key for lease, key in effects if lease == name] in (wanted, [])
