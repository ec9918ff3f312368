"""Marks, for `until="caught_up"`: all that the service held at a moment has come out, and not a moment too early."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st

from tests.drawn import DrawnLag, live_tapes, live_world, tapes, worlds
from tests.worlds import NOW, SECOND, Drive, Tape, World


def held_at(world: World, service_us: int) -> set[tuple[str, int]]:
    """What could be read at this moment, in shards that were listed by then."""
    return {
        (shard.id, index)
        for shard in world.shards.values()
        if shard.born_us <= service_us
        for index, truth in enumerate(shard.records)
        if truth.visible_us <= service_us
    }


def read_past_mark(drive: Drive, rounds: int) -> None:
    """Marks a moment after so many rounds, and reads until it is past."""
    for _ in range(rounds):
        drive.round()
    held = held_at(drive.world, drive.service_us)
    mark = drive.reading.mark(drive.now_us)
    since_us = drive.now_us
    while not drive.reading.is_past(mark):
        drive.round()
        assert drive.now_us < since_us + 200 * SECOND, "the mark is never past"
    lacking = held - {(o.shard, o.index) for o in drive.out}
    assert not lacking, f"not returned yet: {lacking}"


@given(worlds(), tapes, st.integers(0, 5))
def test_what_was_written_long_ago_is_all_out(world: World, tape: Tape, rounds: int):
    read_past_mark(Drive(world, tape=tape, lag=DrawnLag(world, tape), faults=True), rounds)


@given(live_tapes, tapes, st.integers(0, 60))
def test_at_the_tip_all_that_was_there_is_out(live: Tape, tape: Tape, rounds: int):
    world = live_world(live)
    note(f"{world}")
    drive = Drive(world, tape=tape, lag=DrawnLag(world, tape), faults=True, now_us=-30 * SECOND)
    assert drive.service_us < NOW
    read_past_mark(drive, rounds)
