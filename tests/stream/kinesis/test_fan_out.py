"""Enhanced fan-out: the service sends the records, and they come out as those that are asked for, under the same laws."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from streamiter import AccessDenied, InvalidOption, InvalidStream, KinesisStreams, RecordsExpired, Stream
from streamiter.errors import PositionTrimmed
from streamiter.position import Horizon
from streamiter.source import kinesis_fan_out
from streamiter.source.kinesis_fan_out import Start
from streamiter.testing import KinesisHandle, Simulator
from streamiter.testing.kinesis import subscription
from tests.stream.helpers import until_raises

pytestmark = pytest.mark.outdoors  # events come over a connection of their own


@pytest.fixture
def consumer(sim: Simulator, orders: KinesisHandle) -> str:
    told = sim.client("kinesis").register_stream_consumer(StreamARN=orders.arn, ConsumerName="reports")
    arn: str = told["Consumer"]["ConsumerARN"]
    return arn


def source_of(sim: Simulator, consumer: str | None = None) -> KinesisStreams:
    source = KinesisStreams("orders", client=sim.client("kinesis"), consumer=consumer)
    if source._fan_out is not None:
        source._fan_out.clock = sim.clock  # else its events would be dated by the real time that passes
    return source


@contextmanager
def opened(sim: Simulator, consumer: str | None, position: Any = "trim_horizon", **options: Any) -> Iterator[Stream]:
    with Stream(source_of(sim, consumer), position, clock=sim.clock, **options) as stream:
        yield stream


def read(sim: Simulator, consumer: str | None, position: Any = "trim_horizon", **options: Any) -> list[tuple[str, str]]:
    with opened(sim, consumer, position, **options) as stream:
        batches = stream.batches(1000, until="caught_up")
        return [(record.shard_id, record.sequence_number) for batch in batches for record in batch]


def live_through(sim: Simulator, orders: KinesisHandle, seed: int, moments: int = 60) -> None:
    """Writes, splits and merges at random."""
    draw = random.Random(seed)
    for number in range(moments):
        shards = orders.open_shards
        for shard in shards:
            if draw.random() < 0.6:
                orders.put(shard, f"{number}", key=f"{number}")
        sim.clock.advance(draw.choice((0, 0.3, 1, 7)))
        if draw.random() < 0.05:
            orders.split(draw.choice(shards))
        elif draw.random() < 0.05 and len(shards) > 1:
            place = draw.randrange(len(shards) - 1)
            orders.merge(*shards[place : place + 2])


@pytest.mark.parametrize("seed", range(3))
def test_the_order_is_that_of_polling(sim: Simulator, orders: KinesisHandle, consumer: str, seed: int):
    live_through(sim, orders, seed)
    sim.knobs.page_size = 1 + seed * 3
    polled = read(sim, None)
    asked = sim.calls.total("GetRecords")
    assert read(sim, consumer) == polled
    assert len(polled) == len(orders.history)
    assert sim.calls.total("GetRecords") == asked, "nothing is polled by fan-out"
    assert sim.calls.total("SubscribeToShard") >= len(sim.client("kinesis").list_shards(StreamName="orders")["Shards"])


def test_a_token_goes_on_either_way(sim: Simulator, orders: KinesisHandle, consumer: str):
    live_through(sim, orders, 9)
    whole = read(sim, None)
    for way, other in ((consumer, None), (None, consumer), (consumer, consumer)):
        sim.clock.advance(5)
        with opened(sim, way) as stream:
            first = [next(stream.follow()) for _ in range(len(whole) // 2)]
            token = json.loads(json.dumps(stream.token))
        sim.clock.advance(5)  # sooner the service takes no other subscription
        found = [(record.shard_id, record.sequence_number) for record in first]
        assert found + read(sim, other, token) == whole


def test_it_goes_on_after_five_minutes_and_after_connections_that_break(
    sim: Simulator, orders: KinesisHandle, consumer: str
):
    with opened(sim, consumer, lateness=None) as stream:
        records = stream.follow()
        for number in range(12):
            orders.put("S0", f"{number}")
            assert next(records).payload == str(number).encode()
            if number % 4 == 1:
                sim.clock.advance(minutes=6)
            elif number % 4 == 3:
                sim.clock.advance(6)
                sim.fault("SubscribeToShard", kind=random.Random(number).choice(["cut", "reset", "throttle", "html"]))
    assert sim.calls.total("SubscribeToShard") > 4


def test_an_event_gives_no_more_records_than_are_asked_for(sim: Simulator, orders: KinesisHandle, consumer: str):
    for number in range(10):
        orders.put("S0", f"{number}")
    source = source_of(sim, consumer)
    iterator = source.open_iterator(orders.shard_id("S0"), Horizon())
    pages = []
    for _ in range(4):
        page = source.fetch(iterator, 3)
        pages.append([record.payload.decode() for record in page.records])
        assert page.caught_up is (len(pages) > 4)
        assert page.next is not None
        iterator = page.next
    assert pages == [["0", "1", "2"], ["3", "4", "5"], ["6", "7", "8"], ["9"]]
    source.close()


def test_an_iterator_may_be_used_again(sim: Simulator, orders: KinesisHandle, consumer: str):
    orders.put("S0", "a")
    source = source_of(sim, consumer)
    iterator = source.open_iterator(orders.shard_id("S0"), Horizon())
    first = source.fetch(iterator, 10)
    sim.clock.advance(5)
    again = source.fetch(iterator, 10)
    assert [record.payload for page in (first, again) for record in page.records] == [b"a", b"a"]
    source.close()


def test_the_end_of_a_shard_names_its_children(sim: Simulator, orders: KinesisHandle, consumer: str):
    orders.split("S0", "S2", "S3")
    source = source_of(sim, consumer)
    page = source.fetch(source.open_iterator(orders.shard_id("S0"), Horizon()), 10)
    assert page.next is None
    assert [child.id for child in page.children] == [orders.shard_id("S2"), orders.shard_id("S3")]


@pytest.mark.parametrize("stale", ["horizon", "refused"])
def test_what_is_no_longer_held_is_a_gap(sim: Simulator, orders: KinesisHandle, consumer: str, stale: Any):
    sim.knobs.stale_number = stale
    for number in range(4):
        orders.put("S0", f"{number}")
        sim.clock.advance(1)
    with opened(sim, consumer, lateness=None) as stream:
        records = stream.follow()
        assert [next(records).payload for _ in range(2)] == [b"0", b"1"]
        token = json.loads(json.dumps(stream.token))
    sim.clock.advance(hours=25)
    orders.put("S0", "late")
    with opened(sim, consumer, token) as stream:
        told = ""
        for _ in range(2):  # the other shard was not read yet, and its start is too old, too
            told += str(until_raises(RecordsExpired, stream, sim.clock)[1])
            stream.skip()
        assert all(f"records of shard {orders.shard_id(shard)} after" in told for shard in ("S0", "S1"))


def test_a_place_that_is_refused_is_one_that_is_no_longer_held(sim: Simulator, orders: KinesisHandle, consumer: str):
    record = orders.put("S0", "a")
    orders.put("S0", "b")
    orders.trim("S0", 1)
    sim.knobs.stale_number = "refused"
    source = source_of(sim, consumer)
    iterator = source.open_iterator(orders.shard_id("S0"), Horizon())
    text = Start("AFTER_SEQUENCE_NUMBER", record.sequence_number).text
    with pytest.raises(PositionTrimmed):
        source.fetch(iterator._replace(value=iterator.value._replace(text=text)), 10)


def test_a_consumer_that_is_deregistered_is_told(sim: Simulator, orders: KinesisHandle, consumer: str):
    orders.put("S0", "a")
    with opened(sim, consumer, lateness=None) as stream:
        assert next(stream.follow()).payload == b"a"
        sim.client("kinesis").deregister_stream_consumer(ConsumerARN=consumer)
        with pytest.raises(InvalidStream, match="onsumer"):
            next(stream.follow())


@pytest.mark.parametrize(
    "wrong,words",
    [
        ("reports", "takes the ARN of a consumer"),
        (7, "takes the ARN of a consumer"),
        ("arn:aws:kinesis:us-east-1:000000000000:stream/orders", "takes the ARN of a consumer"),
        ("arn:aws:kinesis:us-east-1:000000000000:stream/other/consumer/c:1", "and orders is to be read"),
    ],
)
def test_another_stream_s_consumer_is_refused(wrong: Any, words: str):
    with pytest.raises(InvalidOption, match=words):
        KinesisStreams("orders", consumer=wrong, region="us-east-1")


def test_nothing_is_left_after_close(
    sim: Simulator, orders: KinesisHandle, consumer: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(subscription, "LOOKS_BETWEEN", 1 << 60)  # a silent service: no event wakes the threads
    orders.put("S0", "a")
    with opened(sim, consumer, lateness=None) as stream:
        next(stream.follow())
        assert [thread for thread in threading.enumerate() if thread.name == "streamiter:fan-out"]
    for thread in threading.enumerate():
        if thread.name == "streamiter:fan-out":
            thread.join(30)
            assert not thread.is_alive()


def test_what_waits_is_bounded_for_all_shards_together(
    sim: Simulator, orders: KinesisHandle, consumer: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(kinesis_fan_out, "MOST_AHEAD_BYTES", 30_000)
    sim.knobs.page_size = 10  # records an event: about 15,000 bytes
    shards = ("S0", "S1")
    for number in range(200):
        for shard in shards:
            orders.put(shard, f"{number:1000}")
    source = source_of(sim, consumer)
    assert source._fan_out is not None
    iterators = {shard: source.open_iterator(orders.shard_id(shard), Horizon()) for shard in shards}
    found: dict[str, list[bytes]] = {shard: [] for shard in shards}
    most = 0
    for turn in range(200):
        shard = shards[turn % 2] if turn < 30 else min(shards, key=lambda name: len(found[name]))
        page = source.fetch(iterators[shard], 1000)
        found[shard] += [record.payload for record in page.records]
        assert page.next is not None
        iterators[shard] = page.next
        most = max(most, source._fan_out.ahead.waiting_bytes)
        if all(len(payloads) == 200 for payloads in found.values()):
            break
    assert found == {shard: [f"{number:1000}".encode() for number in range(200)] for shard in shards}
    assert 0 < most <= 30_000 + 2 * 2 * 15_000  # one event of each shard beyond, and one that was asked for
    source.close()
    assert source._fan_out.ahead.waiting_bytes == 0


def test_a_hundred_shards_are_read_by_fan_out(sim: Simulator):
    wide = sim.create_stream("wide", " ~ ".join(f"S{number}" for number in range(100)))
    for number in range(300):
        wide.put(f"S{number % 100}", f"{number}")
    registered = sim.client("kinesis").register_stream_consumer(StreamARN=wide.arn, ConsumerName="reports")
    source = KinesisStreams("wide", client=sim.client("kinesis"), consumer=registered["Consumer"]["ConsumerARN"])
    assert source._fan_out is not None
    source._fan_out.clock = sim.clock
    with Stream(source, "trim_horizon", clock=sim.clock) as stream:
        found = {record.payload for batch in stream.batches(1000, until="caught_up") for record in batch}
    assert found == {f"{number}".encode() for number in range(300)}
    assert sim.calls.total("SubscribeToShard") >= 100


def test_a_subscription_that_another_reader_takes_over_is_taken_back(
    sim: Simulator, orders: KinesisHandle, consumer: str
):
    for number in range(3):
        orders.put("S0", f"{number}")
    position = {"Type": "LATEST"}
    with opened(sim, consumer, lateness=None) as stream:
        records = stream.follow()
        assert next(records).payload == b"0"
        sim.clock.advance(6)
        taken = sim.client("kinesis").subscribe_to_shard(
            ConsumerARN=consumer, ShardId=orders.shard_id("S0"), StartingPosition=position
        )
        orders.put("S0", "3")
        assert [next(records).payload for _ in range(3)] == [b"1", b"2", b"3"]
        taken["EventStream"].close()


@pytest.mark.parametrize("kind", ["500", "503", "limit", "throttle", "cut", "reset", "bad_json", "html"])
def test_calls_that_fail_are_made_again(sim: Simulator, orders: KinesisHandle, consumer: str, kind: Any):
    orders.put("S0", "a")
    sim.fault("SubscribeToShard", kind=kind, times=2)
    with opened(sim, consumer, lateness=None) as stream:
        assert next(stream.follow()).payload == b"a"
    assert sim.calls.total("SubscribeToShard") >= 3


@pytest.mark.parametrize(
    "kind,remedy", [("expired_token", "log in again"), ("access_denied", "kinesis:SubscribeToShard")]
)
def test_after_expired_credentials_are_renewed_it_goes_on(
    sim: Simulator, orders: KinesisHandle, consumer: str, kind: Any, remedy: str
):
    """A subscription that stands outlives the credentials that it was made with; the next one needs new ones."""
    with opened(sim, consumer, lateness=None) as stream:
        records = stream.follow()
        orders.put("S0", "a")
        orders.put("S1", "a")
        assert [next(records).payload, next(records).payload] == [b"a", b"a"]  # so both subscriptions stand
        fault = sim.fault("SubscribeToShard", kind=kind, times=None)
        orders.put("S0", "b")
        assert next(records).payload == b"b"
        sim.clock.advance(minutes=6)  # the service ends each subscription after five
        orders.put("S0", "c")
        orders.put("S1", "d")
        for _ in range(2):
            found, error = until_raises(AccessDenied, stream, sim.clock)
            assert not found
            assert remedy in str(error)
        sim.heal(fault)
        found = [record.payload for _, record in zip(range(2), stream.follow(), strict=False)]
        assert sorted(found) == [b"c", b"d"]
