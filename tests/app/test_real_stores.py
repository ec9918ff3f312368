"""Two workers of an app over each real store: one processes, the other comes, the first goes; nothing is lost or twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from streamiter import DynamoDBStreams
from streamiter.app import App, Completed, HandedOver, LeaseTaken
from streamiter.store import Store
from streamiter.store.dynamodb import DynamoDBStore
from streamiter.store.kcl import KCLStore
from streamiter.store.postgres import PostgresStore
from streamiter.store.redis import RedisStore
from streamiter.store.sqlite import SqliteStore
from streamiter.testing import Simulator
from tests.store import servers

SHARDS = 4
RECORDS = 120

Opens = Callable[[], Store]


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.valkey(tmp_path_factory.mktemp("valkey")) as port:
        yield f"redis://127.0.0.1:{port}/0"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with servers.postgres() as port:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"


@pytest.fixture(params=["sqlite", "postgres", "valkey", "dynamodb of moto", "dynamodb of ours", "kcl"])
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opens]:
    """Opens the store anew for each worker, as a process would."""
    kind: str = request.param
    if kind == "sqlite":
        yield lambda: SqliteStore(tmp_path / "shop.db")
    elif kind == "postgres":
        url = request.getfixturevalue("postgres")
        yield lambda: PostgresStore(url)
    elif kind == "valkey":
        url = request.getfixturevalue("valkey")
        yield lambda: RedisStore(url)
    elif kind == "dynamodb of moto":
        with mock_aws():
            client = boto3.client("dynamodb", region_name="eu-west-1")
            yield lambda: DynamoDBStore("fleet", client=client)
    else:
        make = KCLStore if kind == "kcl" else DynamoDBStore
        with Simulator(table=None) as sim:
            yield lambda: make("fleet", endpoint_url=sim.endpoint_url, region="eu-west-1")


class Line:
    """What both workers were handed, and what befell their leases."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str]] = []
        self.events: list[tuple[str, object]] = []
        self.news = asyncio.Event()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not is_so():
                self.news.clear()
                await self.news.wait()

    def of(self, worker: str, kind: type) -> list[str]:
        return [event.lease for name, event in self.events if name == worker and isinstance(event, kind)]


def worker(name: str, sim: Simulator, store: Store, line: Line) -> App:
    def tell(event: object) -> None:
        line.events.append((name, event))
        line.news.set()

    app = App("shop", store=store, failover=2.0, worker_id=name, on_event=tell)

    @app.processor(DynamoDBStreams(sim.stream_arn, client=sim.client()))
    async def work(record):
        line.got.append((name, record.key["id"]))
        line.news.set()

    return app


def put(sim: Simulator, shards: list[str], first: int) -> None:
    for number in range(first, first + RECORDS):
        sim.put(shards[number % len(shards)], key=f"u{number}", new={"id": f"u{number}"})


def test_leases_are_shared_handed_over_and_released(opens: Opens):
    async def run() -> Line:
        line = Line()
        one, two = (worker(name, sim, opens(), line) for name in ("one", "two"))
        first = asyncio.create_task(one.serve())
        await line.until(lambda: len(line.got) == RECORDS)
        second = asyncio.create_task(two.serve())
        await line.until(lambda: len(line.of("two", LeaseTaken)) == SHARDS // 2)
        put(sim, shards, RECORDS)
        await line.until(lambda: len(line.got) == 2 * RECORDS)
        one.stop()
        await first
        children = [*sim.split(shards[0]), *shards[1:]]
        put(sim, children, 2 * RECORDS)
        await line.until(lambda: len(line.got) == 3 * RECORDS and line.of("two", Completed) == [shards[0]])
        two.stop()
        await second
        return line

    with Simulator() as sim:
        shards = [f"S{number}" for number in range(1, SHARDS + 1)]
        sim.shape("; ".join(shards))
        put(sim, shards, 0)
        line = asyncio.run(run())
    keys = [key for _, key in line.got]
    assert sorted(keys) == sorted(f"u{number}" for number in range(3 * RECORDS)), "nothing lost, nothing twice"
    assert {name for name, _ in line.got} == {"one", "two"}
    assert len(line.of("one", HandedOver)) == SHARDS, "two were asked for, two released as it stopped"
    assert {"S1", "S2", "S3", "S4"} <= set(line.of("two", LeaseTaken))
