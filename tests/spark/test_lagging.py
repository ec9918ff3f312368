"""Listings that lag, as many as are asked for in a moment: a micro-batch read again has the rows that it had, with their keys.

And "latest" misses nothing from then on, and gives nothing from before.
"""

from __future__ import annotations

from hypothesis import given, note, settings
from hypothesis import strategies as st

from streamiter.lineage.agreement import UNTOLD_US, YOUNG_US
from streamiter.reading.resume import token_at_start
from streamiter.spark.options import Options
from streamiter.spark.planning.listing import latest_token
from streamiter.spark.planning.planner import plan_between
from streamiter.testing import ManualClock
from streamiter.token import Token
from tests.drawn import live_tapes, live_world, long_ago, tapes, worlds
from tests.properties.test_lagging_moments import Moment, with_hints
from tests.spark.test_worlds import OPTIONS, batch, planner_of, read, wanted
from tests.spark.world_source import WorldSource
from tests.worlds import DAY, HOUR, NOW, SECOND, STREAM, Tape, World


def batches(world: World, clock: ManualClock, tape: Tape, limits: list[int]) -> list[tuple[Token, Token, list[str]]]:
    """Micro-batches of what a world holds, as one process reads them: from where, to where, which rows."""
    source = WorldSource(world, clock, tape)
    token = token_at_start(STREAM)
    found = []
    for limit in [*limits, 0]:
        options = Options("world", STREAM, max_records=limit or None)
        planner = planner_of(source, token, clock, options)
        mark = planner.mark()
        while not planner.is_past(mark):
            planner.turn(wait=True)
            if planner.has_news:
                harvest = planner.harvest(limit or None, mark=mark)
                found.append((token, harvest.token, sorted(read(planner.plan(harvest), source.other(), clock))))
                token = harvest.token
                if limit:
                    break
            else:
                clock.sleep(max(0.1, planner.pause_seconds))
        planner.close()
    return found


def assert_read_again(world: World, tape: Tape, limits: list[int], lasts_us: int) -> None:
    clock = ManualClock()
    for start, end, rows in batches(world, clock, tape, limits):
        source = WorldSource(world, clock, tape, Moment(world, tape, lasts_us=lasts_us))
        note(f"{start.to_dict()} to {end.to_dict()}")
        parts = plan_between(start, end, source, OPTIONS, clock)
        assert sorted(read(parts, WorldSource(world, clock, tape), clock)) == rows


drawn = worlds(created=long_ago, numbers="distinct")
cuts = st.lists(st.integers(0, 5), max_size=4)


@settings(max_examples=60)
@given(drawn, tapes, cuts)
def test_of_a_moment_of_which_ids_tell_nothing(world: World, tape: Tape, limits: list[int]):
    assert_read_again(world, tape, limits, UNTOLD_US)


@settings(max_examples=60)
@given(drawn, tapes, cuts, st.sampled_from([HOUR, DAY - HOUR]))
def test_of_ten_seconds_where_ids_tell_that_parents_must_be_listed(
    world: World, tape: Tape, limits: list[int], age_us: int
):
    assert_read_again(with_hints(world, age_us), tape, limits, YOUNG_US)


@settings(max_examples=80)
@given(live_tapes, st.booleans(), st.lists(st.integers(1, 4), max_size=3))
def test_latest_is_a_place_in_time_whatever_the_listing_lacks(tape: Tape, has_hints: bool, limits: list[int]):
    world = live_world(tape)
    world = with_hints(world, HOUR) if has_hints else world
    clock = ManualClock()
    lag = Moment(world, tape, lasts_us=SECOND)
    source = WorldSource(world, clock, tape, lag)
    token = latest_token(source, clock, OPTIONS)
    note(f"{world!r} from {token.to_dict()}")
    keys: list[str] = []
    for limit in [*limits, 0]:
        options = Options("world", STREAM, max_records=limit or None)
        planner = planner_of(source, token, clock, options)
        quiet_since = clock.monotonic()
        while clock.monotonic() - quiet_since < 90:
            planner.turn(wait=True)
            if planner.has_news:
                harvest = planner.harvest(limit or None)
                note(f"to {harvest.token.to_dict()}")
                keys, token = batch(planner, harvest, source, clock, token, keys, options)
                quiet_since = clock.monotonic()
                if limit:
                    break
            else:
                clock.sleep(max(0.1, planner.pause_seconds))
        planner.close()
    since_us = NOW - 1 * SECOND
    assert len(keys) == len(set(keys))
    assert set(keys) <= set(wanted(world, since_us)), "nothing from before"
    # What is in a shard that was closed by then was written before, whenever it came to be readable.
    open_by_then = [shard for shard in world.shards.values() if shard.closed_us is None or shard.closed_us > NOW]
    new = {(shard.id, truth.number) for shard in open_by_then for truth in shard.records if truth.visible_us > NOW}
    assert {(key.split()[3], int(key.split()[-2][2:])) for key in keys} >= new, "all from then on"
