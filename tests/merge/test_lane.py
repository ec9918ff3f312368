"""Lanes: one shard's records, in the order the shard gave them; what is known of it, and below what it gives nothing more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.clock import SECOND_US
from streamiter.merge import Lane
from streamiter.merge.lane import CUT
from streamiter.position import After, AtTime, Horizon, Place, Position
from streamiter.precision import Precision
from streamiter.record import Record
from streamiter.shard import FIRST, Rank

RANK = Rank("S1", 0, "S1")
NOW = 1_000_000 * SECOND_US


def seconds(*times: float | None, first: int = 1) -> list[Record]:
    """Records created so many seconds after 0, with rising numbers."""
    return [
        Record("S1", str(number), None if time is None else round(time * SECOND_US))
        for number, time in enumerate(times, first)
    ]


def numbered(*numbers: int) -> list[Record]:
    return [Record("S1", str(number), None) for number in numbers]


def lane(start: Position | None = None, **options) -> Lane:
    return Lane("S1", RANK, start or Horizon(), precision=Precision(SECOND_US), **options)


def order_times(shard: Lane) -> list[float]:
    return [time_us / SECOND_US for time_us in shard.times[shard.head :]]


def places(shard: Lane) -> list[tuple[int, int]]:
    return [shard.place_at(index)[:2] for index in range(shard.head, len(shard.times))]


def take(shard: Lane, count: int) -> None:
    for _ in range(count):
        shard.advance(1)
        shard._check()


# -- order times (law 3)


def test_a_lane_is_never_sorted():
    shard = lane()
    shard.push(seconds(5, 3, 9, 1), NOW)
    assert [record.number for record in shard.records] == [1, 2, 3, 4]
    assert order_times(shard) == [5, 5, 9, 9]  # Order time never runs backwards along a lineage.


def test_without_a_creation_time_a_record_has_that_of_the_one_before():
    shard = lane()
    shard.push(seconds(None, 2, None, 4), NOW)
    shard.push(seconds(None, first=5), NOW)
    assert order_times(shard) == [0, 2, 2, 4, 4]


def test_no_order_time_is_below_the_floor():
    shard = lane(floor_us=4 * SECOND_US)
    shard.push(seconds(None, 2, 6), NOW)
    assert order_times(shard) == [4, 4, 6]


def test_a_floor_that_comes_to_be_known_only_raises():
    shard = lane(floor_us=4 * SECOND_US)
    shard.raise_floor(3 * SECOND_US)
    shard.raise_floor(None)
    assert shard.bound == (4 * SECOND_US, RANK)
    shard.raise_floor(5 * SECOND_US)
    shard.push(seconds(1), NOW)
    assert order_times(shard) == [5]


@given(st.lists(st.lists(st.none() | st.integers(0, 9), max_size=4), max_size=5), st.none() | st.integers(0, 9))
def test_order_times_do_not_depend_on_pages(pages: list[list[int | None]], floor: int | None):
    floor_us = None if floor is None else floor * SECOND_US
    whole, cut = lane(floor_us=floor_us), lane(floor_us=floor_us)
    whole.push(seconds(*(time for page in pages for time in page)), NOW)
    for page in pages:
        cut.push(seconds(*page), NOW)
    assert cut.times == whole.times and cut.last_us == whole.last_us


# -- places (law 4)


def test_a_place_is_the_greatest_number_so_far_and_how_many_came_since():
    shard = lane()
    shard.push(numbered(5, 3, 4, 7, 7), NOW)
    shard.push(numbered(6, 8), NOW)
    assert places(shard) == [(5, 0), (5, 1), (5, 2), (7, 0), (7, 1), (7, 2), (8, 0)]
    assert places(shard) == sorted(places(shard))


def test_places_go_on_where_a_token_left_off():
    shard = lane(After(Place(5, 1)))
    shard.push(numbered(4, 5, 6), NOW)
    assert places(shard) == [(5, 2), (5, 3), (6, 0)]


def test_numbers_are_compared_as_integers():
    shard = lane()
    shard.push([Record("S1", "99999999999999999999", 0), Record("S1", "100000000000000000000", 0)], NOW)
    assert places(shard) == [(99999999999999999999, 0), (100000000000000000000, 0)]


@given(st.lists(st.lists(st.integers(1, 4), max_size=3), max_size=5))
def test_places_do_not_depend_on_pages_nor_on_cuts(pages: list[list[int]]):
    whole = lane()
    whole.push(numbered(*(number for page in pages for number in page)), NOW)
    wanted = places(whole)
    cut = lane()
    found: list[tuple[int, int]] = []
    for page in pages:
        cut.push(numbered(*page), NOW)
        found += places(cut)
        if len(cut):
            cut.advance(len(cut))
        cut = lane(cut.position)
    assert found == wanted


# -- where reading goes on (laws 4, 8)


def test_reading_goes_on_after_the_last_record_returned_and_fetching_after_the_last_one_fetched():
    shard = lane(Horizon(7))
    assert shard.position == shard.fetch_position == Horizon(7)
    shard.push(numbered(1, 2, 3), NOW)
    assert shard.position == Horizon(7) and shard.fetch_position == After(Place(3, 0))
    take(shard, 2)
    assert shard.position == After(Place(2, 0)) and shard.fetch_position == After(Place(3, 0))
    take(shard, 1)
    assert shard.position == shard.fetch_position == After(Place(3, 0))


def test_many_records_leave_no_trace_behind_the_head():
    shard = lane()
    shard.push(seconds(*range(10_000)), NOW)
    for _ in range(9_000):
        shard.advance(1)
    assert len(shard) == 1_000 and len(shard.times) < 5_500
    shard._check()
    assert shard.records[shard.head].number == 9_001


def test_older_records_than_asked_for_are_dropped():
    shard = lane(AtTime(5 * SECOND_US), skip_before_us=5 * SECOND_US)
    shard.push(seconds(1, 2, 3), NOW)
    assert not len(shard) and shard.dropped == 3 and shard.bound[0] < 0
    shard.push(seconds(4, None, 6, 2, first=4), NOW)
    assert order_times(shard) == [6, 6] and shard.dropped == 5
    assert places(shard)[0] == (6, 0)  # Places count from the first record that was asked for.
    shard.push(seconds(1, first=8), NOW)
    assert order_times(shard) == [6, 6, 6]


def test_after_a_gap_places_count_anew_but_order_times_go_on():
    shard = lane()
    shard.push([Record("S1", "9", 5 * SECOND_US)], NOW)
    take(shard, 1)
    shard.gap = "trimmed"
    shard.restart(Horizon(NOW))
    shard.push([Record("S1", "3", 2 * SECOND_US)], NOW)
    assert shard.gap is None and places(shard) == [(3, 0)] and order_times(shard) == [5]


# -- the tip (law 7)


def test_a_lane_just_opened_is_at_the_tip_after_eight_empty_pages():
    shard = lane()
    for _ in range(7):
        shard.push([], NOW)
        assert not shard.is_at_tip and shard.is_behind
    shard.push([], NOW)
    assert shard.is_at_tip and not shard.is_behind


def test_the_tip_is_known_below_the_service_time_less_lateness_floored_to_the_second():
    shard = lane()
    for _ in range(8):
        shard.push([], 100 * SECOND_US + 999_999)
    assert shard.bound == (99 * SECOND_US, FIRST)
    assert (99 * SECOND_US, RANK) > shard.bound > (99 * SECOND_US - 1, RANK)  # of second 99 itself nothing is known
    shard.push([], 101 * SECOND_US - 1)
    assert shard.bound == (99 * SECOND_US, FIRST)
    shard.push([], 101 * SECOND_US)
    assert shard.bound == (100 * SECOND_US, FIRST)


def test_what_is_known_never_shrinks_when_answers_arrive_out_of_turn():
    shard = lane()
    for _ in range(8):
        shard.push([], 100 * SECOND_US)
    shard.push([], 90 * SECOND_US)
    assert shard.bound == (99 * SECOND_US, FIRST) and shard.service_us == 100 * SECOND_US


def test_a_lane_whose_last_record_is_recent_is_at_the_tip_after_one_empty_page():
    shard = lane()
    shard.push([Record("S1", "1", NOW - 6 * SECOND_US)], NOW)
    assert shard.is_behind and shard.bound == (NOW - 6 * SECOND_US, RANK)
    shard.push([], NOW)
    assert shard.is_at_tip and shard.bound == (NOW - SECOND_US, FIRST)


@pytest.mark.parametrize("age", [6.1, 3600, -5.1, None])
def test_a_lane_behind_or_ahead_of_the_clock_needs_eight(age: float | None):
    shard = lane()
    shard.push([Record("S1", "1", None if age is None else NOW - round(age * SECOND_US))], NOW)
    for _ in range(7):
        shard.push([], NOW)
        assert not shard.is_at_tip
    shard.push([], NOW)
    assert shard.is_at_tip


def test_a_lane_that_falls_behind_again_needs_eight_again():
    shard = lane()
    for _ in range(8):
        shard.push([], NOW)
    shard.push([Record("S1", "1", NOW)], NOW + 3600 * SECOND_US)
    for _ in range(7):
        shard.push([], NOW + 3600 * SECOND_US)
        assert not shard.is_at_tip and shard.is_behind, "an empty page is not yet the tip"
    assert shard.bound == (NOW, RANK)


def test_a_lane_opened_anew_needs_eight_again_and_forgets_nothing():
    shard = lane()
    for _ in range(8):
        shard.push([], NOW)
    shard.reopen()
    assert shard.is_behind and shard.bound == (NOW - SECOND_US, FIRST)
    for _ in range(7):
        shard.push([], NOW + SECOND_US)
    assert shard.is_behind and shard.bound == (NOW - SECOND_US, FIRST)
    shard.push([], NOW + SECOND_US)
    assert shard.is_at_tip and shard.bound == (NOW, FIRST)


def test_what_the_page_says_itself_counts_more():
    shard = lane()
    shard.push([], NOW, caught_up=True)
    assert shard.is_at_tip
    shard = lane()
    for _ in range(20):
        shard.push([], NOW, caught_up=False)
    assert not shard.is_at_tip


def test_a_closed_shard_has_no_tip():
    shard = lane(closed=True)
    for _ in range(20):
        shard.push([], NOW, caught_up=True)
    assert shard.is_behind and shard.bound[0] < 0
    shard = lane()
    for _ in range(8):
        shard.push([], NOW)
    shard.close()
    assert shard.is_behind and shard.bound[0] < 0


def test_a_lane_that_holds_records_is_known_up_to_its_last():
    shard = lane()
    shard.push(seconds(1, 2, 3), NOW)
    assert shard.bound == (3 * SECOND_US, RANK)
    take(shard, 3)
    assert shard.bound == (3 * SECOND_US, RANK)


def test_what_was_known_at_the_tip_stays_known_when_the_shard_ends():
    shard = lane()
    for _ in range(8):
        shard.push([], NOW)
    shard.push([], NOW + SECOND_US, ended=True)
    assert shard.ended and shard.is_drained and not shard.is_behind
    assert shard.bound == (NOW - SECOND_US, FIRST)


def test_the_last_page_may_carry_records():
    shard = lane()
    shard.push(seconds(1), NOW, ended=True)
    assert shard.ended and not shard.is_drained
    take(shard, 1)
    assert shard.is_drained


def test_an_empty_lane_is_a_lane_all_the_same():
    assert lane() and len(lane()) == 0


# -- idle lanes (DESIGN 2, "latest")


def test_the_start_of_an_idle_lane_follows_ten_minutes_behind_its_tip():
    shard = lane(AtTime(5 * SECOND_US, 6 * SECOND_US))
    assert shard.position == AtTime(5 * SECOND_US, 6 * SECOND_US)
    for _ in range(7):
        shard.push([], NOW)
    assert shard.position == AtTime(5 * SECOND_US, 6 * SECOND_US)
    shard.push([], NOW)
    assert shard.position == AtTime(NOW - 600 * SECOND_US, 6 * SECOND_US)


def test_it_does_not_follow_past_records_that_wait():
    shard = lane()
    shard.push([Record("S1", "1", NOW)], NOW)
    for _ in range(20):
        shard.push([], NOW)
    assert shard.read_up_to_us is None


def test_an_older_record_that_comes_after_all_draws_it_back():
    shard = lane()
    for _ in range(8):
        shard.push([], NOW)
    shard.push([Record("S1", "1", NOW - 3600 * SECOND_US), Record("S1", "2", NOW)], NOW)
    assert shard.read_up_to_us == NOW - 3600 * SECOND_US


# -- gaps


def test_a_lane_before_a_gap_is_not_asked():
    shard = lane()
    shard.gap = "trimmed"
    assert not shard.is_behind


def test_a_repr_holds_no_content():
    shard = lane()
    shard.push(seconds(1, 2), NOW, ended=True, size_bytes=300)
    assert repr(shard) == "<Lane S1 holding 2, ended>" and shard.waiting_bytes == 300


@given(st.lists(st.tuples(st.integers(1, 3 * CUT), st.integers(0, 3 * CUT)), min_size=1, max_size=20))
def test_a_lane_keeps_few_returned_records(turns: list[tuple[int, int]]):
    shard, came, given_out = lane(), 0, 0
    for pushed, taken in turns:
        shard.push(numbered(*range(came + 1, came + pushed + 1)), NOW)
        came += pushed
        taken = min(taken, len(shard))
        shard.advance(taken)
        given_out += taken
        assert shard.given == given_out and len(shard) == came - given_out
        if taken:
            assert shard.head < max(CUT, len(shard)), "they are not the greater part"
        assert places(shard) == [(number, 0) for number in range(given_out + 1, came + 1)]
