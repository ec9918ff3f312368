"""Rests: what the service's rates ask for is kept, whoever waits for the lane."""

from __future__ import annotations

from streamiter.merge import Lane, Merge
from streamiter.position import Horizon
from streamiter.record import Record
from streamiter.shard import Rank
from streamiter.stream.schedule import Schedule

SECOND = 1_000_000
SERVICE = 1_700_000_000 * SECOND


def lane(name: str) -> Lane:
    return Lane(name, Rank(name, 0, name), Horizon(), lateness_us=SECOND)


def test_a_lane_with_more_to_come_is_asked_after_its_rest():
    schedule, one = Schedule(250_000, SECOND), lane("S1")
    one.push([Record("S1", "1", 5)], SERVICE)
    schedule.rest("S1", 100 + 200_000)
    schedule.answered(one, 100)
    assert schedule.due(200_099) == []
    assert schedule.due(200_100) == ["S1"]


def test_neither_haste_nor_a_waiting_record_shortens_a_rest():
    schedule, merge = Schedule(250_000, SECOND), Merge()
    holder, held = lane("S1"), lane("S2")
    for each in (holder, held):
        merge.open(each)
    holder.push([], SERVICE, caught_up=True)
    held.push([Record("S2", "1", SERVICE)], SERVICE)
    for each in (holder, held):
        merge.update(each)
    schedule.rest("S1", 5 * SECOND)
    schedule.answered(holder, 0)
    schedule.hurry(merge, {"S1": holder, "S2": held}, 0)
    schedule.hasten(0)
    schedule.at("S1", 0)
    assert schedule.next_us == 5 * SECOND


def test_a_pause_that_is_longer_than_the_rest_stays():
    schedule, one = Schedule(250_000, SECOND), lane("S1")
    one.push([], SERVICE, caught_up=True)
    schedule.rest("S1", 1000)
    schedule.answered(one, 0)
    assert schedule.next_us == 250_000
    schedule.postpone("S1", 3 * SECOND)
    assert schedule.next_us == 3 * SECOND


def test_catching_up_is_known_of_whichever_lane_is_behind():
    schedule = Schedule(250_000, SECOND)
    one, other = lane("S1"), lane("S2")
    lanes = {"S1": one, "S2": other}
    assert not schedule.is_catching_up({}) and schedule.is_catching_up(lanes)
    one.push([], SERVICE, ended=True)
    assert schedule.is_catching_up(lanes)  # the other one
    other.push([], SERVICE, caught_up=True)
    assert not schedule.is_catching_up(lanes)
    other.reopen()
    assert schedule.is_catching_up(lanes)
    del lanes["S2"]
    assert not schedule.is_catching_up(lanes)
