"""The way on after the service trimmed a place: where a lane may go on without a gap, because nothing can be lost."""

from __future__ import annotations

import pytest

from streamiter.merge import Lane
from streamiter.position import After, AtTime, Horizon, Place, Position
from streamiter.reading.gaps import was_read, way_on
from streamiter.record import Record
from streamiter.shard import Rank

NOW = 1_750_000_000_000_000
TIP = NOW - 600_000_000


def lane(start: Position, *, floor_us: int | None = None, read_up_to_us: int | None = None) -> Lane:
    made = Lane("S1", Rank("S1", 0, "S1"), start, floor_us=floor_us)
    made.read_up_to_us = read_up_to_us
    return made


def held(_: Position) -> bool:
    return False


def gone(_: Position) -> bool:
    return True


def old_places(position: Position) -> bool:
    """Records at places are gone, and those since the tip are held."""
    return not (isinstance(position, AtTime) and position.time_us == TIP)


def test_a_start_that_is_held_still_is_opened_again():
    for start in (Horizon(NOW), AtTime(NOW - 5, NOW)):
        assert way_on(lane(start), NOW, held) == start
        assert way_on(lane(start), NOW, gone) is None


@pytest.mark.parametrize("emitted_us, goes_on", [(None, True), (TIP - 1, True), (TIP, False), (TIP + 1, False)])
def test_behind_an_old_record_it_goes_on_from_the_tip_up_to_which_all_was_read(emitted_us: int | None, goes_on: bool):
    found = way_on(lane(After(Place(7, 0)), floor_us=emitted_us, read_up_to_us=TIP), NOW, old_places)
    assert found == (AtTime(TIP, NOW) if goes_on else None)


def test_it_may_lose_records_where_no_tip_was_reached_or_that_is_old_too_or_records_wait():
    place = After(Place(7, 0))
    assert way_on(lane(place), NOW, held) is None
    assert way_on(lane(place, read_up_to_us=TIP), NOW, gone) is None
    waiting = lane(place)
    waiting.push([Record("S1", "9", TIP - 5)], NOW)
    waiting.read_up_to_us = TIP
    assert way_on(waiting, NOW, old_places) is None


def test_a_shard_was_read_if_a_record_of_it_or_an_order_time_above_it_is_known():
    assert not was_read(lane(Horizon()))
    assert was_read(lane(Horizon(), floor_us=5)) and was_read(lane(After(Place(7, 0))))
