"""Redis servers that are away, full, killed or not meant at all: the log says so, and readers wait."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import redis

from streamiter import App, Stream
from streamiter.errors import AccessDenied, InvalidStream, Throttled, TransientError
from streamiter.log.locate import open_log
from streamiter.redis_server import Server
from streamiter.store import Table, open_store
from tests.log.redis_rig import fill, payloads
from tests.store import servers


def test_a_server_that_is_away_is_a_passing_trouble(tmp_path: Path):
    port = servers.free_port()
    with servers.valkey(tmp_path, port=port, keeps=True):
        (log,) = [open_log(f"redis://127.0.0.1:{port}/orders")]
        log.grow(1)
        numbers = fill(log, 3)
    with pytest.raises(TransientError):
        fill(log, 1)
    with pytest.raises(TransientError):
        log.read(0, 0, 1)
    with servers.valkey(tmp_path, port=port, keeps=True):  # it was killed: the file has what was answered
        assert payloads(log, 0) == [b"0", b"1", b"2"]
        fill(log, 1, first=3)
        assert payloads(log, numbers[-1]) == [b"3"]
    log.close()


def test_a_certificate_that_is_not_trusted_is_told_at_once():
    server = Server("rediss://127.0.0.1:1", "the log", InvalidStream)
    refused = redis.ConnectionError("Error 1 connecting to host:1. [SSL: CERTIFICATE_VERIFY_FAILED] self-signed")
    told = server.explained(refused)
    assert isinstance(told, AccessDenied) and "SSL_CERT_FILE" in str(told)


def test_a_full_memory_a_replica_and_a_busy_server_are_told_apart(tmp_path: Path):
    with servers.valkey(tmp_path) as port, redis.Redis(port=port) as client:
        log = open_log(f"redis://127.0.0.1:{port}/orders")
        log.grow(1)
        fill(log, 1)
        client.config_set("maxmemory", "1")
        with pytest.raises(Throttled, match="memory is full"):
            fill(log, 1)
        client.config_set("maxmemory", "0")
        client.replicaof("127.0.0.1", servers.free_port())
        with pytest.raises(TransientError, match="replica"):
            fill(log, 1)
        client.replicaof("NO", "ONE")
        fill(log, 1)
        log.close()


@pytest.mark.parametrize(
    "url",
    [
        "redis://host/",
        "redis://host/a/b",
        "redis://host/orders?size=3",
        "redis://host/orders?app=",
        "redis://host/orders?partition_size=many",
        "redis://host/orders?when_full=panic",
        "redis://host/orders?trim=all",
        "redis://:secret@host/orders",
    ],
)
def test_a_url_that_cannot_be_meant_is_refused(url: str):
    with pytest.raises(InvalidStream) as told:
        open_log(url)
    assert "secret" not in str(told.value)


def test_a_password_shows_nowhere(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ORDERS", "redis://me:secret@localhost:1/orders?app=shop")
    log = open_log("env:ORDERS")
    assert repr(log) == "RedisLog('localhost:1/orders', app 'shop')"
    with pytest.raises(TransientError) as told:
        log.partitions()
    assert "secret" not in str(told.value)


def test_an_app_waits_out_a_server_that_is_killed(tmp_path: Path):
    port = servers.free_port()
    url = f"redis://127.0.0.1:{port}/orders"
    seen: list[int] = []
    shop = App("shop", store=f"redis://127.0.0.1:{port}/0", failover=2.0)

    @shop.processor(url)
    async def bill(events: Any) -> None:
        async for record in events.records():
            seen.append(int(record.payload))

    async def until_seen(numbers: range) -> None:
        while not set(numbers) <= set(seen):
            await asyncio.sleep(0.001)

    async def play() -> None:
        log = open_log(url)
        with servers.valkey(tmp_path, port=port, keeps=True):
            log.grow(2)
            running = asyncio.ensure_future(shop.serve())
            fill(log, 20, 0)
            fill(log, 20, 1, first=20)
            await until_seen(range(40))
        with servers.valkey(tmp_path, port=port, keeps=True):
            fill(log, 20, 0, first=40)
            fill(log, 20, 1, first=60)
            await until_seen(range(80))
            shop.stop()
            await running
            assert [log.ends(partition).last for partition in (0, 1)] == [
                int(checkpoint.partition("/")[0])
                for _, checkpoint in sorted(
                    (row.key, row.fields["checkpoint"])
                    for row in open_store(shop.store).scan(Table("leases", "shop", "bill"))
                )
            ]
        log.close()

    asyncio.run(play())
    in_order = {partition: [n for n in dict.fromkeys(seen) if n // 20 % 2 == partition] for partition in (0, 1)}
    assert all(numbers == sorted(numbers) and len(numbers) == 40 for numbers in in_order.values())


def test_a_stream_goes_on_when_its_server_was_killed_and_started_anew(tmp_path: Path):
    port = servers.free_port()
    log, reader = (open_log(f"redis://127.0.0.1:{port}/orders") for _ in range(2))
    with servers.valkey(tmp_path, port=port, keeps=True):
        log.grow(3)
        for partition in range(3):
            fill(log, 10, partition)
        stream = Stream(reader)
        records = stream.follow()
        before = [next(records) for _ in range(30)]
    with servers.valkey(tmp_path, port=port, keeps=True):
        for partition in range(3):
            fill(log, 10, partition, first=10)
        after = [next(records) for _ in range(30)]
        stream.close()
    found = [(record.shard_id, int(record.payload)) for record in before + after]
    assert sorted(found) == [(str(partition), number) for partition in range(3) for number in range(20)]
    log.close()
