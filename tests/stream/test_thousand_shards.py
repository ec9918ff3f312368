"""Many shards that roll together: few listings, bounded memory and token, no lane starves."""

from __future__ import annotations

import json

from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, drain, entries, identities, in_order, take, write

SHARDS = 400  # four pages of a listing: a thousand take three times as long, and show no more


def listings(sim: Simulator) -> list[float]:
    return [call.time for call in sim.calls.of("DescribeStream")]


def assert_at_most_ten_in_any_second(times: list[float]) -> None:
    for earlier, later in zip(times, times[10:], strict=False):
        assert later - earlier >= 1.0 - 1e-6, f"eleven listings between {earlier} and {later}"


def test_they_roll_together(sim: Simulator, open_stream: Open):
    sim.knobs.describe_rate = 10
    sim.shape(" ~ ".join(f"S{number:04d}" for number in range(SHARDS)))
    write(sim, *sim.open_shards, rounds=1)
    stream = open_stream(prefetch_bytes=4 * 1024 * 1024)
    came = take(stream, sim.clock, SHARDS)
    assert len(json.dumps(stream.token)) < 200 * SHARDS
    sim.roll()
    write(sim, *sim.open_shards, rounds=1)
    sim.calls.clear()
    began = sim.clock.monotonic()
    came += take(stream, sim.clock, SHARDS)
    assert_all_came(came, sim)
    assert sim.clock.monotonic() - began < 10  # eight pages a listing by then, ten a second
    assert_at_most_ten_in_any_second(listings(sim))
    assert len(listings(sim)) <= 100
    assert sim.calls.by_outcome.keys() == {"ok"}
    assert len(json.dumps(stream.token)) < 400 * SHARDS  # the lanes, and their parents, for a sibling may turn up


def test_no_lane_starves(sim: Simulator, open_stream: Open):
    """Each of many open lanes is asked about as often as any other."""
    names = [f"S{number:03d}" for number in range(100)]
    sim.shape(" ~ ".join(names))
    write(sim, *names, rounds=1)
    stream = open_stream(concurrency=4)
    drain(stream, sim.clock, quiet=10, step=0.5)
    sim.calls.clear()
    began = sim.clock.now()
    busy = iter(names * 10)
    while sim.clock.now() < began + 5:
        sim.put(next(busy))
        if next(stream) is None:
            sim.clock.advance(0.1)
    asked = {name: [call.time for call in sim.calls.of("GetRecords", shard=name)] for name in names}
    for name, times in asked.items():
        pauses = [later - earlier for earlier, later in zip([began, *times], [*times, sim.clock.now()], strict=True)]
        assert max(pauses) <= 2.0, name


def test_memory_and_token_follow_what_is_listed(sim: Simulator, open_stream: Open):
    """Generation after generation, over days."""
    sim.shape(" ~ ".join(f"S{number}" for number in range(5)))
    stream = open_stream()
    sizes, counts = [], []
    came = []
    for _ in range(20):
        write(sim, *sim.open_shards, rounds=1)
        came += drain(stream, sim.clock, quiet=20)
        sim.clock.advance(hours=4)
        sim.roll()
        came += drain(stream, sim.clock, quiet=120, step=20)
        sizes.append(len(json.dumps(stream.token)))
        counts.append(entries(stream))
    assert identities(came) == identities(in_order(sim))
    assert max(sizes[11:]) <= max(sizes[:11]) + 50  # numbers get longer
    assert max(counts[11:]) <= 1.05 * max(counts[:11])
