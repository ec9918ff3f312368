"""Precision: what is known at a tip, and what service time a record waits for, by how exactly a source tells times."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamiter.clock import SECOND_US
from streamiter.merge import Lane
from streamiter.position import Horizon
from streamiter.precision import Precision
from streamiter.record import Record
from streamiter.shard import Rank

PRECISIONS = st.builds(Precision, st.integers(0, 5 * SECOND_US), st.sampled_from([1, 1_000, SECOND_US]))
TIMES = st.integers(0, 10**16)


@given(PRECISIONS, TIMES)
def test_a_record_is_released_by_the_service_time_that_it_needs_and_by_no_earlier_one(precision, time_us):
    needed_us = precision.needed_us(time_us)
    assert precision.known_us(needed_us) > time_us
    assert precision.known_us(needed_us - 1) <= time_us


@given(PRECISIONS, TIMES, st.integers(0, 10 * SECOND_US))
def test_what_is_known_is_older_than_any_record_that_may_still_come(precision, service_us, later_us):
    written_us = max(
        0, service_us + later_us - precision.lateness_us
    )  # readable later than this tip, and created before
    assert precision.known_us(service_us) <= precision.floored(written_us)


@given(PRECISIONS, TIMES, TIMES)
def test_what_is_known_never_runs_back(precision, service_us, later_us):
    first, second = sorted((service_us, later_us))
    assert precision.known_us(first) <= precision.known_us(second)


def lane(precision: Precision) -> Lane:
    return Lane("0", Rank("0", 0, "0"), Horizon(), precision=precision)


def test_an_exact_tip_is_known_up_to_its_very_service_time():
    exact, floored = lane(Precision(0, 1)), lane(Precision(0))
    for one in (exact, floored):
        one.push([], 7 * SECOND_US + 5, caught_up=True)
    assert exact.bound[0] == 7 * SECOND_US + 5 and floored.bound[0] == 7 * SECOND_US


def test_a_page_that_says_that_nothing_follows_its_records_is_a_tip_too():
    one = lane(Precision(0, 1))
    one.push([Record("0", "1", 5)], 9, caught_up=True)
    assert one.is_at_tip and one.bound[0] == 9
    one.push([Record("0", "2", 10)], 11)
    assert not one.is_at_tip and one.bound[0] == 10


def test_an_idle_lane_of_a_counted_source_stays_where_it_began():
    for precision, follows in ((Precision(0, 1), True), (Precision(0, 1, True), False)):
        one = lane(precision)
        for _ in range(9):
            one.push([], 10**12, caught_up=True)
        assert (one.read_up_to_us is not None) is follows
