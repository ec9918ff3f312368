"""A lane's life: ends that are doubted, starts that are chosen anew, and what it says of itself on the way."""

from __future__ import annotations

import pytest

from streamiter.clock import SECOND_US
from streamiter.merge import Lane
from streamiter.merge.lane import BEHIND_US, TIP_EMPTIES
from streamiter.position import AtTime, Horizon, Place
from streamiter.shard import FIRST
from tests.merge.test_lane import NOW, RANK, lane, seconds


def reach_tip(shard: Lane, service_us: int = NOW) -> None:
    for _ in range(TIP_EMPTIES):
        shard.push([], service_us)
    assert shard.is_at_tip


def test_an_end_is_doubted_once_at_each_place():
    shard = lane()
    assert shard.doubt_end() and not shard.doubt_end()
    shard.push(seconds(1), NOW)
    assert shard.doubt_end() and not shard.doubt_end()


def test_after_some_doubts_an_end_is_believed_and_a_record_or_a_tip_makes_doubts_count_anew():
    shard = lane()
    for time_us in range(TIP_EMPTIES):
        shard.restart(AtTime(time_us, NOW))
        assert shard.doubt_end()
    shard.restart(AtTime(NOW, NOW))
    assert not shard.doubt_end()
    shard.push(seconds(1), NOW)
    shard.advance(1)
    for time_us in range(TIP_EMPTIES):
        shard.restart(AtTime(time_us, NOW))
        assert shard.doubt_end()
    reach_tip(shard)
    for time_us in range(TIP_EMPTIES):
        shard.restart(AtTime(time_us, NOW))
        assert shard.doubt_end()


def test_a_lane_that_starts_anew_is_as_one_just_opened_there():
    shard = lane()
    shard.latest = True
    shard.push(seconds(1), NOW)
    shard.advance(1)
    reach_tip(shard)
    assert shard.bound[1] is FIRST
    shard.restart(Horizon(NOW))
    assert (shard.place, shard.position, shard.latest) == (None, Horizon(NOW), False)
    assert shard.bound == (SECOND_US, RANK), "its tip counts no more"
    assert (shard.is_unheard, shard.empties, shard.is_at_tip) == (True, 0, False)
    shard.restart(AtTime(7, NOW))
    assert shard.position == AtTime(7, NOW)
    assert shard.given == 1, "what was returned before counts on"


def test_it_is_unheard_until_a_record_a_tip_or_an_end_and_again_when_it_is_opened_anew():
    shard = lane()
    assert shard.is_unheard
    shard.push([], NOW)
    assert shard.is_unheard, "an empty page says nothing"
    reach_tip(shard)
    assert not shard.is_unheard
    shard = lane()
    shard.push(seconds(1), NOW)
    assert not shard.is_unheard
    shard.reopen()
    assert shard.is_unheard
    shard.push([], NOW, ended=True)
    assert not shard.is_unheard


@pytest.mark.parametrize("ahead_us", [-SECOND_US - BEHIND_US, 0, BEHIND_US])
def test_it_is_current_where_its_last_record_is_about_as_new_as_the_service(ahead_us: int):
    shard = lane()
    assert not shard.is_current
    shard.push(seconds((NOW + ahead_us) / SECOND_US), NOW)
    assert shard.is_current
    shard = lane()
    beyond = 1 if ahead_us > 0 else -1
    shard.push(seconds((NOW + ahead_us + beyond * (SECOND_US + 2 * BEHIND_US)) / SECOND_US), NOW)
    assert not shard.is_current


def test_a_floor_that_is_known_late_is_raised_and_never_lowered():
    shard = lane(floor_us=50)
    shard.floor_unknown = True
    shard.raise_floor(70)
    assert (shard.last_us, shard.emitted_us, shard.floor_unknown) == (70, 70, False)
    shard.raise_floor(60)
    shard.raise_floor(None)
    assert (shard.last_us, shard.emitted_us) == (70, 70)


def test_records_that_are_not_to_be_returned_count_for_the_order_of_what_follows():
    shard = lane()
    shard.push(seconds(3, 9), NOW)
    shard.discard()
    assert (len(shard), shard.emitted_us, shard.last_us) == (0, 9 * SECOND_US, 9 * SECOND_US)
    shard.push(seconds(5, first=3), NOW)
    assert shard.times == [9 * SECOND_US]


def test_its_children_may_be_as_old_as_its_last_sign_of_life():
    shard = Lane("S1", RANK, Horizon(100), floor_us=50)
    assert shard.children_from_us is None
    shard.push([], NOW, ended=True)
    assert shard.children_from_us == 100, "it was opened then; its floor is older, and its ancestors'"
    shard = Lane("S1", RANK, Horizon(100), floor_us=50)
    shard.push(seconds(2), NOW)
    shard.push([], NOW, ended=True)
    assert shard.children_from_us == 2 * SECOND_US
    shard.advance(1)
    assert shard.children_from_us == 2 * SECOND_US
    shard.was_finished = True
    assert shard.children_from_us == NOW


def test_what_nobody_tells_a_lane_is_nothing():
    shard = Lane("S1", RANK, Horizon())
    copy = shard.ahead(0)
    assert (copy.newest_us, copy.childless, copy.was_returned, len(copy)) == (None, False, False, 0)
    reach_tip(shard)
    assert shard.bound == (NOW, FIRST), "it is known below the second at which it was empty: there is no lateness"
    shard.push(seconds(NOW / SECOND_US), NOW)
    assert shard.waiting_bytes == 0
    shard.advance(1)
    assert (shard.place, shard.was_returned) == (Place.of("1"), True)
