"""Worlds as Spark reads them: shards by tasks, tips by the planner; together they are what the oracle says, key by key."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence

from hypothesis import given, note, settings
from hypothesis import strategies as st

from streamiter.position import Place
from streamiter.reading.resume import token_at_start
from streamiter.record import Record, order_key
from streamiter.shard import Rank
from streamiter.spark.options import Options
from streamiter.spark.planning.parts import Partition
from streamiter.spark.planning.planner import Planner, plan_between
from streamiter.spark.tasks.floors import Floors
from streamiter.spark.tasks.shards import ShardReader
from streamiter.spark.tasks.worker import tables
from streamiter.testing import ManualClock
from streamiter.token import Token, load_token
from tests.drawn import live_tapes, live_world, long_ago, tapes, worlds
from tests.oracle import expected
from tests.spark.world_source import WorldSource
from tests.worlds import HOUR, NOW, SECOND, STREAM, Tape, World

OPTIONS = Options("world", STREAM)

slots_known = st.sampled_from([None, 1, 2])  # with fewer slots than shards, a task reads several side by side


def wanted(world: World, start_us: int | None = None) -> list[str]:
    first = {shard.id: shard.trimmed for shard in world.shards.values()}
    rows = expected(world.shards, start_us=start_us, first=first)
    return [order_key(row.order_us, Rank(*row.rank), Place(*row.place)) for row in rows]


def read(
    partitions: Sequence[Partition], source: WorldSource, clock: ManualClock, before_us: int | None = None
) -> list[str]:
    """The keys that tasks give, each task a worker of its own."""
    keys: list[str] = []
    for partition in reversed(pickle.loads(pickle.dumps(partitions))):
        floors = Floors(source, clock)
        reader = ShardReader(source, floors, clock)
        for table in tables(partition, reader, floors, before_us, Record):
            keys += table.column("order_key").to_pylist()
    return keys


def planner_of(source: WorldSource, token: Token, clock: ManualClock, options: Options = OPTIONS) -> Planner:
    return Planner(source, token, options, clock, hands_over=not options.has_limit, lateness=options.lateness)


@given(worlds(created=long_ago), tapes, slots_known)
def test_a_batch_is_what_the_oracle_says(world: World, tape: Tape, slots: int | None):
    clock = ManualClock()
    source = WorldSource(world, clock, tape)
    options = Options("world", STREAM, slots=slots)
    planner = Planner(source, token_at_start(STREAM), options, clock, hands_over=True, lateness=None)
    partitions = planner.plan(planner.read_until_caught_up())
    planner.close()
    closed = {s.id for s in world.shards.values() if s.is_closed(NOW)}
    assert not source.read & closed, "the planner leaves closed shards to tasks"
    assert sorted(read(partitions, source, clock)) == wanted(world)


# Where numbers run backwards, places count from where reading began, which is not the same here (law 4).
@given(worlds(created=long_ago, numbers="rising"), tapes, st.integers(-14, 20), slots_known)
def test_a_batch_from_a_time_is_what_the_oracle_says(world: World, tape: Tape, ticks: int, slots: int | None):
    start_us = NOW - 7 * HOUR + ticks * SECOND // 2
    start_us -= start_us % SECOND
    clock = ManualClock()
    source = WorldSource(world, clock, tape)
    options = Options("world", STREAM, slots=slots)
    planner = Planner(source, token_at_start(STREAM, start_us), options, clock, hands_over=True, lateness=None)
    partitions = planner.plan(planner.read_until_caught_up())
    planner.close()
    got = sorted(read(partitions, source, clock))
    assert got == wanted(world, start_us)


@settings(max_examples=60)
@given(
    worlds(created=long_ago, numbers="distinct"),
    tapes,
    st.lists(st.integers(0, 5), min_size=1, max_size=8),
    slots_known,
)
def test_micro_batches_replay_and_add_up(world: World, tape: Tape, limits: list[int], slots: int | None):
    """Each micro-batch, planned with a limit or without, reads the same rows again; all of them are the world."""
    assert_add_up(world, tape, limits, None, slots)


@given(
    worlds(created=long_ago, numbers="rising"),
    tapes,
    st.lists(st.integers(0, 5), max_size=6),
    st.integers(-14, 20),
    slots_known,
)
def test_micro_batches_from_a_time(world: World, tape: Tape, limits: list[int], ticks: int, slots: int | None):
    start_us = NOW - 7 * HOUR + ticks * SECOND // 2
    assert_add_up(world, tape, limits, start_us - start_us % SECOND, slots)


def assert_add_up(world: World, tape: Tape, limits: list[int], start_us: int | None, slots: int | None) -> None:
    clock = ManualClock()
    source = WorldSource(world, clock, tape)
    token = token_at_start(STREAM, start_us)
    keys: list[str] = []
    note(f"{world!r} from {start_us}, {limits}")
    for life, limit in enumerate([*limits, 0]):
        options = Options("world", STREAM, max_records=limit or None, slots=slots)
        planner = planner_of(source, token, clock, options)
        mark = planner.mark()
        while not planner.is_past(mark):
            planner.turn(wait=True)
            if planner.has_news and life < len(limits):
                break  # One micro-batch, and it is started again.
            if not planner.has_news:
                clock.sleep(max(0.1, planner.pause_seconds))
            else:
                harvest = planner.harvest(mark=mark)
                keys, token = batch(planner, harvest, source, clock, token, keys, options)
        harvest = planner.harvest(limit or None)
        keys, token = batch(planner, harvest, source, clock, token, keys, options)
        planner.close()
    assert sorted(keys) == wanted(world, start_us)


def batch(planner, harvest, source, clock, token, keys, options):
    end = load_token(json.loads(json.dumps(harvest.token.to_dict())))
    note(f"to {end.to_dict()}")
    assert end == harvest.token
    rows = sorted(read(planner.plan(harvest), source.other(), clock))
    replayed = sorted(read(plan_between(token, end, source.other(), options, clock), source.other(), clock))
    assert replayed == rows
    return keys + rows, end


@settings(max_examples=60)
@given(live_tapes, st.lists(st.integers(0, 4), max_size=4))
def test_shards_that_roll_while_a_query_runs(tape: Tape, limits: list[int]):
    """Micro-batches of a live world: nothing lost, nothing twice, the same when read again, no child before its parent."""
    clock = ManualClock()
    world = live_world(tape)
    source = WorldSource(world, clock, tape)
    token = token_at_start(STREAM)
    batches: list[list[str]] = []
    limit = 0
    planner = planner_of(source, token, clock)
    quiet_since = clock.monotonic()
    while clock.monotonic() - quiet_since < 60:
        planner.turn(wait=True)
        if not planner.has_news:
            clock.sleep(max(0.1, planner.pause_seconds))
            continue
        options = Options("world", STREAM, max_records=limit or None)
        harvest = planner.harvest(limit or None)
        keys, token = batch(planner, harvest, source, clock, token, [], options)
        batches.append(keys)
        quiet_since = clock.monotonic()
        if limits and tape.once_in(3):  # It is started again, perhaps with another limit.
            planner.close()
            limit = limits.pop()
            planner = planner_of(source, token, clock, Options("world", STREAM, max_records=limit or None))
    planner.close()
    keys = [key for keys in batches for key in keys]
    assert sorted(keys) == wanted(world)
    shards = [(number, key.split()[3]) for number, keys in enumerate(batches) for key in keys]
    for shard in world.shards.values():
        first = min((number for number, shard_id in shards if shard_id == shard.id), default=0)
        last = max((number for number, shard_id in shards if shard_id in world.ancestors(shard.id)), default=0)
        assert last <= first or shard.id not in {shard_id for _, shard_id in shards}
