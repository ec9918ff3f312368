"""A thousand shards that roll together: few listings, bounded memory and token, no lane starves."""

from __future__ import annotations

import gc
import json

from streamiter.lineage import Lineage
from streamiter.merge import Lane
from streamiter.testing import Simulator
from tests.stream.conftest import Open
from tests.stream.helpers import assert_all_came, drain, identities, in_order, take, write

SHARDS = 1000


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
    before = len(json.dumps(stream.token))
    assert before < 250 * SHARDS
    sim.roll()
    write(sim, *sim.open_shards, rounds=1)
    sim.calls.clear()
    began = sim.clock.monotonic()
    came += take(stream, sim.clock, SHARDS)
    assert_all_came(came, sim)
    assert sim.clock.monotonic() - began < 20  # ten pages a listing, ten a second
    assert_at_most_ten_in_any_second(listings(sim))
    assert len(listings(sim)) <= 100
    assert sim.calls.by_outcome.keys() == {"ok"}
    assert max(len(json.dumps(stream.token)), len(json.dumps(came[0].order_key))) < 2.5 * before
    rolled = [record for record in came[SHARDS:] if record.shard_id not in {r.shard_id for r in came[:SHARDS]}]
    assert len(rolled) == SHARDS


def test_no_lane_starves(sim: Simulator, open_stream: Open):
    """Each of many open lanes is asked about as often as any other."""
    names = [f"S{number:03d}" for number in range(200)]
    sim.shape(" ~ ".join(names))
    write(sim, *names, rounds=1)
    stream = open_stream(concurrency=4)
    drain(stream, sim.clock, quiet=10, step=0.5)
    sim.calls.clear()
    began = sim.clock.now()
    busy = iter(names * 10)
    while sim.clock.now() < began + 8:
        sim.put(next(busy))
        if next(stream) is None:
            sim.clock.advance(0.1)
    asked = {name: [call.time for call in sim.calls.of("GetRecords", shard=name)] for name in names}
    for name, times in asked.items():
        pauses = [later - earlier for earlier, later in zip([began, *times], [*times, sim.clock.now()], strict=True)]
        assert max(pauses) <= 2.0, name


def test_memory_and_token_follow_what_is_listed(sim: Simulator, open_stream: Open):
    """Generation after generation, over days."""
    sim.shape(" ~ ".join(f"S{number}" for number in range(10)))
    stream = open_stream()
    sizes, counts = [], []
    came = []
    for _ in range(24):
        write(sim, *sim.open_shards, rounds=1)
        came += drain(stream, sim.clock, quiet=20)
        sim.clock.advance(hours=4)
        sim.roll()
        came += drain(stream, sim.clock, quiet=120, step=20)
        sizes.append(len(json.dumps(stream.token)))
        gc.collect()
        counts.append(sum(isinstance(thing, Lane) for thing in gc.get_objects()))
        counts[-1] += sum(len(thing) for thing in gc.get_objects() if isinstance(thing, Lineage))
    assert identities(came) == identities(in_order(sim))
    assert max(sizes[12:]) <= max(sizes[:12])
    assert max(counts[12:]) <= max(counts[:12])
