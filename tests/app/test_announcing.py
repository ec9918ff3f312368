"""Announcements over a real Valkey: workers that come and go are heard of at once, and people can see who has what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from streamiter import App
from streamiter.errors import TransientError
from streamiter.log import MemoryLog
from streamiter.store import Announcement
from streamiter.store.redis import RedisStore
from tests.store import servers

AN_HOUR = 3600.0
PARTITIONS = 8


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with servers.valkey(tmp_path_factory.mktemp("valkey")) as port:
        yield port


@pytest.fixture
def client(port: int) -> Iterator[redis.Redis]:
    with redis.Redis(port=port, decode_responses=True) as client:
        client.flushdb()
        yield client


def worker(port: int, name: str, log: MemoryLog) -> App:
    # Looks, renewals and deaths are an hour's matter here: all that happens sooner was announced.
    app = App("shop", store=f"redis://127.0.0.1:{port}/0", failover=AN_HOUR, worker_id=name)

    @app.processor(log)
    async def bill(record): ...

    @app.timer(AN_HOUR, on_leader=True)
    async def report(): ...

    return app


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.001)


def held(app: App) -> int:
    stats = app.stats.processors.get("bill")
    return 0 if stats is None else len(stats.leases)


def test_workers_that_join_and_leave_are_heard_of_at_once(port: int, client: redis.Redis):
    log = MemoryLog("orders", partitions=PARTITIONS)

    async def play() -> None:
        first, second, third = (worker(port, name, log) for name in ("w1", "w2", "w3"))
        running = [asyncio.ensure_future(first.serve())]
        await until(lambda: held(first) == PARTITIONS)
        running.append(asyncio.ensure_future(second.serve()))
        await until(lambda: held(first) == held(second) == PARTITIONS // 2)
        running.append(asyncio.ensure_future(third.serve()))
        await until(lambda: sorted(map(held, (first, second, third))) == [2, 3, 3])
        await until(lambda: set(members(client).values()) == {"w1", "w2", "w3"})
        first.stop()
        await running[0]
        await until(lambda: held(second) == held(third) == PARTITIONS // 2)
        second.stop()
        await running[1]
        await until(lambda: held(third) == PARTITIONS)
        await until(lambda: set(members(client).values()) == {"w3"} and client.get("__lead:shop") == "w3")
        assert client.pttl("__lead:shop") > 0
        assert json.loads(client.get("__beat:shop.orders.bill.w3")) == [str(n) for n in range(PARTITIONS)]
        assert client.pttl("__beat:shop.orders.bill.w3") > 0 and not client.exists("__beat:shop.orders.bill.w1")
        third.stop()
        await running[2]

    asyncio.run(play())
    said = [entry for _, entry in client.xrange("__ctrl:shop.orders.bill")]
    assert {entry["what"] for entry in said} >= {"joined", "asks", "released", "left"}
    assert [entry["worker"] for entry in said if entry["what"] == "left"][:2] == ["w1", "w2"]


def members(client: redis.Redis) -> dict[str, str]:
    told = client.get("__memb:shop.orders.bill")
    return {} if told is None else json.loads(told)["partitions"]


def test_what_was_said_while_nobody_could_listen_is_heard_later(tmp_path: Path):
    port = servers.free_port()
    me, other = (Announcement("shop", "orders", "bill", name, "") for name in ("w1", "w2"))
    with RedisStore(f"redis://127.0.0.1:{port}/0") as store:
        with servers.valkey(tmp_path, port=port, keeps=True):
            place, words = store.listen(me, None, 1.0)
            assert not words
            store.announce(other._replace(what="joined", leases={"0": None}))
        with pytest.raises(TransientError):
            store.listen(me, place, 1.0)
        with servers.valkey(tmp_path, port=port, keeps=True):
            store.announce(other._replace(what="here", to="w1"))
            place, words = store.listen(me, place, 1.0)
            assert [(word.worker, word.what, word.to) for word in words] == [("w2", "joined", ""), ("w2", "here", "w1")]
            assert store.listen(me, place, 0.001) == (place, [])
