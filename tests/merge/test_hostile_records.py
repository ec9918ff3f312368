"""Records that no service should send: numbers that no token holds, times beyond the calendar, and what cannot be decoded."""

from __future__ import annotations

from typing import Any

import pytest

from streamiter.clock import LAST_US
from streamiter.merge import Lane
from streamiter.position import MOST_DIGITS, AtTime, Horizon, Place
from streamiter.record import Record, SpoiledRecord
from streamiter.shard import Rank
from tests.merge.test_lane import NOW

LONGEST = "9" * MOST_DIGITS


def lane_of(*records: Record, **options: Any) -> Lane:
    """A lane to which one page came."""
    lane = Lane("S1", Rank("S1", 0, "S1"), Horizon(), **options)
    lane.push(records, NOW)
    lane._check()
    return lane


def record(number: Any, created_us: int | None = 5) -> Record:
    return Record("S1", number, created_us)


def spoiled(number: str = "") -> SpoiledRecord:
    return SpoiledRecord("S1", number, None, reason="its row is torn")


def are_spoiled(lane: Lane) -> list[bool]:
    return [isinstance(one, SpoiledRecord) for one in lane.records]


@pytest.mark.parametrize("number", ["", "1x", "-1", "１２", "²", 12, None, LONGEST + "9"])
@pytest.mark.parametrize("created_us", [5, None])
def test_a_number_that_no_token_can_hold_makes_a_record_a_spoiled_one(number: Any, created_us: int | None):
    lane = lane_of(record("10"), record(number, created_us), record("20", 7))
    assert are_spoiled(lane) == [False, True, False]
    assert lane.new_spoiled == 1
    found = lane.records[1]
    assert (found.shard_id, found.sequence_number, found.created_us) == ("S1", "", None)
    assert "digits" in found.reason
    assert lane.times == [5, 5, 7], "it stands at the time of the one before"
    assert [lane.place_at(index)[:2] for index in range(3)] == [(10, 0), (10, 1), (20, 0)]


def test_it_may_be_the_first_one_of_its_shard():
    lane = lane_of(spoiled(), record("1"), record("2"))
    assert are_spoiled(lane) == [True, False, False]
    assert [lane.place_at(index).is_numbered for index in range(3)] == [False, True, True]


@pytest.mark.parametrize("number", ["7", LONGEST, "0"])
def test_a_number_that_a_token_can_hold_makes_none(number: str):
    lane = lane_of(record(number))
    assert (are_spoiled(lane), lane.new_spoiled) == ([False], 0)
    assert lane.place_at(0) == Place.of(number)


def test_what_the_source_could_not_decode_stays_as_it_told_it_unless_its_number_is_none():
    torn, numbered, wrong = spoiled(), spoiled("11"), spoiled("x")
    lane = lane_of(record("10", None), torn, numbered, wrong)
    assert lane.records[1] is torn and lane.records[2] is numbered
    assert lane.records[3] is not wrong and lane.records[3].sequence_number == ""
    assert lane.new_spoiled == 3


def test_spoiled_records_are_counted_page_by_page_and_where_older_ones_are_left_out():
    page = [record("10", 5), spoiled("11"), record("12", 50), spoiled("13"), spoiled("14")]
    assert lane_of(*page).new_spoiled == 3
    lane = lane_of(*page, skip_before_us=50)
    assert ([one.sequence_number for one in lane.records], lane.new_spoiled) == (["12", "13", "14"], 2)
    lane.push([spoiled("15"), record("16", 51)], NOW)
    assert lane.new_spoiled == 3


@pytest.mark.parametrize("beyond_us", [LAST_US, LAST_US + 1])
def test_a_creation_time_beyond_the_calendar_counts_as_none(beyond_us: int):
    assert lane_of(record("1", 5), record("2", beyond_us), record("3", 7)).times == [5, 5, 7]
    assert lane_of(record("1", 5), record("2", None), record("3", 7), record("4", beyond_us)).times == [5, 5, 7, 7]
    assert lane_of(record("1", 5), record("2", LAST_US - 1)).times == [5, LAST_US - 1]


def test_numbers_of_different_lengths_compare_as_numbers():
    assert [lane_of(record("9"), record("10")).place_at(index)[:2] for index in range(2)] == [(9, 0), (10, 0)]
    assert [lane_of(record("100"), record("11")).place_at(index)[:2] for index in range(2)] == [(100, 0), (100, 1)]


def test_an_empty_shards_start_falls_back_to_a_record_that_is_older_than_its_tip():
    """A writer's clock is wrong: a resume before that record is returned must not miss it."""
    for restarts in (False, True):
        lane = Lane("S1", Rank("S1", 0, "S1"), AtTime(1, 9) if restarts else AtTime(100, 9))
        if restarts:
            lane.restart(AtTime(100, 9))
        assert lane.position == AtTime(100, 9)
        lane.push([record("1", 200), record("2", 90), record("3", None)], NOW)
        assert lane.position == AtTime(90, 9)
        lane.push([record("4", -7)], NOW)
        assert lane.position == AtTime(0, 9)
        lane.advance(1)
        assert lane.position.place == Place.of("1")


def test_a_record_without_a_time_leaves_an_empty_shards_start_where_the_one_before_is():
    lane = Lane("S1", Rank("S1", 0, "S1"), AtTime(100, 9), floor_us=95)
    lane.push([record("1", None)], NOW)
    assert lane.position == AtTime(95, 9)
