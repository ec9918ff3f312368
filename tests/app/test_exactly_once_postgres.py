"""Law 18 with Postgres: a real server, connections of every kind that psycopg has, and two workers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
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
from streamiter.store import Move, Table, Write
from streamiter.store.postgres import PostgresStore
from tests.store.servers import postgres

LEASES = Table("leases", "shop", "book")
MOVE = Move("S1", "me", 3, "7")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with postgres() as port:
        yield port


def url_of(port: int, database: str = "postgres", host: str = "127.0.0.1", user: str = "postgres") -> str:
    return f"postgresql://{user}@{host}:{port}/{database}"


@pytest.fixture
def store(port: int) -> Iterator[PostgresStore]:
    with psycopg.connect(url_of(port), autocommit=True) as admin:
        admin.execute("DROP TABLE IF EXISTS effects, streamiter_leases, streamiter_rows, streamiter_schema")
        admin.execute("CREATE TABLE effects (id TEXT)")
    with PostgresStore(url_of(port)) as store:
        store.write(LEASES, Lease("S1", owner="me", fence=3, checkpoint="5").row, None)
        yield store


@pytest.fixture
def connection(port: int) -> Iterator[Any]:
    with psycopg.connect(url_of(port)) as connection:
        yield connection


def effects(store: PostgresStore) -> int:
    with psycopg.connect(store._url) as db:
        return len(db.execute("SELECT id FROM effects").fetchall())


def standing(store: PostgresStore) -> tuple[str, int]:
    row = store.read(LEASES, "S1")
    return row.fields["checkpoint"], row.version


def test_effect_and_checkpoint_stand_together(store, connection):
    connection.execute("INSERT INTO effects VALUES ('r1')")
    store.move_checkpoint(connection, LEASES, MOVE)
    assert standing(store) == ("5", 1), "not yet"
    connection.commit()
    assert standing(store) == ("7", 2)
    assert effects(store) == 1


def test_what_the_row_says_of_the_new_place_comes_along_and_the_rest_stays(store, connection):
    row = store.read(LEASES, "S1")
    store.write(LEASES, row._replace(fields={**row.fields, "progress": {"order": 1, "rank": ["S1", 0]}}), 1)
    store.move_checkpoint(connection, LEASES, MOVE._replace(progress={"order": 1_750_000_000_000_001}))
    connection.commit()
    told = store.read(LEASES, "S1").fields["progress"]
    assert told == {"order": 1_750_000_000_000_001, "rank": ["S1", 0]}


def test_or_not_at_all(store, connection):
    connection.execute("INSERT INTO effects VALUES ('r1')")
    store.move_checkpoint(connection, LEASES, MOVE)
    connection.rollback()
    assert standing(store) == ("5", 1)
    assert effects(store) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        MOVE._replace(owner="other"),
        MOVE._replace(fence=2),
        MOVE._replace(fence=4),
        MOVE._replace(key="S2"),
        MOVE._replace(unless=("4", "5")),
    ],
)
def test_a_lease_that_is_not_held_is_lost(store, connection, wrong):
    connection.execute("INSERT INTO effects VALUES ('r1')")
    with pytest.raises(LeaseLost):
        store.move_checkpoint(connection, LEASES, wrong)
    connection.rollback()
    assert standing(store) == ("5", 1)
    assert effects(store) == 0


def test_another_worker_that_takes_the_lease_meanwhile_waits_and_is_refused(store, connection, port):
    """The row is locked from the move to the commit."""
    store.move_checkpoint(connection, LEASES, MOVE)
    taken: list[Any] = []
    row = Lease("S1", owner="other", fence=4, checkpoint="5").row

    def take() -> None:
        with PostgresStore(url_of(port)) as other:
            taken.extend(other.write_all(LEASES, [_write(row)]))

    thread = threading.Thread(target=take)
    thread.start()
    while not _waits_for_a_lock(store):
        pass
    connection.commit()
    thread.join()
    assert taken[0].standing.fields["checkpoint"] == "7"
    assert standing(store) == ("7", 2)


def test_a_transaction_waits_for_the_worker_that_takes_its_lease_and_finds_it_lost(store, connection, port):
    with psycopg.connect(url_of(port)) as other:
        other.execute("UPDATE streamiter_leases SET lease_owner = 'other', fence = 4, lease_count = lease_count + 1")
        lost: list[Exception] = []

        def move() -> None:
            try:
                store.move_checkpoint(connection, LEASES, MOVE)
            except LeaseLost as error:
                lost.append(error)

        thread = threading.Thread(target=move)
        thread.start()
        while not _waits_for_a_lock(store):
            pass
        other.commit()
        thread.join()
    assert len(lost) == 1
    connection.rollback()
    assert standing(store) == ("5", 2)


def test_connections_of_every_kind_take_part(store, port):
    kinds = {
        "rows as dicts": {"row_factory": psycopg.rows.dict_row},
        "client-side cursors": {"cursor_factory": psycopg.ClientCursor},
        "raw cursors": {"cursor_factory": psycopg.RawCursor},
        "the server by another name": {"host": "localhost"},
    }
    for version, (name, options) in enumerate(kinds.items(), 2):
        host = options.pop("host", "127.0.0.1")
        with psycopg.connect(url_of(port, host=host), **options) as connection:
            store.move_checkpoint(connection, LEASES, MOVE)
        assert standing(store) == ("7", version), name


def test_a_transaction_in_a_pipeline_takes_part(store, connection):
    with connection.pipeline():
        connection.execute("INSERT INTO effects VALUES ('r1')")
        store.move_checkpoint(connection, LEASES, MOVE)
        with pytest.raises(LeaseLost):
            store.move_checkpoint(connection, LEASES, MOVE._replace(fence=9))
        connection.commit()
    assert standing(store) == ("7", 2)
    assert effects(store) == 1


def test_autocommit_takes_part_only_in_a_transaction(store, port):
    with psycopg.connect(url_of(port), autocommit=True) as connection:
        with pytest.raises(InvalidOption, match="works in a transaction"):
            store.move_checkpoint(connection, LEASES, MOVE)
        with connection.transaction():
            connection.execute("INSERT INTO effects VALUES ('r1')")
            store.move_checkpoint(connection, LEASES, MOVE)
    assert standing(store) == ("7", 2)


def test_another_database_or_schema_is_refused(store, port):
    with psycopg.connect(url_of(port), autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS elsewhere")
        admin.execute("CREATE DATABASE elsewhere")
        admin.execute("CREATE SCHEMA IF NOT EXISTS apart")
    with PostgresStore(url_of(port, "elsewhere")) as twin:  # with tables, and even with the same row
        twin.write(LEASES, Lease("S1", owner="me", fence=3, checkpoint="5").row, None)
    for target in (url_of(port, "elsewhere"), url_of(port, "template1")):
        with psycopg.connect(target) as connection, pytest.raises(InvalidOption, match="the app's own store"):
            store.move_checkpoint(connection, LEASES, MOVE)
    with (
        psycopg.connect(url_of(port), options="-c search_path=apart") as connection,
        pytest.raises(InvalidOption, match="the app's own store"),
    ):
        store.move_checkpoint(connection, LEASES, MOVE)
    assert standing(store) == ("5", 1)


def test_a_user_without_special_rights_takes_part(store, port):
    with psycopg.connect(url_of(port), autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS clerk")
        admin.execute("CREATE ROLE clerk LOGIN")
        admin.execute("GRANT SELECT, UPDATE ON streamiter_leases TO clerk")
    with psycopg.connect(url_of(port, user="clerk")) as connection:
        store.move_checkpoint(connection, LEASES, MOVE)
    assert standing(store) == ("7", 2)
    with psycopg.connect(url_of(port), autocommit=True) as admin:
        admin.execute("DROP OWNED BY clerk")
        admin.execute("DROP ROLE clerk")


def test_something_else_is_refused(store):
    with pytest.raises(InvalidOption, match="takes a psycopg connection here, not a str"):
        store.move_checkpoint("postgresql://", LEASES, MOVE)


@pytest.mark.parametrize("order", ["shard", "total"])
def test_an_app_whose_processor_fails_everywhere_leaves_each_effect_once(store, port, order):
    """With threads and the machine's clock; also where the connection breaks before, or right behind, the COMMIT."""
    chance = Random(order)
    given = GivenRecords(shards=2)
    given.use_clock(lambda: int(SystemClock().now() * 1e6))
    for number in range(120):
        given.put({"id": f"r{number}"})
    app = App("fails", store=url_of(port), checkpoint_every=0.05)
    troubles = 25

    def step(connection: Any) -> None:
        nonlocal troubles
        if troubles and chance.random() < 0.2:
            troubles -= 1
            if chance.random() < 0.5:
                connection.close()
            raise ValueError("it fails here")

    @app.processor(given, order=order, size=5, within=0.0, on_error=Retry(after=[0.01] * 100))
    def book(batch: Any) -> None:
        try:
            with psycopg.connect(url_of(port)) as connection:
                step(connection)
                for record in batch:
                    connection.execute("INSERT INTO effects VALUES (%s)", (record.key["id"],))
                step(connection)
                batch.commit(connection)
                step(connection)
                connection.commit()
                step(connection)
        finally:
            if len(set(found())) == 120:
                app.stop()

    def found() -> list[str]:
        with psycopg.connect(url_of(port)) as db:
            return [key for (key,) in db.execute("SELECT id FROM effects").fetchall()]

    app.run()
    assert sorted(found()) == sorted(f"r{number}" for number in range(120))
    assert not troubles


def _write(row: Any) -> Any:
    return Write(row, 1)


def _waits_for_a_lock(store: PostgresStore) -> bool:
    with psycopg.connect(store._url) as db:
        return bool(db.execute("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'").fetchall())
