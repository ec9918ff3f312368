"""Marks, for `until="caught_up"`: all that the service held at a moment has come out, and not a moment too early."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st

from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.shard import Shard
from tests.drawn import DrawnLag, live_tapes, live_world, tapes, worlds
from tests.reading.hand import Hand
from tests.worlds import NOW, SECOND, STREAM, Drive, Tape, World


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


@given(
    ahead_us=st.integers(-2 * SECOND, 6 * SECOND),
    lateness_us=st.sampled_from([0, SECOND, 3 * SECOND]),
    behind=st.integers(0, 12),
    page_ticks=st.integers(1, 16),
)
def test_of_a_shard_that_is_written_to_all_the_time_too(ahead_us, lateness_us, behind, page_ticks):
    """It has no empty page. Four records a second are written to it, by a clock that may be ahead of the service's."""
    ahead_us += lateness_us
    reading = Hand(token_at_start(STREAM), lateness_us=lateness_us)
    reading.tell([Shard("S1")], NOW, 0)
    mark = reading.mark(0)
    reading.tell([Shard("S1")], NOW, 0)
    written_us = NOW - behind * SECOND  # all before it was returned
    service_us = NOW
    while not reading.is_past(mark):
        assert service_us < NOW + 200 * SECOND, "the mark is never past"
        service_us += page_ticks * SECOND // 4
        page = []
        for _ in range(2 * page_ticks):  # it is read twice as fast as it is written to
            if written_us < service_us:
                created_us = written_us + ahead_us
                page.append(Record("S1", str(written_us), created_us - created_us % SECOND))
                written_us += SECOND // 4
        reading.push("S1", page, service_us, service_us - NOW)
        while reading.pop() is not None:
            pass
    assert written_us > NOW, f"what was written at {NOW}, the mark, is not returned, and all from {written_us} on"
