"""Every backend keeps the contract of stores, over real servers; and a store that does not is found out."""

from __future__ import annotations

import copy
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import boto3
import pytest
import redis
from moto import mock_aws

from streamiter.errors import Conflict, InvalidStore, TransientError
from streamiter.store import Row, Store, Table
from streamiter.store.dynamodb import DynamoDBStore
from streamiter.store.memory import MemoryStore
from streamiter.store.postgres import PostgresStore
from streamiter.store.redis import RedisStore
from streamiter.store.sqlite import SqliteStore
from streamiter.testing import ContractBroken, LossyProxy, Simulator, StoreRig, check_store
from tests.store import servers

SHORT = 0.5  # seconds: how long a store waits for a server that keeps silent; no other call depends on it


@contextmanager
def memory_rig() -> Iterator[StoreRig]:
    store = Faulty()
    yield StoreRig(store, lambda: Sharing(store), lose_answer=store.lose, fail=store.fail)


class Faulty(MemoryStore):
    """A memory store whose next call meets a fault, or whose next write's answer is lost."""

    _loses = _fails = False

    def lose(self) -> None:
        self._loses = True

    def fail(self) -> None:
        self._fails = True

    def _meet_fault(self) -> None:
        if self._fails:
            self._fails = False
            raise TransientError("planted")

    def scan(self, table):
        self._meet_fault()
        return super().scan(table)

    def read(self, table, key):
        self._meet_fault()
        return super().read(table, key)

    def write(self, table, row, expected):
        self._meet_fault()
        written = super().write(table, row, expected)
        if self._loses:
            self._loses = False
            raise TransientError("the answer is lost")
        return written


