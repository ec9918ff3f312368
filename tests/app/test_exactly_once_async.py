"""Law 18 on connections whose calls are awaited: psycopg's AsyncConnection to a real server, and one shaped as aiosqlite's."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import psycopg.rows
import pytest

from streamiter import App, Retry
from streamiter.app.virtual.given import GivenRecords
from streamiter.clock import SystemClock
from streamiter.errors import InvalidOption, LeaseLost
from streamiter.lease import Lease
from streamiter.store import Move, Table
from streamiter.store.memory import MemoryStore
from streamiter.store.postgres import PostgresStore
from streamiter.store.sqlite import SqliteStore
from tests.store.servers import postgres

LEASES = Table("leases", "shop", "book")
MOVE = Move("S1", "me", 3, "7", progress={"order": 9})


class AioSqlite:
    """What aiosqlite's Connection looks like, as far as it is asked here: calls on a thread, to be awaited."""

    def __init__(self, path: Path, **options: Any) -> None:
        self._db = sqlite3.connect(path, timeout=30, check_same_thread=False, **options)

    async def execute(self, statement: str, parameters: Any = ()) -> Any:
        return await asyncio.to_thread(self._db.execute, statement, parameters)

    async def execute_fetchall(self, statement: str, parameters: Any = ()) -> Any:
        return await asyncio.to_thread(lambda: self._db.execute(statement, parameters).fetchall())

    async def commit(self) -> None:
        await asyncio.to_thread(self._db.commit)

    async def rollback(self) -> None:
        await asyncio.to_thread(self._db.rollback)

    async def close(self) -> None:
        self._db.close()

    @property
    def in_transaction(self) -> bool:
        return self._db.in_transaction

    @property
    def isolation_level(self) -> str | None:
        return self._db.isolation_level


class Place:
    """A store with a lease and a table of effects, and connections to its database."""

    insert = "INSERT INTO effects VALUES (%s)"

    def __init__(self, store: Any, url: str) -> None:
        self.store, self.url = store, url
        store.write(LEASES, Lease("S1", owner="me", fence=3, checkpoint="5").row, None)

    async def connect(self) -> Any:
        return await psycopg.AsyncConnection.connect(self.url)

    def effects(self) -> list[str]:
        with psycopg.connect(self.url) as db:
            return [key for (key,) in db.execute("SELECT id FROM effects").fetchall()]

    def standing(self) -> tuple[str, int]:
        row = self.store.read(LEASES, "S1")
        return row.fields["checkpoint"], row.version


class FilePlace(Place):
    insert = "INSERT INTO effects VALUES (?)"

    async def connect(self) -> Any:
        return AioSqlite(Path(self.url.removeprefix("sqlite:///")))

    def effects(self) -> list[str]:
        with sqlite3.connect(self.url.removeprefix("sqlite:///")) as db:
            return [key for (key,) in db.execute("SELECT id FROM effects").fetchall()]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with postgres() as port:
        yield port


