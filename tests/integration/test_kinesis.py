"""Against Kinesis as others wrote it: kinesis-local (splits and merges), kinesalite (expiry and trimming), moto."""

from __future__ import annotations

import json
import socket
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest

from streamiter import InvalidStream, InvalidToken, KinesisStreams, RecordsExpired, Stream
from streamiter.testing import ManualClock, pack
from tests.integration.node import KinesisService, serving
from tests.stream.helpers import drain_over_gaps

DAY = 24 * 3600


@pytest.fixture(scope="module", params=["kinesis-local", "kinesalite"])
def kinesis(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KinesisService]:
    with serving(request.param, tmp_path_factory.mktemp(request.param)) as service:
        yield service


@pytest.fixture
def kinesalite(tmp_path: Any) -> Iterator[KinesisService]:
    """One of a test's own, for its clock is turned."""
    with serving("kinesalite", tmp_path) as service:
        yield service


class Orders:
    """A stream of such a service, and what was put into it."""

    def __init__(self, service: KinesisService, name: str, shards: int = 2) -> None:
        self.name = name
        self.service = service
        self.client = service.client()
        self.client.create_stream(StreamName=name, ShardCount=shards)
        self.wait()
        self.put_: dict[str, list[bytes]] = defaultdict(list)  # by shard, in the order of its own
        self._parents: dict[str, tuple[str, ...]] = {}

    def wait(self) -> None:
        until = time.monotonic() + 60
        while self._status() != "ACTIVE":
            assert time.monotonic() < until
            time.sleep(0.02)

    def _status(self) -> str:
        return str(self._summary()["StreamStatus"])

    def made(self) -> datetime:
        made: datetime = self._summary()["StreamCreationTimestamp"]
        return made

    def _summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = self.client.describe_stream_summary(StreamName=self.name)["StreamDescriptionSummary"]
        return summary

    def put(self, count: int) -> None:
        for _ in range(count):
            number = sum(map(len, self.put_.values()))
            data = b"%d" % number
            told = self.client.put_record(StreamName=self.name, PartitionKey=str(number), Data=data)
            self.put_[told["ShardId"]].append(data)

    def open(self) -> list[dict[str, Any]]:
        shards = self.client.list_shards(StreamName=self.name)["Shards"]
        for shard in shards:
            parents = (shard.get("ParentShardId"), shard.get("AdjacentParentShardId"))
            self._parents[shard["ShardId"]] = tuple(parent for parent in parents if parent)
        living = [shard for shard in shards if "EndingSequenceNumber" not in shard["SequenceNumberRange"]]
        return sorted(living, key=lambda shard: int(shard["HashKeyRange"]["StartingHashKey"]))

    def split(self, place: int) -> None:
        shard = self.open()[place]
        keys = shard["HashKeyRange"]
        middle = (int(keys["StartingHashKey"]) + int(keys["EndingHashKey"])) // 2
        self.client.split_shard(StreamName=self.name, ShardToSplit=shard["ShardId"], NewStartingHashKey=str(middle))
        self.wait()

    def merge(self, place: int) -> None:
        one, other = self.open()[place : place + 2]
        self.client.merge_shards(
            StreamName=self.name, ShardToMerge=one["ShardId"], AdjacentShardToMerge=other["ShardId"]
        )
        self.wait()

    def check(self, records: list[Any]) -> None:
        """Each once, each shard in its own order, none before all of its parents'."""
        self.open()
        came = defaultdict(list)
        at: dict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(records):
            came[record.shard_id].append(record.payload)
            at[record.shard_id].append(place)
        assert came == self.put_
        for shard, parents in self._parents.items():
            for parent in parents:
                assert not at[shard] or not at[parent] or max(at[parent]) < min(at[shard])
        assert [record.order_key for record in records] == sorted(record.order_key for record in records)


def read(stream: Stream[Any], until: str = "caught_up") -> list[Any]:
    return [record for batch in stream.batches(100, until=until) for record in batch]


def opened(orders: Orders, position: Any = "trim_horizon", **options: Any) -> Stream[Any]:
    return Stream(orders.service.source(orders.name), position, **options)


def test_splits_and_merges_are_read_in_order_and_resumed_anywhere(kinesis: KinesisService):
    orders = Orders(kinesis, "reshards")
    orders.put(12)
    orders.split(0)
    orders.put(12)
    orders.merge(1)
    orders.put(12)
    orders.merge(0)
    orders.put(6)
    with opened(orders) as stream:
        whole = read(stream)
    orders.check(whole)
    for cut in (7, 30):
        with opened(orders) as stream:
            came = [next(stream.follow()) for _ in range(cut)]
            token = json.loads(json.dumps(stream.token))
        with opened(orders, token) as stream:
            assert [r.payload for r in came + read(stream)] == [r.payload for r in whole]


