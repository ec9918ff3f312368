"""Iterators die 15 minutes after they were handed out; nobody who reads on should notice."""

from __future__ import annotations

import pytest

from streamiter.testing import Simulator
from streamiter.token import load_token
from tests.indoors import IndoorSimulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, assert_came, drain, identities, in_order, take, write

BOTH = pytest.mark.parametrize("knows", [True, False], ids=["with AT_TIMESTAMP", "without it"])

# In minutes. The simulator drops iterators five minutes before they are due, so after the first one the service refuses them;
# after the second one the reader knows by itself that they are dead, and does not ask.
PAUSES = pytest.mark.parametrize("pause", [12, 20], ids=["refused", "known"])


@pytest.fixture
def sim():
    with IndoorSimulator("S1 ~ S2") as simulator:
        simulator.clock.advance(100)
        yield simulator


def expired(sim: Simulator) -> int:
    return sim.calls.total(outcome="ExpiredIteratorException")


@PAUSES
def test_idle_at_the_tip(sim: Simulator, open_stream: Open, pause: int):
    sim.knobs.iterator_lifetime = 600
    write(sim, "S1", "S2")
    stream = open_stream()
    came = drain(stream, sim.clock)
    sim.clock.advance(minutes=pause)
    write(sim, "S2", "S1")
    came += drain(stream, sim.clock)
    assert_all_came(came, sim)
    assert (expired(sim) > 0) == (pause == 12)


@BOTH
@PAUSES
def test_at_latest_before_any_record(sim: Simulator, open_stream: Open, knows: bool, pause: int):
    sim.knobs.iterator_lifetime = 600
    sim.knobs.knows_at_timestamp = knows
    write(sim, "S1", "S2")
    sim.clock.advance(60)
    stream = open_stream("latest")
    assert drain(stream, sim.clock) == []
    sim.clock.advance(minutes=pause)
    write(sim, "S2", "S1")
    assert identities(drain(stream, sim.clock)) == identities(in_order(sim, sim.history[6:]))
    assert (expired(sim) > 0) == (pause == 12)


@PAUSES
def test_at_the_horizon_before_any_record(sim: Simulator, open_stream: Open, pause: int):
    sim.knobs.iterator_lifetime = 600
    stream = open_stream()
    assert drain(stream, sim.clock) == []
    sim.clock.advance(minutes=pause)
    write(sim, "S1", "S2")
    assert_all_came(drain(stream, sim.clock), sim)
    assert (expired(sim) > 0) == (pause == 12)


@pytest.mark.parametrize("pauses", [1, 3])
def test_inside_a_slow_consumers_pause(sim: Simulator, open_stream: Open, pauses: int):
    sim.knobs.page_size = 2
    write(sim, "S1", "S2", rounds=20)
    stream = open_stream(prefetch_bytes=500)
    came = []
    for _ in range(pauses):
        came += take(stream, sim.clock, 7)
        sim.clock.advance(minutes=20)
    came += drain(stream, sim.clock)
    assert_all_came(came, sim)


def test_with_pages_already_fetched_nothing_is_fetched_twice(sim: Simulator, open_stream: Open):
    write(sim, "S1", "S2", rounds=20)
    stream = open_stream()
    came = take(stream, sim.clock, 3)
    waiting = stream.stats.waiting
    assert waiting >= 30
    sim.clock.advance(minutes=20)
    before = sum(call.records for call in sim.calls)
    came += take(stream, sim.clock, 30)
    assert sum(call.records for call in sim.calls) == before
    came += drain(stream, sim.clock)
    assert_all_came(came, sim)


def test_where_sequence_numbers_run_backwards_it_reopens_at_the_same_place(sim: Simulator, open_stream: Open):
    """AFTER the greatest number, then skip the count (law 4)."""
    sim.knobs.page_size = 3
    for number in (50, 10, 20, 60, 30, 40, 70, 5, 6, 7, 80):
        sim.put("S1", number=number)
        sim.clock.advance(1)
    stream = open_stream(prefetch_bytes=1)
    came = []
    for _ in range(11):
        came += take(stream, sim.clock, 1)
        sim.clock.advance(minutes=16)
    assert_came(came, in_order(sim))