@pytest.fixture(params=["postgres", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        path = tmp_path / "shop.db"
        with SqliteStore(path) as files:
            files.tables("leases")
            with sqlite3.connect(path) as db:
                db.execute("CREATE TABLE effects (id TEXT)")
            yield FilePlace(files, f"sqlite:///{path}")
        return
    url = f"postgresql://postgres@127.0.0.1:{request.getfixturevalue('port')}/postgres"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("DROP TABLE IF EXISTS effects, streamiter_leases, streamiter_rows, streamiter_schema")
        admin.execute("CREATE TABLE effects (id TEXT)")
    with PostgresStore(url) as store:
        yield Place(store, url)


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_effect_and_checkpoint_stand_together_or_not_at_all(place, ending):
    async def work() -> None:
        connection = await place.connect()
        await connection.execute(place.insert, ("r1",))
        await place.store.amove_checkpoint(connection, LEASES, MOVE)
        await getattr(connection, ending)()
        await connection.close()

    asyncio.run(work())
    stands = ending == "commit"
    assert place.standing() == (("7", 2) if stands else ("5", 1))
    assert place.effects() == (["r1"] if stands else [])
    assert place.store.read(LEASES, "S1").fields["progress"] == ({"order": 9} if stands else {})


def test_a_lease_that_is_not_held_is_lost(place):
    async def work() -> None:
        connection = await place.connect()
        for wrong in (MOVE._replace(owner="other"), MOVE._replace(fence=2), MOVE._replace(unless=("5",))):
            with pytest.raises(LeaseLost):
                await place.store.amove_checkpoint(connection, LEASES, wrong)
        await connection.rollback()
        await connection.close()

    asyncio.run(work())
    assert place.standing() == ("5", 1)


def test_connections_of_every_kind_take_part(place):
    if isinstance(place, FilePlace):
        kinds: list[Any] = [AioSqlite(Path(place.url.removeprefix("sqlite:///")), isolation_level="IMMEDIATE")]
    else:
        kinds = [{"row_factory": psycopg.rows.dict_row}, {"cursor_factory": psycopg.AsyncRawCursor}]

    async def work() -> None:
        for kind in kinds:
            made = await psycopg.AsyncConnection.connect(place.url, **kind) if isinstance(kind, dict) else kind
            await place.store.amove_checkpoint(made, LEASES, MOVE)
            await made.commit()
            await made.close()

    asyncio.run(work())
    assert place.standing() == ("7", 1 + len(kinds))


def test_a_connection_of_the_other_kind_or_elsewhere_is_refused(place, tmp_path):
    async def work() -> None:
        asynchronous = await place.connect()
        with pytest.raises(InvalidOption, match=r"commit\(\) takes"):
            place.store.move_checkpoint(asynchronous, LEASES, MOVE)
        await asynchronous.close()
        is_file = isinstance(place, FilePlace)
        plain: Any = sqlite3.connect(tmp_path / "shop.db") if is_file else psycopg.connect(place.url)
        with plain, pytest.raises(InvalidOption, match=r"batch\.acommit\(\) takes"):
            await place.store.amove_checkpoint(plain, LEASES, MOVE)
        if is_file:
            elsewhere: Any = AioSqlite(tmp_path / "other.db")
            open_ended: Any = AioSqlite(tmp_path / "shop.db", isolation_level=None)
        else:
            elsewhere = await psycopg.AsyncConnection.connect(place.url.rpartition("/")[0] + "/template1")
            open_ended = await psycopg.AsyncConnection.connect(place.url, autocommit=True)
        with pytest.raises(InvalidOption, match="takes a connection to the app's own store"):
            await place.store.amove_checkpoint(elsewhere, LEASES, MOVE)
        with pytest.raises(InvalidOption, match="works in a transaction"):
            await place.store.amove_checkpoint(open_ended, LEASES, MOVE)
        await elsewhere.close()
        await open_ended.close()

    asyncio.run(work())
    assert place.standing() == ("5", 1)


def test_a_store_without_transactions_says_so():
    with pytest.raises(InvalidOption, match=r"batch\.acommit\(\) wants an app whose store is SQLite or Postgres"):
        asyncio.run(MemoryStore().amove_checkpoint(None, LEASES, MOVE))


@pytest.mark.parametrize("order", ["shard", "total"])
def test_an_app_whose_processor_fails_everywhere_leaves_each_effect_once(place, order):
    """On the machine's clock; also where the connection breaks before, or right behind, the COMMIT."""
    chance = Random(order)
    given = GivenRecords(shards=2)
    given.use_clock(lambda: int(SystemClock().now() * 1e6))
    for number in range(60):
        given.put({"id": f"r{number}"})
    app = App("fails", store=place.url, checkpoint_every=0.05)
    troubles = 15

    async def step(connection: Any) -> None:
        nonlocal troubles
        if troubles and chance.random() < 0.2:
            troubles -= 1
            if chance.random() < 0.5:
                await connection.close()
            raise ValueError("it fails here")

    @app.processor(given, order=order, size=5, within=0.0, on_error=Retry(after=[0.01] * 100))
    async def book(batch: Any) -> None:
        connection = await place.connect()
        try:
            await step(connection)
            for record in batch:
                await connection.execute(place.insert, (record.key["id"],))
            await step(connection)
            await batch.acommit(connection)
            await step(connection)
            await connection.commit()
            await step(connection)
        finally:
            await connection.close()
            if len(set(place.effects())) == 60:
                app.stop()

    app.run()
    assert sorted(place.effects()) == sorted(f"r{number}" for number in range(60))