class Sharing(Store):
    """Another handle on a memory store's rows."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def scan(self, table: Table) -> list[Row]:
        return self._store.scan(table)

    def read(self, table: Table, key: str) -> Row | None:
        return self._store.read(table, key)

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        return self._store.write(table, row, expected)

    def delete(self, table: Table, key: str, expected: int) -> None:
        self._store.delete(table, key, expected)

    def tables(self, kind: str) -> list[Table]:
        return self._store.tables(kind)


@pytest.fixture(scope="module")
def valkey_port(tmp_path_factory) -> Iterator[int]:
    with servers.valkey(tmp_path_factory.mktemp("valkey")) as port:
        yield port


@pytest.fixture(scope="module")
def postgres_port() -> Iterator[int]:
    with servers.postgres() as port:
        yield port


@pytest.fixture(autouse=True)
def credentials(monkeypatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")


def postgres_url(port: int) -> str:
    return f"postgresql://postgres@127.0.0.1:{port}/postgres"


def lacking(report) -> set[str]:
    return set(report.passed_over.values())


def test_memory():
    assert lacking(check_store(memory_rig)) == {
        "the rig has no url",
        "the rig has no throttle",
        "the rig has no silence and no hasty",
    }


def test_sqlite(tmp_path):
    files = iter(range(1000))

    @contextmanager
    def rig() -> Iterator[StoreRig]:
        path = tmp_path / f"{next(files)}.db"
        with SqliteStore(path) as store:
            yield StoreRig(store, lambda: SqliteStore(path), url=f"sqlite:///{path}")

    # Nothing lies between a process and its file that could lose an answer; what a kill does is tested below.
    assert not {"the rig has no url"} & lacking(check_store(rig))


def test_redis(valkey_port):
    @contextmanager
    def rig() -> Iterator[StoreRig]:
        proxy = LossyProxy(valkey_port)
        url = f"redis://127.0.0.1:{valkey_port}/0"
        near = f"redis://127.0.0.1:{proxy.port}/0"
        with RedisStore(near) as store:
            with redis.Redis(port=valkey_port) as client:
                client.flushdb()
            store.read(Table("warm", "up"), "x")  # a connection begins with questions of the client's own
            yield StoreRig(
                store,
                lambda: RedisStore(url),
                url=url,
                lose_answer=proxy.lose_answer,
                fail=proxy.cut,
                silence=proxy.silence,
                hasty=lambda: RedisStore(near, call_seconds=SHORT),
            )
        proxy.close()

    assert lacking(check_store(rig)) == {"the rig has no throttle"}


def test_postgres(postgres_port):
    import psycopg

    url = postgres_url(postgres_port)

    @contextmanager
    def rig() -> Iterator[StoreRig]:
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("DROP TABLE IF EXISTS streamiter_leases, streamiter_rows, streamiter_schema")
        proxy = LossyProxy(postgres_port)
        with PostgresStore(postgres_url(proxy.port)) as store:
            store.read(Table("warm", "up"), "x")
            yield StoreRig(
                store,
                lambda: PostgresStore(url),
                url=url,
                lose_answer=proxy.lose_answer,
                fail=proxy.cut,
                silence=proxy.silence,
                hasty=lambda: PostgresStore(postgres_url(proxy.port), call_seconds=SHORT),
            )
        proxy.close()

    assert lacking(check_store(rig)) == {"the rig has no throttle"}


def test_dynamodb_of_the_simulator():
    @contextmanager
    def rig() -> Iterator[StoreRig]:
        with Simulator(table=None, hosts=["127.0.0.1"]) as sim:  # the proxy has another port
            proxy = LossyProxy(int(sim.endpoint_url.rpartition(":")[2]))
            near = f"http://127.0.0.1:{proxy.port}"

            def store(url: str, **options) -> Store:
                return DynamoDBStore("fleet", endpoint_url=url, region="eu-west-1", **options)

            with store(near) as opened:
                opened.read(Table("warm", "up"), "x")
                yield StoreRig(
                    opened,
                    lambda: store(sim.endpoint_url),
                    url="dynamodb://fleet",
                    environment={"AWS_ENDPOINT_URL": sim.endpoint_url},
                    lose_answer=proxy.lose_answer,
                    throttle=lambda: sim.fault(kind="throttle", operation="PutItem"),
                    fail=lambda: sim.fault(kind="500"),
                    silence=proxy.silence,
                    hasty=lambda: store(near, call_seconds=SHORT),
                )
            proxy.close()

    assert lacking(check_store(rig)) == set()


def test_dynamodb_of_moto():
    @contextmanager
    def rig() -> Iterator[StoreRig]:
        with mock_aws():
            client = boto3.client("dynamodb", region_name="eu-west-1")
            store = DynamoDBStore("fleet", client=client)
            # Two conditional writes at once are both done: moto compares and sets in two steps.
            yield StoreRig(store, lambda: DynamoDBStore("fleet", client=client), takes_threads=None)

    assert "the rig has no url" in lacking(check_store(rig))


class Careless(MemoryStore):
    def write(self, table, row, expected):
        try:
            return super().write(table, row, expected)
        except Conflict as conflict:
            return super().write(table, row, conflict.standing and conflict.standing.version)


class Forgetful(MemoryStore):
    def scan(self, table):
        return super().scan(table)[:250]


class Merging(MemoryStore):
    def write(self, table, row, expected):
        standing = self.read(table, row.key)
        fields = {**(standing.fields if standing else {}), **row.fields}
        return super().write(table, row._replace(fields=fields), expected)


class Careless2(Faulty):
    def write(self, table, row, expected):
        before = self.read(table, row.key)
        try:
            return super().write(table, row, expected)
        except TransientError:
            if before is None:
                self.delete(table, row.key, 1)  # it was not done after all: then nobody can find it
            raise


@pytest.mark.parametrize(
    "kind, what",
    [
        (Careless, "A row changes only for who names the version"),
        (Forgetful, "A scan gives all rows"),
        (Merging, "A write replaces all of a row"),
        (Careless2, "A write whose answer is lost"),
    ],
)
def test_a_store_that_breaks_a_rule_is_found_out(kind, what):
    @contextmanager
    def rig() -> Iterator[StoreRig]:
        store = kind()
        yield StoreRig(store, lambda: Sharing(store), lose_answer=getattr(store, "lose", None))

    with pytest.raises(ContractBroken, match=what):
        check_store(rig)


def test_threads_that_overwrite_each_other_are_found_out():
    class Racing(MemoryStore):
        def write(self, table, row, expected):
            standing = self.read(table, row.key)
            if (standing and standing.version) != expected:
                raise Conflict(row.key, expected, standing)
            written = copy.deepcopy(row._replace(version=(expected or 0) + 1))
            with self._lock:
                self._tables.setdefault(table, {})[row.key] = written
            return copy.deepcopy(written)

    @contextmanager
    def rig() -> Iterator[StoreRig]:
        store = Racing()
        barrier = threading.Barrier(2)
        read = store.read

        def together(table, key):
            found = read(table, key)
            if table.kind == "race" and found is None:
                with suppress(threading.BrokenBarrierError):
                    barrier.wait(2)  # two writers have looked before either writes
            return found

        store.read = together
        yield StoreRig(store, lambda: Sharing(store))

    with pytest.raises(ContractBroken, match="Of threads that write the same row at once"):
        check_store(rig)


def test_what_a_killed_process_wrote_stands(tmp_path):
    import subprocess
    import sys

    path = tmp_path / "shop.db"
    code = (
        "import os, sys; from streamiter.store import Row, Table, open_store\n"
        "store = open_store(sys.argv[1]); store.write(Table('t', 'a'), Row('k', {'n': 1}), None); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, f"sqlite:///{path}"], check=False)
    assert done.returncode == -9
    with SqliteStore(path) as store:
        assert store.read(Table("t", "a"), "k") == Row("k", {"n": 1}, 1)


def test_the_columns_of_leases_are_those_that_people_know(tmp_path):
    from streamiter.testing.stores.sharing import lease

    with SqliteStore(tmp_path / "shop.db") as store:
        store.write(Table("leases", "shop", "orders"), lease("S1", owner="w1", checkpoint="17"), None)
    with sqlite3.connect(tmp_path / "shop.db") as db:
        cursor = db.execute("SELECT * FROM streamiter_leases")
        names = [column[0] for column in cursor.description]
        assert ", ".join(names[:6]) == "shard_id, app_name, stream_name, lease_owner, lease_count, checkpoint"
        assert names[6:] == ["completed", "fence", "parents", "progress"]
        assert cursor.fetchone()[:7] == ("S1", "shop", "orders", "w1", 1, "17", 0)
    db.close()


def test_a_newer_layout_is_refused_and_an_older_one_is_renewed(tmp_path, monkeypatch):
    from streamiter.store import sql

    path, table = tmp_path / "shop.db", Table("t", "a")
    with SqliteStore(path) as store:
        store.write(table, Row("k", {}), None)
    monkeypatch.setattr(sql, "MIGRATIONS", (*sql.MIGRATIONS, ("ALTER TABLE streamiter_rows ADD COLUMN more TEXT",)))
    with SqliteStore(path) as store:
        assert store.read(table, "k") == Row("k", {}, 1)
    with SqliteStore(path) as store:  # not twice
        assert store.read(table, "k") == Row("k", {}, 1)
    with sqlite3.connect(path) as db:
        assert "more" in [row[1] for row in db.execute("PRAGMA table_info(streamiter_rows)")]
    db.close()
    monkeypatch.undo()
    with (
        SqliteStore(path) as store,
        pytest.raises(InvalidStore, match="newer streamiter .layout 2, this one knows up to 1"),
    ):
        store.read(table, "k")


def test_a_backend_that_lacks_a_method_cannot_be_made():
    class Half(Store):
        def scan(self, table: Table) -> list[Row]:
            return []

    half: Any = Half
    with pytest.raises(TypeError, match="delete.*read.*tables.*write"):
        half()
