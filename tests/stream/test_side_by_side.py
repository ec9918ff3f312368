"""The driver: pages are fetched side by side and ahead, within a budget; a paused consumer costs no calls."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from botocore.config import Config

from streamiter import DynamoDBStreams, Stream
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, calls_during, drain, slowness, soon, take, write

NAMES = [f"S{number:02d}" for number in range(64)]


class Gate:
    """Holds a client's GetRecords calls before they are sent, and counts them."""

    def __init__(self, client: Any) -> None:
        self.came = 0
        self.most = 0  # side by side, at any moment
        self._inside = 0
        self._is_open = False
        self._may_pass = threading.Semaphore(0)
        self._lock = threading.Lock()
        client.meta.events.register("before-send.*.GetRecords", self._hold)

    def _hold(self, **_: Any) -> None:
        with self._lock:
            self.came += 1
            self._inside += 1
            self.most = max(self.most, self._inside)
        if not self._is_open:
            self._may_pass.acquire()
        with self._lock:
            self._inside -= 1

    def let_through(self) -> None:
        """One call."""
        self._may_pass.release()

    def open(self) -> None:
        """All calls, from now on."""
        self._is_open = True
        self._may_pass.release(1000)


@pytest.mark.outdoors
@pytest.mark.realtime
def test_64_shards_catch_up_in_a_quarter_of_the_serial_time(sim: Simulator, open_stream: Open):
    sim.shape(" ~ ".join(NAMES))
    write(sim, *NAMES, rounds=2)
    sim.disable()  # they all have an end: that is when they have caught up
    sim.knobs.latency = 0.1
    stream = open_stream(concurrency=16)
    sim.calls.clear()
    began = time.monotonic()
    records = take(stream, sim.clock, len(sim.history))
    took = time.monotonic() - began
    serial = 0.1 * len(sim.calls)
    assert_all_came(records, sim)
    assert serial > 12  # 64 iterators, 64 pages, the listings
    assert took <= serial / 4 * slowness()


@pytest.mark.outdoors
@pytest.mark.parametrize("concurrency, connections", [(5, 64), (32, 3)])
def test_as_many_calls_as_concurrency_and_connections_allow(sim: Simulator, concurrency: int, connections: int):
    """Beyond its connections botocore would make more, each for a single call."""
    sim.shape(" ~ ".join(NAMES))
    write(sim, *NAMES, rounds=1)
    client = sim.client(config=Config(max_pool_connections=connections))
    source = DynamoDBStreams(sim.stream_arn, client=client)
    most = min(concurrency, connections)
    gate = Gate(client)
    with Stream(source, clock=sim.clock, concurrency=concurrency) as stream:
        thread = threading.Thread(target=lambda: list(stream.follow()), daemon=True)
        thread.start()
        for came in range(most, most + 20):  # one is let through, and one more comes
            soon(lambda: gate.came == came)  # noqa: B023 - it is asked at once
            gate.let_through()
        assert gate.most == most
        stream.close()
        gate.open()
        thread.join(60)


def test_one_at_a_time_works_too(sim: Simulator, open_stream: Open):
    sim.shape("S0 ~ T0")
    write(sim, "S0", "T0")
    sim.shape("S0 => {S1, S2}")
    write(sim, "S1", "S2", "T0")
    assert_all_came(drain(open_stream(concurrency=1), sim.clock), sim)