def test_it_goes_on_while_a_token_is_out(kinesis: KinesisService):
    orders = Orders(kinesis, "sleeps")
    orders.put(10)
    with opened(orders) as stream:
        came = read(stream)
        token = stream.token
    orders.split(1)
    orders.put(10)
    orders.merge(0)
    orders.put(10)
    with opened(orders, token) as stream:
        came += read(stream)
        assert stream.stats.gaps == 0
    orders.check(came)


def test_packed_records_come_apart_and_are_resumed_within(kinesis: KinesisService):
    orders = Orders(kinesis, "packed", shards=1)
    orders.client.put_record(
        StreamName="packed", PartitionKey="a", Data=pack([("k", b"%d" % number) for number in range(4)])
    )
    orders.client.put_record(StreamName="packed", PartitionKey="a", Data=b"4")
    with opened(orders) as stream:
        came = [next(stream.follow()) for _ in range(2)]
        token = stream.token
    with opened(orders, token) as stream:
        came += read(stream)
    assert [record.payload for record in came] == [b"0", b"1", b"2", b"3", b"4"]
    assert [record.sub_sequence_number for record in came] == [0, 1, 2, 3, 0]


def test_an_unknown_stream_and_a_stream_made_again(kinesis: KinesisService):
    with pytest.raises(InvalidStream, match="there is no stream nowhere in us-east-1 at"):
        Stream(kinesis.source("nowhere"))
    orders = Orders(kinesis, "again", shards=1)
    orders.put(2)
    with opened(orders) as stream:
        read(stream)
        token = stream.token
    made = orders.made()
    orders.client.delete_stream(StreamName="again")
    until = time.monotonic() + 60
    while "again" in orders.client.list_streams()["StreamNames"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    kinesis.ahead(2)  # streams are told apart by the second that they were made in
    again = Orders(kinesis, "again", shards=1)
    assert again.made() - made >= timedelta(seconds=2)
    with pytest.raises(InvalidToken, match="deleted and made again"):
        opened(again, token)


def test_an_iterator_dies_after_five_minutes_and_the_shard_opens_again(kinesalite: KinesisService):
    orders = Orders(kinesalite, "expiring")
    orders.put(10)
    with opened(orders) as stream:
        came = read(stream)
        for later in range(1, 6):
            kinesalite.ahead(301 * later)
            orders.put(10)
            came += read(stream)
            if stream.stats.calls["open_iterator"] > 2:
                break  # a shard whose call was under way when the clock jumped has a new iterator, and need not open again
        assert stream.stats.calls["open_iterator"] in (3, 4)
    orders.check(came)


def test_what_kinesalite_trims_in_silence_is_a_gap(kinesalite: KinesisService):
    orders = Orders(kinesalite, "trimmed", shards=1)
    orders.put(10)
    with opened(orders) as stream:
        came = [next(stream.follow()) for _ in range(4)]
        token = stream.token
    kinesalite.ahead(DAY + 60)
    orders.put(3)
    with opened(orders, token) as stream, pytest.raises(RecordsExpired) as caught:
        read(stream)
    assert caught.value.shard_id == came[-1].shard_id
    clock = ManualClock()
    with opened(orders, token, clock=clock) as stream:
        rest, gaps = drain_over_gaps(stream, clock)
        assert len(gaps) == 1
    assert [record.payload for record in rest] == [b"10", b"11", b"12"]


def test_a_longer_retention_is_read_from_the_stream(kinesalite: KinesisService):
    orders = Orders(kinesalite, "kept", shards=1)
    orders.client.increase_stream_retention_period(StreamName="kept", RetentionPeriodHours=72)
    orders.put(10)
    with opened(orders) as stream:
        came = [next(stream.follow()) for _ in range(4)]
        token = stream.token
    kinesalite.ahead(DAY + 3600)
    with opened(orders, token) as stream:
        came += read(stream)
        assert stream.stats.gaps == 0
    orders.check(came)


def test_both_listen_on_loopback_alone(kinesis: KinesisService):
    port = int(kinesis.endpoint_url.rpartition(":")[2])
    for address in {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}:
        if not str(address).startswith("127."):
            with pytest.raises(OSError, match=r"refused|timed out"):
                socket.create_connection((str(address), port), timeout=2)


def test_a_mocked_stream_is_read_and_resumed():
    from moto import mock_aws

    with mock_aws():
        client = boto3.client("kinesis", region_name="us-east-1")
        client.create_stream(StreamName="orders", ShardCount=2)
        for number in range(20):
            client.put_record(StreamName="orders", PartitionKey=str(number), Data=b"%d" % number)
        with Stream(KinesisStreams("orders", region="us-east-1"), clock=ManualClock()) as stream:
            records = read(stream)
            token = stream.token
        assert sorted(int(record.payload) for record in records) == list(range(20))
        client.put_record(StreamName="orders", PartitionKey="x", Data=b"new")
        with Stream(KinesisStreams("orders", region="us-east-1"), token, clock=ManualClock()) as stream:
            assert [record.payload for record in read(stream)] == [b"new"]
