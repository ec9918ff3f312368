"""A cluster of three Valkey servers: logs whose partitions lie on several nodes, or by a hash tag on one; and leases."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import redis
import redis.cluster

from streamiter import App, Stream
from streamiter.errors import InvalidOption, InvalidStore, InvalidStream, TransientError
from streamiter.log import Entry
from streamiter.log.locate import open_log
from streamiter.log.redis import RedisLog
from streamiter.source.base import ShardIterator
from streamiter.store.redis import RedisStore
from streamiter.testing import LogRig, StoreRig, check_log, check_store
from tests.log.redis_rig import fill
from tests.store import servers

NAMES = itertools.count()
# Three servers are started, and wait for each other.
pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with servers.valkey_cluster(tmp_path_factory.mktemp("cluster")) as ports:
        yield ports[0]


@contextmanager
def cluster_rig(port: int) -> Iterator[LogRig]:
    url = f"redis://127.0.0.1:{port}/orders?app=check{next(NAMES)}&cluster=yes"
    with RedisLog(url) as log:
        log.grow(3)
        yield LogRig(log, lambda: RedisLog(url), url=url, is_durable=True, is_atomic=True, is_exact=None)


def test_a_log_in_a_cluster_keeps_the_contract(port):
    report = check_log(partial(cluster_rig, port))
    assert len(report.kept) >= 30, report


def test_one_call_waits_for_all_partitions_of_one_node(port):
    with RedisLog(f"redis://127.0.0.1:{port}/orders{next(NAMES)}?cluster=yes&hash_tag=stream") as log:
        log.grow(3)
        assert log.watches and log.lateness == 0.0
        places = [ShardIterator(str(partition), log.start(partition)) for partition in range(3)]
        assert list(log.watch(places, 0.01)) == []
        log.append(2, [Entry(b"1")])
        assert list(log.watch(places, 60.0)) == ["2"]


def test_partitions_lie_on_several_nodes_or_by_a_hash_tag_on_one(port):
    with redis.cluster.RedisCluster(host="127.0.0.1", port=port) as client:
        for more, nodes in (("", 3), ("&hash_tag=stream", 1)):
            name = f"spread{next(NAMES)}"
            with open_log(f"redis://127.0.0.1:{port}/{name}?app=a&cluster=yes{more}") as log:
                log.grow(16)
                for partition in range(16):
                    fill(log, 2, partition, first=2 * partition)
                scope = f"{{a.{name}}}" if more else f"a.{name}"
                found = {client.get_node_from_key(f"__strm:{scope}.{partition}").port for partition in range(16)}
                assert len(found) == nodes
                assert client.xlen(f"__strm:{scope}.7") == 2
                with Stream(log) as stream:
                    payloads = [int(record.payload) for record in stream.follow(until="caught_up")]
                assert sorted(payloads) == list(range(32))


def test_an_app_has_its_leases_and_its_log_in_the_cluster(port):
    name = f"orders{next(NAMES)}"
    url = f"redis://127.0.0.1:{port}/{name}?app=shop&cluster=yes"
    shop = App(f"shop{next(NAMES)}", store=f"redis://127.0.0.1:{port}?cluster=yes")
    seen: list[int] = []
    with open_log(url) as log:
        log.grow(4)
        for partition in range(4):
            fill(log, 25, partition, first=25 * partition)

    @shop.processor(url)
    async def bill(batch: Any) -> None:
        seen.extend(int(record.payload) for record in batch)
        if len(seen) == 100:
            shop.stop()

    shop.run()
    assert sorted(seen) == list(range(100))
    with redis.cluster.RedisCluster(host="127.0.0.1", port=port) as client:
        lags = [client.xinfo_groups(f"__strm:shop.{name}.{partition}")[0]["lag"] for partition in range(4)]
    assert lags == [0, 0, 0, 0]


@contextmanager
def store_rig(port: int) -> Iterator[StoreRig]:
    url = f"redis://127.0.0.1:{port}?cluster=yes"
    with redis.cluster.RedisCluster(host="127.0.0.1", port=port) as client:
        client.flushall()
    with RedisStore(url) as store:
        yield StoreRig(store, another=lambda: RedisStore(url))


def test_a_store_in_a_cluster_keeps_the_contract(port):
    assert len(check_store(partial(store_rig, port)).kept) >= 10


def test_a_node_that_is_asked_alone_says_what_to_write(port):
    for name in ("a", "b", "c", "d", "e", "f"):
        log = open_log(f"redis://127.0.0.1:{port}/{name}")
        try:
            log.grow(1)
        except TransientError as error:
            assert "cluster=yes in its URL" in str(error)
            return
        finally:
            log.close()
    raise AssertionError("one node has all keys")


def test_what_a_cluster_cannot_do_says_so(port):
    with pytest.raises(InvalidStream, match="the database 0 alone"):
        open_log(f"redis://127.0.0.1:{port}/orders?cluster=yes&db=1")
    with pytest.raises(InvalidStore, match="cluster is yes or no"):
        RedisStore(f"redis://127.0.0.1:{port}?cluster=maybe")
    url = f"redis://127.0.0.1:{port}/orders{next(NAMES)}?cluster=yes"
    shop = App("shop", store=f"redis://127.0.0.1:{port}?cluster=yes")

    @shop.processor(url, acks="group")
    async def bill(batch: Any) -> None: ...

    with open_log(url) as log:
        log.grow(1)
        log.append(0, [Entry(b"1")])
    with pytest.raises(InvalidOption, match="a cluster keeps the two on different servers"):
        shop.run()


def test_a_cluster_that_is_away_is_a_passing_trouble():
    with (
        RedisLog("redis://127.0.0.1:1/orders?cluster=yes") as log,
        pytest.raises(TransientError, match="is the server reached"),
    ):
        log.partitions()