@pytest.mark.outdoors
def test_a_slow_shard_does_not_keep_the_others_from_being_fetched(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2 ~ S3")
    write(sim, "S1", "S2", "S3", rounds=10)
    sim.clock.advance(60)
    sim.knobs.page_size = 3
    fault = sim.fault("GetRecords", "S1", kind="hang", times=None)
    stream = open_stream()
    records: list = []
    thread = threading.Thread(target=lambda: records.extend(stream.follow()), daemon=True)
    thread.start()
    soon(lambda: sum(call.records for call in sim.calls.of("GetRecords", outcome="ok")) == 20)
    assert records == []
    sim.heal(fault)
    soon(lambda: len(records) == 30)
    stream.close()
    thread.join(60)
    assert_all_came(records, sim)


@pytest.mark.outdoors
@pytest.mark.realtime  # a call that had no turn yet on a busy machine would begin in the pause
def test_a_paused_consumer_costs_no_calls(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    sim.knobs.page_size = 2
    write(sim, "S1", "S2", rounds=50)
    stream = open_stream()
    take(stream, sim.clock, 5)
    soon(lambda: calls_during(sim, lambda: time.sleep(0.05)) == 0)  # what was under way is answered

    def pause() -> None:
        for _ in range(20):
            sim.clock.advance(60)
            time.sleep(0.005)

    assert calls_during(sim, pause) == 0


def test_an_idle_lane_is_asked_less_and_less_down_to_once_a_second(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    stream = open_stream(poll_interval=0.25)
    drain(stream, sim.clock, quiet=30, step=0.05)
    sim.calls.clear()
    drain(stream, sim.clock, quiet=30, step=0.05)
    assert 28 <= sim.calls.total("GetRecords") <= 31


def test_a_poll_interval_of_many_seconds_is_kept(sim: Simulator, open_stream: Open):
    sim.shape("S1")
    stream = open_stream(poll_interval=10)
    drain(stream, sim.clock, quiet=30, step=0.5)
    sim.calls.clear()
    drain(stream, sim.clock, quiet=100, step=0.5)
    assert 9 <= sim.calls.total("GetRecords") <= 11


def test_an_idle_lane_is_asked_at_once_when_a_held_record_waits_on_it(sim: Simulator, open_stream: Open):
    sim.shape("S1 ~ S2")
    stream = open_stream(lateness=1.0)
    drain(stream, sim.clock, quiet=60)
    sim.put("S2")
    written = sim.clock.monotonic()
    take(stream, sim.clock, 1, step=0.02)
    assert (
        sim.clock.monotonic() - written <= 1.0 + 1.0 + 1.0 + 0.1
    )  # found within a second, then let go without waiting


# -- the budget


@pytest.fixture
def heavy(sim: Simulator) -> Simulator:
    """Four shards with 120 records of 2 KB each: a megabyte."""
    sim.shape("S1 ~ S2 ~ S3 ~ S4")
    for _ in range(120):
        for shard in ("S1", "S2", "S3", "S4"):
            sim.put(shard, new={"id": "x", "text": "y" * 2000})
        sim.clock.advance(1)
    return sim


@pytest.mark.parametrize("budget", [1, 50_000, 200_000])
def test_prefetch_bytes_bounds_what_waits(heavy: Simulator, open_stream: Open, budget: int):
    stream = open_stream(prefetch_bytes=budget)
    first, most, records = 0.0, 0.0, []
    while len(records) < len(heavy.history):
        record = next(stream)
        if record is None:
            heavy.clock.advance(0.25)
            continue
        records.append(record)
        first = max(first, stream.stats.waiting_bytes)
        if len(records) > 200:  # by now each lane knows how large its records are
            most = max(most, stream.stats.waiting_bytes)
    assert_all_came(records, heavy)
    assert first <= 3 * budget + 4 * 3000  # the first pages are asked for by a guess; a record takes 2.7 KB
    assert most <= 1.5 * budget + 4 * 3000  # a lane that holds the merge may have one more


def test_within_a_large_budget_all_is_fetched_ahead(heavy: Simulator, open_stream: Open):
    stream = open_stream()
    take(stream, heavy.clock, 1)
    soon(lambda: (next(stream), stream.stats.waiting > 400)[1])


def test_pages_shrink_as_lanes_grow(sim: Simulator, open_stream: Open):
    sim.shape(" ~ ".join(NAMES))
    for shard in NAMES:
        for _ in range(10):
            sim.put(shard, new={"id": "x", "text": "y" * 2000})
    sim.clock.advance(10)
    stream = open_stream(prefetch_bytes=64 * 5 * 2500)
    take(stream, sim.clock, 1)
    limits = [call.limit or 1000 for call in sim.calls.of("GetRecords")]
    assert min(limits) <= 20
    assert_all_came([*drain(open_stream(prefetch_bytes=64 * 5 * 2500), sim.clock)], sim)


def test_the_lane_that_holds_the_merge_is_always_fetched(sim: Simulator, open_stream: Open):
    """Even where others have used the budget up."""
    sim.shape("S1 ~ S2")
    for _ in range(200):
        sim.put("S2", new={"id": "x", "text": "y" * 2000})
    sim.clock.advance(10)
    for _ in range(50):
        sim.put("S1", created=sim.clock.now() - 100)
    sim.knobs.page_size = 1
    sim.clock.advance(10)
    assert_all_came(drain(open_stream(prefetch_bytes=1), sim.clock), sim)
