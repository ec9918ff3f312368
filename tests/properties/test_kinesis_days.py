"""Days of a Kinesis stream that hypothesis made up, splits, merges and packed records in them, down to HTTP."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from streamiter import KinesisStreams, Stream
from streamiter.testing import KinesisHandle, Simulator
from tests.stream.helpers import take, take_all
from tests.stream.kinesis import assert_came, assert_lawful, in_order, told

steps = st.lists(
    st.tuples(st.sampled_from(["put", "put", "put", "pack", "split", "merge", "wait"]), st.integers(0, 99)),
    min_size=1,
    max_size=25,
)


# A day takes a good part of a second.
few = settings(max_examples=20)


def happen(stream: KinesisHandle, sim: Simulator, kind: str, number: int) -> None:
    shards = stream.open_shards
    shard = shards[number % len(shards)]
    if kind == "put":
        stream.put(shard, str(number), created=sim.clock.now() - number % 3)
    elif kind == "pack":
        stream.put_packed(shard, [("k", b"%d" % part) for part in range(1 + number % 4)])
    elif kind == "split" and len(shards) < 6:
        stream.split(shard)
    elif kind == "merge" and len(shards) > 1:
        place = number % (len(shards) - 1)
        stream.merge(shards[place], shards[place + 1])
    elif kind == "wait":
        sim.clock.advance(number / 50)


def opened(sim: Simulator, token: Any = "trim_horizon", **options: Any) -> Stream:
    return Stream(KinesisStreams("orders", client=sim.client("kinesis")), token, clock=sim.clock, **options)


@few
@given(steps, st.integers(0, 1000), st.lists(st.integers(0, 40), max_size=3), st.booleans(), st.integers(0, 99))
@example([("split", 1), ("put", 1)], 17, [], False, 0)  # it comes late: row upon row of empty pages and failures
def test_what_was_written_comes_in_the_order_of_its_keys(day, seed: int, cuts: list[int], tells: bool, size: int):
    with Simulator(table=None) as sim:
        stream = sim.create_stream("orders", "S0 ~ S1")
        for kind, number in day:
            happen(stream, sim, kind, number)
        sim.clock.advance(60)
        sim.knobs.tells_children = tells
        sim.knobs.page_size = 1 + size % 7
        # A root that listings lack at first is read late, as law 7 lets it be: all else must not show.
        sim.misbehave(seed, slow=0, lag=0, lists_nothing=0)
        wanted = in_order(stream)
        note(f"{len(wanted)} records; {stream._truth.shards.keys()}")
        came: list[Any] = []
        token: Any = "trim_horizon"
        for cut in sorted(cuts):
            with opened(sim, token) as part:
                came += take(part, sim.clock, max(0, min(cut, len(wanted)) - len(came)))
                token = json.loads(json.dumps(part.token))
            sim.clock.advance(cut)
        with opened(sim, token) as rest:
            came += take_all(rest, sim.clock, len(wanted) - len(came))
        assert_came(came, wanted)


@few
@given(steps, st.integers(0, 1000), st.booleans(), st.booleans())
def test_while_it_is_written_nothing_is_lost_and_nothing_comes_twice(day, seed: int, tells: bool, waits: bool):
    with Simulator(table=None) as sim:
        stream = sim.create_stream("orders", "S0 ~ S1")
        sim.knobs.tells_children = tells
        sim.knobs.records_rate = 5
        sim.misbehave(seed, slow=0)
        reader = opened(sim, lateness=1.0 if waits else None)
        came: list[Any] = []
        for place, (kind, number) in enumerate(day):
            if not any(stream.shard(name).was_read_out for name in stream.open_shards):
                happen(stream, sim, kind, number)
            came += take(reader, sim.clock, 0)
            for _ in range(number % 4):
                if (record := next(reader)) is not None:
                    came.append(record)
                sim.clock.advance(0.3)
            if place % 7 == 6:
                token = reader.token
                reader.close()
                reader = opened(sim, token, lateness=1.0 if waits else None)
        came += take_all(reader, sim.clock, len(told(stream.history)) - len(came))
        reader.close()
        assert_lawful(came, stream)
