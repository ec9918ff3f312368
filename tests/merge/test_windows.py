"""What the merge tells of itself, and records that are taken in runs, taken back, or wait again in their lanes."""

from __future__ import annotations

from streamiter.clock import SECOND_US
from streamiter.record import Record, SpoiledRecord
from streamiter.shard import Rank
from tests.merge.test_merge import LONG_AGO, Lanes


def names(records: list[Record]) -> list[str]:
    return [f"{record.shard_id}:{((record.created_us or 0) - LONG_AGO) // SECOND_US}" for record in records]


def us(second: int) -> int:
    return LONG_AGO + second * SECOND_US


def test_of_many_lanes_the_one_whose_records_were_about_to_come_out_waits_again():
    others = [f"S{number}" for number in range(10, 30)]
    lanes = Lanes(" ~ ".join(["S1", *others]))
    for second, name in enumerate(others, 100):
        lanes.push(name, second)
    lanes.push("S1", 50, 60)
    assert lanes.merge.peek().shard_id == "S1"
    lanes.open("S2", Rank("S2", 0, "S2"))
    lanes.push("S2", 55)
    assert lanes.pop() == "S1:50 S2:55"
    lanes.end("S2")
    assert lanes.pop() == "S1:60"


def test_it_tells_which_record_waits_and_for_whom():
    lanes = Lanes("S1 ~ S2 ~ S3")
    merge = lanes.merge
    assert (merge.first_waiting, merge.waits_until_us, merge.holds_records, merge.held_by) == (None, None, False, None)
    lanes.push("S2", 7)
    lanes.push("S1", 9)
    assert merge.first_waiting is lanes.lanes["S2"]
    assert (merge.waits_until_us, merge.holds_records, merge.held_by) == (us(7), True, "S3")
    assert merge.is_held_by("S3", us(7)) and merge.is_held_by("S2", us(7)) and not merge.is_held_by("S1", us(7))
    assert not merge.is_held_by("S9", us(7))
    assert sorted(merge.holders(us(7))) == ["S2", "S3"]
    lanes.idle("S3", service=20)
    assert merge.peek() is not None
    assert (merge.first_waiting, merge.waits_until_us, merge.holds_records, merge.held_by) == (None, None, True, None)
    assert lanes.pop() == "S2:7"
    assert merge.held_by == "S2"


def test_a_run_gives_so_many_and_what_is_taken_back_comes_again():
    lanes = Lanes("S1")
    merge = lanes.merge
    lanes.push("S1", 1, 2, 3, 4, 5)
    run = merge.run(3)
    taken = [next(run)]
    merge.take_back()
    assert names([*taken, *run]) == ["S1:1"], "a run that was taken back gives no more"
    assert names(list(merge.run(2))) == ["S1:2", "S1:3"]
    assert merge.standing().taken == 3 and merge.standing().counts == {"S1": 3}
    merge._check()
    assert lanes.lanes["S1"].given == 3
    again = list(merge.run(1))
    merge.give_back(again)
    assert names(list(merge.run(9))) == ["S1:4", "S1:5"]
    merge.settle()
    assert merge.clock == 5 and not merge.holds_records


def test_what_was_given_back_does_not_count_as_returned():
    lanes = Lanes("S1")
    lanes.push("S1", 1, 2, 3)
    lanes.merge.give_back(list(lanes.merge.run(2)))
    lanes.merge.settle()
    assert (lanes.lanes["S1"].given, lanes.merge.clock) == (0, 0)
    assert lanes.pop() == "S1:1 S1:2 S1:3"


def test_spoiled_records_are_counted_until_they_are_passed():
    lanes = Lanes("S1")
    merge, lane = lanes.merge, lanes.lanes["S1"]
    page = [Record("S1", "1", us(1)), SpoiledRecord("S1", "2", None, reason="torn"), Record("S1", "3", us(3))]
    lane.push([*page, SpoiledRecord("S1", "4", None, reason="torn")], us(9))
    merge.update(lane)
    merge.update(lane)
    assert merge.spoiled == 2
    taken = [next(merge.records()) for _ in range(2)]
    assert [record.sequence_number for record in taken] == ["1", "2"]
    assert (merge.standing().spoiled, merge.spoiled) == (1, 2), "a look at it changes nothing"
    merge._check()
    assert merge.spoiled == 1
    assert [record.sequence_number for record in merge.records()] == ["3", "4"]
    merge.settle()
    assert merge.spoiled == 0


def test_late_records_count_and_leave_the_greatest_key_where_it_is():
    lanes = Lanes("S1 ~ S2")
    merge = lanes.merge
    lanes.push("S1", 10)
    lanes.idle("S2", service=20)
    assert lanes.pop() == "S1:10"
    high = merge.high
    lanes.push("S2", 3, 4)
    late = [next(merge.records()) for _ in range(2)]
    assert [record.late for record in late] == [True, True]
    standing = merge.standing()
    assert (standing.late, standing.high, standing.clock, standing.counts) == (2, high, 3, {"S2": 2})
    merge.settle()
    assert (merge.late, merge.high, merge.clock) == (2, high, 3)
    lanes.push("S2", 30)
    lanes.push("S1", 31)
    assert lanes.pop() == "S2:30" and merge.high > high


def test_a_lane_that_is_drained_goes_when_it_is_released_and_after_its_last_record():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 1, ended=True)
    lanes.merge.release("S1")
    assert "S1" in lanes.merge and len(lanes.merge) == 2
    lanes.push("S2", 5)
    assert lanes.pop() == "S1:1 S2:5"
    assert "S1" not in lanes.merge and len(lanes.merge) == 1
    lanes.end("S2")
    assert len(lanes.merge) == 0 and lanes.merge.least_bound is None
