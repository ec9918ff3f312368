"""Wishes: which lanes are asked first, also where there are too many to be looked at each time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.lineage import Discovery
from streamiter.merge import Lane, Merge
from streamiter.position import Horizon
from streamiter.record import Record
from streamiter.shard import Rank
from streamiter.stream.schedule import Schedule
from streamiter.stream.wishes import ASKS, FEW, Wishes

SECOND = 1_000_000
SERVICE = 1_700_000_000 * SECOND
OLD = SERVICE - 3600 * SECOND  # what there is to catch up with


class Lanes:
    """So many lanes, all due at 0; the later ones hold more records, and all wait for the last one."""

    def __init__(self, count: int) -> None:
        self.lanes: dict[str, Lane] = {}
        self.merge = Merge()
        self.schedule = Schedule(250_000, SECOND)
        self.wishes = Wishes(self.lanes, self.merge, self.schedule, Discovery(()))
        for index in range(count):
            name = f"S{index:04}"
            lane = self.lanes[name] = Lane(name, Rank(name, 0, name), Horizon(), lateness_us=SECOND)
            self.merge.open(lane)
            self.push(name, index % 50 + 1, OLD - index * SECOND)
        self.last = name

    def push(self, name: str, count: int, time_us: int) -> None:
        """A page of so many records, of that time."""
        lane = self.lanes[name]
        given = lane.given + len(lane)
        lane.push([Record(name, str(given + i + 1), time_us) for i in range(count)], SERVICE, size_bytes=100 * count)
        self.merge.update(lane)
        self.schedule.answered(lane, 0)

    def ask(self, most: int) -> list[str]:
        """Asks, as the driver does."""
        found = self.wishes.lanes(0, most)
        for name in found:
            self.schedule.asked(name)
        return found


@pytest.mark.parametrize("count", [1, 7, FEW, FEW + 1, 1000])
def test_first_comes_the_lane_that_all_wait_for_then_the_emptiest(count: int):
    world = Lanes(count)
    found = world.wishes.lanes(0, count)
    assert len(found) == len(set(found)) == count
    assert found[0] == world.last
    held = [len(world.lanes[name]) for name in found[1:]]
    assert held == sorted(held)


@pytest.mark.parametrize("most", [1, 2, 32, 5000])
def test_each_lane_that_is_due_is_asked_and_no_other(most: int):
    world, asked = Lanes(300), []
    while found := world.ask(most):
        assert len(found) <= most
        asked += found
    assert sorted(asked) == sorted(world.lanes)
    assert world.wishes.lanes(0, most) == []


def test_the_lane_that_all_wait_for_is_asked_first_whichever_it_has_become():
    world, holders = Lanes(300), set[str]()
    for _ in range(100):
        assert world.merge.least_bound is not None
        holder = world.merge.least_bound[1]
        holders.add(holder)
        found = world.ask(2)
        assert found[0] == holder
        for name in found:
            world.push(name, 1, OLD)
    assert len(holders) > 50


def test_what_was_passed_over_for_want_of_room_is_wished_for_again():
    world = Lanes(300)
    for _ in range(2 * ASKS):
        assert len(world.wishes.lanes(0, 100)) == 100, "nothing was asked: all are still due"


def test_the_emptiest_are_not_passed_over_because_there_was_no_room_for_them_before():
    world = Lanes(300)
    first = world.wishes.lanes(0, 10)
    for _ in range(3):  # nothing was asked: the budget is spent, and the lanes further on hold more
        assert world.wishes.lanes(0, 10) == first


def test_a_lane_that_falls_due_later_is_found_however_fresh_the_last_look():
    world = Lanes(300)
    while world.ask(40):
        pass
    world.push("S0007", 1, OLD)
    world.schedule.at("S0008", 0)
    assert sorted(world.wishes.lanes(0, 40)) == ["S0007", "S0008"]


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 150)), max_size=60))
def test_as_many_are_given_as_there_is_room_for_and_each_of_them_is_due(turns: list[tuple[int, int]]):
    world = Lanes(150)
    for most, answered in turns:
        due = set(world.schedule.due(0))
        found = world.ask(most)
        assert set(found) <= due and len(found) == len(set(found)) == min(most, len(due))
        for name in sorted(set(world.lanes) - set(world.schedule.due(0)))[:answered]:
            world.push(name, 1, OLD)
