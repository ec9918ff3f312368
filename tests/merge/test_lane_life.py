"""A lane's life: ends that are doubted, starts that are chosen anew, and what it says of itself on the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamiter.clock import SECOND_US
from streamiter.merge import Lane
from streamiter.merge.lane import BEHIND_US, CUT, TIP_EMPTIES, _Cut
from streamiter.position import After, AtTime, Horizon, Place
from streamiter.shard import FIRST
from tests.merge.test_lane import NOW, RANK, lane, numbered, places, seconds


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


def test_a_new_lane_is_of_no_special_kind():
    shard = lane()
    assert not (shard.is_gone or shard.latest or shard.floor_unknown or shard.closed)


def test_a_shard_that_closed_has_no_tip_even_where_a_page_says_that_no_records_follow():
    shard = lane()
    shard.push(seconds(1), NOW, caught_up=True)
    assert shard.is_at_tip
    shard.close()
    assert shard.closed and not shard.is_at_tip
    shard.push(seconds(2, first=2), NOW, caught_up=True)
    assert not shard.is_at_tip
    still_open = lane()
    still_open.push(seconds(1), NOW, caught_up=False)
    assert not still_open.is_at_tip, "more records follow"


def test_an_end_that_is_doubted_leaves_the_tip_since_the_shard_is_opened_anew():
    shard = lane()
    reach_tip(shard)
    assert shard.doubt_end() and not shard.is_at_tip and shard.empties == 0


def test_after_a_start_elsewhere_places_count_from_there():
    shard = lane()
    shard.push(numbered(5, 5), NOW)
    shard.advance(2)
    shard.restart(Horizon())
    assert shard.place is None
    shard.push(numbered(5), NOW)
    assert places(shard) == [(5, 0)]


def test_records_before_its_start_are_dropped_and_none_of_the_others_counts_as_spoiled():
    shard = lane(skip_before_us=2 * SECOND_US)
    shard.push(seconds(1, 2, 3), NOW)
    assert (shard.dropped, len(shard), shard.new_spoiled) == (1, 2, 0)


@pytest.mark.parametrize("so_far", [[], ["times"], ["times", "places"], ["times", "places", "records"]])
@pytest.mark.parametrize("go_on", [Lane.mend, lambda shard: shard.advance_to(2)])
def test_a_cut_that_was_broken_off_half_way_is_finished_first_and_once(
    go_on: Callable[[Lane], None], so_far: list[str]
):
    shard = lane()
    shard.push(seconds(1, 2, 3), NOW)
    shard.head = 2
    shard._cutting = _Cut(shard.place, shard.emitted_us, 2, 1)
    for name in so_far:
        del getattr(shard, name)[:2]
    if len(so_far) == 3:
        shard.cut_count = 2
    go_on(shard)
    assert (len(shard), shard.given, shard.place) == (1, 2, Place(2, 0))
    assert (shard.times, shard.fetch_position) == ([3 * SECOND_US], After(Place(3, 0)))
    shard.push(seconds(4, first=4), NOW)
    shard.mend()
    assert (len(shard), shard.given) == (2, 2)
    shard._check()


def test_returned_records_are_kept_until_they_are_many_and_the_greater_part():
    few, part, many = lane(), lane(), lane()
    few.push(numbered(*range(1, CUT + 1)), NOW)
    few.advance(CUT - 1)
    part.push(numbered(*range(1, 10 * CUT)), NOW)
    part.advance(4 * CUT)
    many.push(numbered(*range(1, 2 * CUT + 1)), NOW)
    many.advance(CUT)
    assert [shard.cut_count for shard in (few, part, many)] == [0, 0, CUT]


def test_a_place_that_the_source_tells_of_its_start_is_taken_where_nothing_was_read():
    fresh = lane()
    fresh.anchor(Place(7, 0))
    assert (fresh.start, fresh.place) == (After(Place(7, 0)), Place(7, 0))
    under_way = lane()
    under_way.push(seconds(1, first=9), NOW)
    under_way.anchor(Place(7, 0))
    assert under_way.start == Horizon() and under_way.place is None
