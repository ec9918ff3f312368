"""Cancelled at any await, by any method: nothing is lost, nothing comes twice, and the token is after the last record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamiter import AsyncStream, Record, Stream
from streamiter.testing import ManualClock
from tests.aio.virtual import Arriving, CancelledAt, WorldSource, run
from tests.drawn import LONG_AGO, worlds
from tests.stream.shelf import Shelf
from tests.worlds import SECOND, Tape, World

Identity = tuple[str, str, int | None, bool]
Step = Callable[[], Awaitable[list[Record]]]

held = worlds(most_shards=4, most_records=6, numbers="rising", created=st.sampled_from([LONG_AGO, LONG_AGO + SECOND]))
tapes = st.binary(max_size=60)


def identities(records: list[Record]) -> list[Identity]:
    return [(record.shard_id, record.sequence_number, record.clock, record.late) for record in records]


def by_thread(world: World, tape: bytes, position: Any = "trim_horizon") -> list[Identity]:
    """What Stream gives of a world."""
    clock = ManualClock()
    source = WorldSource(world, Tape(tape), now_us=lambda: round(clock.monotonic() * SECOND))
    with Stream(source, position, clock=clock) as stream:
        return identities(list(stream.follow(until="caught_up")))


def async_stream(world: World, tape: bytes, **options: Any) -> AsyncStream[Record]:
    """Reads a world in virtual time; answers take some of it."""
    stream = AsyncStream(WorldSource(world, Tape(tape)), **options)
    times = Tape(tape[::-1])
    stream._loop._make_calls = lambda most, ring: Arriving(most, ring, times)
    return stream


async def one(awaited: Awaitable[Record | None]) -> list[Record]:
    record = await awaited
    return [] if record is None else [record]


async def listed(awaited: Awaitable[list[Record]]) -> list[Record]:
    return list(await awaited)


def following(stream: AsyncStream[Record]) -> Step:
    followed = stream.follow(until="caught_up")
    return lambda: one(anext(followed))


def in_batches(stream: AsyncStream[Record]) -> Step:
    found = stream.batches(3, until="caught_up")
    return lambda: listed(anext(found))


WAYS: dict[str, Callable[[AsyncStream[Record]], Step]] = {
    "anext": lambda stream: lambda: one(anext(stream)),
    "next": lambda stream: lambda: one(stream.next()),
    "follow": following,
    "batches": in_batches,
    "take": lambda stream: lambda: listed(stream.take(3, 2.0)),
    "take at once": lambda stream: lambda: listed(stream.take(2, 0)),
}


async def read(
    stream: AsyncStream, way: str, total: int, at: int, tokens: dict[int, Any] | None = None
) -> tuple[Any, int]:
    """Reads so many records, one step cancelled at that await; gives them, and how many awaits there were."""
    came: list[Record] = []
    cancelling = CancelledAt(at)
    step = WAYS[way](stream)
    while len(came) < total:
        try:
            found = await cancelling.run(step())
        except asyncio.CancelledError:
            assert cancelling.waits == at
            assert not came or stream.token.get("clock", 0) == len(came)
            continue
        came += found
        if came:
            assert stream.token.get("clock", 0) == len(came) == stream.stats.records
        if tokens is not None and came:
            tokens[len(came)] = stream.token
        if not found:
            await asyncio.sleep(0.3)  # nothing is due
            assert asyncio.get_running_loop().time() < 3600, f"{len(came)} of {total} came; {stream.stats}"
    await stream.aclose()
    return identities(came), cancelling.waits


@pytest.mark.parametrize("way", WAYS)
@given(world=held, tape=tapes)
@settings(max_examples=15)
def test_it_gives_what_stream_gives(way: str, world: World, tape: bytes):
    wanted = by_thread(world, tape)
    found: dict[int, dict[str, Any]] = {}
    came, waits = run(read(async_stream(world, tape), way, len(wanted), 0, found))
    assert came == wanted
    assert waits > 0 or not wanted
    for count, token in found.items():
        assert by_thread(world, tape, json.loads(json.dumps(token))) == wanted[count:]


@pytest.mark.parametrize("way", WAYS)
@given(world=held, tape=tapes)
@settings(max_examples=8)
def test_cancelled_at_any_await(way: str, world: World, tape: bytes):
    wanted = by_thread(world, tape)
    came, waits = run(read(async_stream(world, tape), way, len(wanted), 0))
    assert came == wanted
    for at in range(1, waits + 1, max(1, waits // 12)):
        came, _ = run(read(async_stream(world, tape), way, len(wanted), at))
        assert came == wanted, at


@pytest.mark.parametrize("way", ["follow", "batches"])
def test_an_iteration_that_was_cancelled_ends_where_it_is_caught_up(way: str):
    """Also where reading began anew meanwhile, and counts from there."""

    async def main(at: int) -> tuple[int, int]:
        clock = ManualClock()
        shelf = Shelf(clock, "S1", "S2")
        shelf.put("S1", 5, age=60)
        shelf.put("S2", 5, age=60)
        stream = AsyncStream[Record](shelf, clock=clock)
        stream._loop._make_calls = lambda most, ring: Arriving(most, ring, Tape(b"12345"))
        assert len(await stream.take(11, 60.0)) == 10
        shelf.put("S1", 3)
        shelf.put("S2", 3)
        cancelling, came = CancelledAt(at), 0
        step = WAYS[way](stream)
        while clock.slept < 600:
            try:
                came += len(await cancelling.run(step()))
            except asyncio.CancelledError:
                continue
            except StopAsyncIteration:
                break
        else:
            raise AssertionError("it does not end")
        await stream.aclose()
        return came, cancelling.waits

    came, waits = run(main(0))
    assert came == 6
    assert waits >= 3
    for at in range(1, waits + 1):
        assert run(main(at))[0] == 6, at