def test_a_shard_that_closed_meanwhile_is_read_to_its_end(sim: Simulator, open_stream: Open):
    write(sim, "S1", "S2")
    stream = open_stream()
    came = drain(stream, sim.clock)
    write(sim, "S1")
    sim.shape("S1 => {S3, S4}")
    write(sim, "S3", "S4", "S2")
    sim.clock.advance(minutes=20)
    write(sim, "S2", "S4")
    came += drain(stream, sim.clock)
    assert_all_came(came, sim)


@pytest.mark.parametrize("shard", ["S1", "S2"])
def test_caught_up_after_a_pause_asks_on_through_empty_pages(sim: Simulator, open_stream: Open, shard: str):
    write(sim, "S1", "S2")
    stream = open_stream()
    came = drain(stream, sim.clock)
    sim.clock.advance(minutes=20)
    sim.empty_pages(shard, 0, 0, 0, 5)
    write(sim, shard)
    sim.clock.advance(60)
    for batch in stream.batches(100, until="caught_up"):
        came += batch
    assert_all_came(came, sim)


def test_the_service_may_say_so_at_any_moment(sim: Simulator, open_stream: Open):
    sim.knobs.page_size = 2
    write(sim, "S1", "S2", rounds=10)
    sim.fault("GetRecords", "S1", kind="expired", times=3, after=1)
    sim.fault("GetRecords", "S2", kind="expired", times=3, after=4)
    assert_all_came(drain(open_stream(), sim.clock), sim)


# -- heartbeat


def test_a_heartbeat_in_a_tight_loop_costs_nothing(sim: Simulator, open_stream: Open):
    write(sim, "S1", "S2")
    stream = open_stream()
    drain(stream, sim.clock)
    before = len(sim.calls)
    for _ in range(1000):
        stream.heartbeat()
    assert len(sim.calls) == before


def test_a_heartbeat_every_12_minutes_keeps_iterators_alive(sim: Simulator, open_stream: Open):
    write(sim, "S1", "S2", rounds=10)
    stream = open_stream()
    came = take(stream, sim.clock, 3)
    for _ in range(6):
        sim.clock.advance(minutes=12)
        stream.heartbeat()
        sim.clock.advance(minutes=2.5)
        stream.heartbeat()
    write(sim, "S2", "S1")
    came += drain(stream, sim.clock)
    assert_all_came(came, sim)
    assert expired(sim) == 0


def test_a_heartbeat_returns_no_record_and_moves_no_place(sim: Simulator, open_stream: Open):
    write(sim, "S1", "S2")
    stream = open_stream()
    came = drain(stream, sim.clock)
    before = stream.token
    write(sim, "S1")
    sim.clock.advance(minutes=14.5)
    assert stream.heartbeat() is None
    after = stream.token
    assert after["clock"] == before["clock"] == 6
    places = [[lane.place for lane in load_token(token).lanes] for token in (before, after)]
    assert places[0] == places[1] and None not in places[0]
    came += drain(stream, sim.clock)
    assert_all_came(came, sim)


def test_a_heartbeat_that_fails_loses_nothing(sim: Simulator, open_stream: Open):
    write(sim, "S1", "S2")
    stream = open_stream()
    came = drain(stream, sim.clock)
    sim.clock.advance(minutes=14.5)
    sim.fault("GetRecords", kind="500", times=4)
    stream.heartbeat()
    write(sim, "S1", "S2")
    came += drain(stream, sim.clock)
    assert_all_came(came, sim)


def test_a_heartbeat_stays_within_the_budget(sim: Simulator, open_stream: Open):
    for _ in range(200):
        sim.put("S1", new={"id": "x", "text": "y" * 500})
    sim.put("S2")
    stream = open_stream(prefetch_bytes=20_000)
    take(stream, sim.clock, 1)
    for _ in range(10):
        sim.clock.advance(minutes=14.5)
        stream.heartbeat()
    assert stream.stats.waiting_bytes <= 2 * 20_000


def test_a_heartbeat_on_a_stream_that_is_new_or_closed_does_nothing(sim: Simulator, open_stream: Open):
    stream = open_stream()
    stream.heartbeat()
    stream.close()
    stream.heartbeat()
    assert len(sim.calls) == 0
