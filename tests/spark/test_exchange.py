"""One token for all: a Stream and a query take turns, each going on where the other one stopped, to the oracle's sequence."""

from __future__ import annotations

from hypothesis import given, note, settings
from hypothesis import strategies as st

from streamiter.clock import microseconds
from streamiter.reading.resume import token_at_start
from streamiter.spark.options import Options
from streamiter.testing import ManualClock
from streamiter.token import Token
from tests.drawn import long_ago, tapes, worlds
from tests.spark.test_worlds import batch, planner_of, wanted
from tests.spark.world_source import WorldSource
from tests.worlds import HOUR, NOW, SECOND, STREAM, Drive, Tape, World

turns = st.lists(st.tuples(st.sampled_from(["stream", "query", "query with a limit"]), st.integers(1, 5)), max_size=6)


def stream_reads(world: World, token: Token, clock: ManualClock, tape: Tape, most: int) -> tuple[list[str], Token]:
    """So many records, by `next`."""
    now_us = microseconds(clock.monotonic())
    drive = Drive(world, token, tape=tape, now_us=now_us)
    drive.read(most, quiet_us=60 * SECOND)
    clock.sleep((drive.now_us - now_us) / SECOND)
    return [out.key for out in drive.out], drive.token()


def query_reads(
    world: World, token: Token, clock: ManualClock, tape: Tape, most: int | None, *, once: bool
) -> tuple[list[str], Token]:
    """A micro-batch, or all that is there."""
    source = WorldSource(world, clock, tape)
    options = Options("world", STREAM, max_records=most)
    planner = planner_of(source, token, clock, options)
    mark = planner.mark()
    keys: list[str] = []
    while not planner.is_past(mark):
        planner.turn(wait=True)
        if not planner.has_news:
            clock.sleep(max(0.1, planner.pause_seconds))
            continue
        keys, token = batch(planner, planner.harvest(most), source, clock, token, keys, options)
        if once:
            break
    planner.close()
    return keys, token


@settings(max_examples=80)
@given(worlds(created=long_ago, numbers="rising"), tapes, turns, st.none() | st.integers(-4, 8))
def test_turns(world: World, tape: Tape, turns: list[tuple[str, int]], ticks: int | None):
    start_us = None if ticks is None else NOW - 7 * HOUR + ticks * SECOND
    clock = ManualClock()
    token = token_at_start(STREAM, start_us)
    keys: list[str] = []
    note(repr(world))
    for reader, most in turns:
        if reader == "stream":
            came, token = stream_reads(world, token, clock, tape, most)
        else:
            came, token = query_reads(world, token, clock, tape, most if "limit" in reader else None, once=True)
        note(f"{reader}: {came} to {token.to_dict()}")
        keys += came
    came, token = query_reads(world, token, clock, tape, None, once=False)
    assert sorted(keys + came) == wanted(world, start_us)
