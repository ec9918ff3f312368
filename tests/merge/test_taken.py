"""Records that were taken from the iterator, which the merge notes only later: they come out once."""

from __future__ import annotations

import pytest

from streamiter.clock import SECOND_US
from streamiter.merge import Lane
from streamiter.position import Horizon
from streamiter.precision import Precision
from streamiter.record import Record
from streamiter.shard import Rank
from tests.merge.test_merge import LONG_AGO, Lanes


def taken_by_hand(lanes: Lanes) -> str:
    """Takes the next record from the iterator, which the merge is not told of."""
    return next(lanes.merge.records()).sequence_number


def test_what_was_taken_does_not_come_again_when_the_window_is_dropped():
    lanes = Lanes("S1 ~ S2 ~ S3")
    lanes.push("S3", 0)
    lanes.push("S1", 1, 2, 3)
    lanes.push("S2", 9)
    lanes.push("S3", 8)
    assert [record.shard_id for record in (lanes.merge.pop(), lanes.merge.pop()) if record] == ["S3", "S1"]
    assert taken_by_hand(lanes) == "2"
    early = Lane("S0", Rank("S0", 0, "S0"), Horizon(), precision=Precision(SECOND_US))
    early.push([Record("S0", "1", LONG_AGO)], LONG_AGO + 10**6 * SECOND_US, ended=True, size_bytes=1)
    lanes.merge.open(early)  # its record sorts before the rest of the window
    lanes.merge.release("S0")
    rest = []
    while (record := lanes.merge.pop()) is not None:
        rest.append((record.shard_id, record.sequence_number))
    assert rest[0] == ("S0", "1") and ("S1", "2") not in rest and ("S1", "3") in rest


def test_a_shard_is_let_go_at_once_though_the_merge_was_not_told_what_was_taken():
    lanes = Lanes("S1")
    lanes.push("S1", 1, ended=True)
    assert taken_by_hand(lanes) == "1"
    lanes.merge.release("S1")
    assert "S1" not in lanes.merge


def test_what_was_taken_is_neither_waited_for_nor_next():
    lanes = Lanes("S1")
    lanes.push("S1", 1, 2)
    assert taken_by_hand(lanes) == "1"
    following = lanes.merge.peek()
    assert following is not None and following.sequence_number == "2"
    assert taken_by_hand(lanes) == "2" and lanes.merge.is_waiting


def test_a_window_that_was_taken_whole_does_not_come_again():
    lanes = Lanes("S1")
    lanes.push("S1", 1, 2)
    assert (taken_by_hand(lanes), taken_by_hand(lanes)) == ("1", "2")
    assert next(lanes.merge.records(), None) is None
    lanes.push("S1", 3)
    assert lanes.pop() == "S1:3"


def test_a_run_that_records_are_given_back_from_gives_no_more():
    lanes = Lanes("S1")
    lanes.push("S1", 1, 2, 3, 4)
    run = lanes.merge.run(3)
    lanes.merge.give_back([next(run)])
    assert next(run, None) is None
    assert lanes.pop() == "S1:1 S1:2 S1:3 S1:4"


def test_late_records_come_at_once_though_a_lane_holds_all_others():
    lanes = Lanes("S1 ~ S2")
    lanes.idle("S1", 20)
    lanes.idle("S2", 20)
    lanes.push("S1", 9)
    assert lanes.pop() == "S1:9"
    lanes.open("S0", floor_us=LONG_AGO)
    lanes.push("S2", 5, 11)
    assert lanes.pop() == "S2:5!", "what is not late waits for S0"


def test_what_is_left_of_a_window_is_not_waited_for():
    lanes = Lanes("S1")
    lanes.push("S1", 1, 2)
    assert taken_by_hand(lanes) == "1"
    lanes.merge.is_blocked = True
    assert not lanes.merge.is_waiting


def test_a_settling_that_was_broken_off_is_carried_out_again_to_the_same_end(monkeypatch: pytest.MonkeyPatch):
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 1, 3, 5)
    lanes.push("S2", 2, 4, 6)
    for _ in range(4):
        taken_by_hand(lanes)
    told: list[str] = []
    advance_to = Lane.advance_to

    def broken_off(lane: Lane, given: int) -> None:
        if told:
            raise KeyboardInterrupt
        told.append(lane.shard_id)
        advance_to(lane, given)

    with monkeypatch.context() as patch:
        patch.setattr(Lane, "advance_to", broken_off)
        with pytest.raises(KeyboardInterrupt):
            lanes.merge.settle()
    lanes.merge.settle()
    assert lanes.merge.clock == 4
    assert [lane.given for lane in lanes.lanes.values()] == [2, 2]
    lanes.merge._check()


def test_where_nothing_is_held_back_what_comes_later_waits_for_the_rest_of_the_window():
    lanes = Lanes("S1 ~ S2", holds=False)
    lanes.push("S1", 3, 4)
    assert lanes.pop(1) == "S1:3"
    lanes.push("S2", 1)
    assert lanes.pop() == "S1:4 S2:1!"
