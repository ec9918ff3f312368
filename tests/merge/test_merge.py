"""The merge: over all lanes, the one record that comes next, or the lane that it waits for."""

from __future__ import annotations

from itertools import islice
from operator import length_hint

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.clock import SECOND_US
from streamiter.lineage import Lineage
from streamiter.merge import Lane, Merge
from streamiter.position import Horizon, Place
from streamiter.precision import Precision
from streamiter.record import Record
from streamiter.shard import Rank

LONG_AGO = 1_000 * SECOND_US
NOW = 1_000_000 * SECOND_US


class Lanes:
    """A merge over the shards of a lineage, all open; records are named S1:5 = of shard S1, created at second 5."""

    def __init__(self, notation: str, **options) -> None:
        lineage = Lineage.parse(notation)
        self.merge = Merge(**options)
        self.lanes: dict[str, Lane] = {}
        self.numbers: dict[str, int] = {}
        for shard_id in lineage:
            self.open(shard_id, lineage.rank(shard_id))

    def open(self, shard_id: str, rank: Rank | None = None, **options) -> None:
        self.numbers.setdefault(shard_id, 0)
        self.lanes[shard_id] = Lane(
            shard_id, rank or Rank(shard_id, 0, shard_id), Horizon(), precision=Precision(SECOND_US), **options
        )
        self.merge.open(self.lanes[shard_id])
        self.merge._check()

    def push(self, shard_id: str, *seconds: int, service: int = 0, ended: bool = False) -> None:
        records = []
        for second in seconds:
            self.numbers[shard_id] += 1
            records.append(Record(shard_id, str(self.numbers[shard_id]), LONG_AGO + second * SECOND_US))
        self.lanes[shard_id].push(
            records, LONG_AGO + (service or 10**6) * SECOND_US, ended=ended, size_bytes=len(records)
        )
        self.merge.update(self.lanes[shard_id])
        self.merge._check()

    def idle(self, shard_id: str, service: int) -> None:
        """Eight empty pages: at the tip."""
        for _ in range(8):
            self.push(shard_id, service=service)

    def end(self, *shard_ids: str) -> None:
        for shard_id in shard_ids:
            self.push(shard_id, ended=True)
            self.merge.release(shard_id)
            self.merge._check()

    def pop(self, most: int = 1 << 30) -> str:
        """What comes out now; `!` marks what is late."""
        out = []
        while len(out) < most and (record := self.merge.pop()) is not None:
            second = ((record.created_us or 0) - LONG_AGO) // SECOND_US
            out.append(f"{record.shard_id}:{second}{'!' if record.late else ''}")
            self.merge._check()
        return " ".join(out)


def test_nothing_comes_before_every_lane_has_told_something():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 1, 2)
    assert lanes.pop() == "" and lanes.merge.held_by == "S2"
    lanes.push("S2", 3)
    assert lanes.pop() == "S1:1 S1:2" and lanes.merge.held_by == "S1"


def test_a_single_lane_never_waits():
    lanes = Lanes("S1")
    lanes.push("S1", 5, 9, 7)
    assert lanes.pop() == "S1:5 S1:9 S1:7" and lanes.merge.held_by is None


def test_ties_are_broken_by_rank_then_place():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S2", 4, 4, 5)
    lanes.push("S1", 4, 4, 5)
    assert lanes.pop() == "S1:4 S1:4 S2:4 S2:4 S1:5"
    assert lanes.merge.held_by == "S1"  # It may have more at second 5, and all that ranks before S2's.


def test_a_lane_is_known_up_to_its_last_record_but_for_those_that_rank_after():
    lanes = Lanes("S1 ~ S2 ~ S3")
    lanes.push("S1", 4)
    lanes.push("S2", 4)
    lanes.push("S3", 4)
    assert lanes.pop() == "S1:4"
    lanes.end("S1")
    assert lanes.pop() == "S2:4"


def test_shard_order_stands_though_creation_times_run_backwards():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 5, 1, 6)
    lanes.push("S2", 3, 7)
    assert lanes.pop() == "S2:3 S1:5 S1:1 S1:6"


def test_an_idle_lane_holds_from_its_tip_on():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 8, 9, 10)
    lanes.idle("S2", 10)
    assert lanes.pop() == "S1:8"  # known below 10 - lateness, exclusive: S2 may still give a record of second 9
    lanes.push("S2", service=11)
    assert lanes.pop() == "S1:9"
    lanes.push("S2", service=13)
    assert lanes.pop() == "S1:10"


def test_a_record_of_the_tips_own_second_waits_even_of_a_higher_rank():
    lanes = Lanes("S1 ~ S2")
    lanes.idle("S1", 10)
    lanes.push("S2", 9)
    assert lanes.pop() == "" and lanes.merge.held_by == "S1" and lanes.merge.waits_until_us == LONG_AGO + 9 * SECOND_US
    assert lanes.merge.holders(LONG_AGO + 9 * SECOND_US) == ["S1", "S2"]


def test_what_sorts_below_what_is_out_comes_at_once_and_is_late():
    lanes = Lanes("S1 ~ S2")
    lanes.idle("S1", 10)
    lanes.push("S2", 7, 8)
    assert lanes.pop() == "S2:7 S2:8"
    lanes.push("S1", 8, 7, 9)
    assert lanes.pop() == "S1:8! S1:7!" and lanes.merge.late == 2
    lanes.idle("S2", 20)
    assert lanes.pop() == "S1:9" and lanes.merge.late == 2


def test_a_late_record_does_not_lower_what_is_late_after_it():
    lanes = Lanes("S1 ~ S2 ~ S3")
    lanes.idle("S1", 10)
    lanes.idle("S3", 10)
    lanes.push("S2", 8)
    lanes.pop()
    lanes.push("S1", 3)
    lanes.push("S3", 5)
    assert lanes.pop() == "S1:3! S3:5!"


def test_after_a_resume_what_sorts_below_the_tokens_key_is_late():
    high = (LONG_AGO + 5 * SECOND_US, Rank("S2", 0, "S2"), Place(1, 0))
    lanes = Lanes("S1 ~ S2", high=high, clock=41)
    lanes.push("S1", 4, 5, 6)
    lanes.push("S2", 7)
    assert lanes.pop() == "S1:4! S1:5! S1:6" and lanes.merge.clock == 44


def test_records_are_stamped_as_they_come_out():
    lanes = Lanes("S9", clock=6)
    lanes.push("S9", 3, ended=True)
    record = lanes.merge.pop()
    assert record is not None
    assert (record.order_us, record.rank, record.place) == (LONG_AGO + 3 * SECOND_US, Rank("S9", 0, "S9"), Place(1, 0))
    assert (record.clock, record.late) == (7, False)
    assert lanes.merge.high == (record.order_us, record.rank, record.place)


def test_peeking_takes_nothing():
    lanes = Lanes("S1")
    assert lanes.merge.peek() is None
    lanes.push("S1", 1, 2)
    assert lanes.merge.peek() is lanes.merge.peek() is lanes.merge.pop()
    assert lanes.merge.clock == 1


def test_while_blocked_nothing_comes_out():
    lanes = Lanes("S1")
    lanes.merge.is_blocked = True
    lanes.push("S1", 1)
    assert lanes.pop() == "" and lanes.merge.held_by is None
    lanes.merge.is_blocked = False
    assert lanes.pop() == "S1:1"


def test_a_shard_that_ended_holds_its_place_until_it_is_released():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 1, ended=True)
    lanes.push("S2", 1, 2)
    assert lanes.pop() == "S1:1" and lanes.merge.held_by == "S1"
    lanes.merge.release("S1")
    assert lanes.pop() == "S2:1 S2:2"


def test_what_waits_in_a_released_shard_still_comes_in_order():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 1, 3, ended=True)
    lanes.merge.release("S1")
    lanes.push("S2", 2, 4)
    assert lanes.pop() == "S1:1 S2:2 S1:3 S2:4"
    assert "S1" not in lanes.merge and len(lanes.merge) == 1


def test_without_holding_back_no_lane_waits_for_another():
    lanes = Lanes("S1 ~ S2", holds=False)
    lanes.push("S1", 5, 6)
    assert lanes.pop() == "S1:5 S1:6" and lanes.merge.least_bound is None
    lanes.push("S2", 1, 2)
    lanes.push("S1", 7)
    assert lanes.pop() == "S2:1! S2:2! S1:7"
    lanes.end("S1", "S2")
    assert len(lanes.merge) == 0


def test_a_window_is_only_a_view_of_what_waits():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", *range(0, 20, 2))
    lanes.push("S2", *range(1, 20, 2))
    assert lanes.pop(3) == "S1:0 S2:1 S1:2"
    lanes.open("S0", floor_us=LONG_AGO)
    assert lanes.pop() == "" and lanes.merge.held_by == "S0"
    lanes.push("S0", 4, ended=True)
    assert lanes.pop() == "S2:3 S0:4"
    lanes.merge.release("S0")
    assert lanes.pop(3) == "S1:4 S2:5 S1:6"


def test_a_page_for_a_lane_of_the_window_waits_for_the_next():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 1, 2, 3)
    lanes.push("S2", 9)
    assert lanes.pop(1) == "S1:1"
    lanes.push("S1", 4, 5)
    assert lanes.pop() == "S1:2 S1:3 S1:4 S1:5"


def test_what_comes_below_the_rest_of_a_window_comes_in_its_turn():
    lanes = Lanes("S1 ~ S2")
    lanes.idle("S1", 101)
    lanes.push("S2", 50, 60, 70, 80)
    assert lanes.pop(2) == "S2:50 S2:60"
    lanes.push("S1", 65)
    assert lanes.pop() == "S1:65 S2:70 S2:80"


def test_what_comes_below_the_rest_of_a_window_and_is_late_comes_at_once():
    lanes = Lanes("S1 ~ S2")
    lanes.idle("S1", 101)
    lanes.push("S2", 50, 60, 70, 80)
    assert lanes.pop(2) == "S2:50 S2:60"
    lanes.push("S1", 55)
    assert lanes.pop() == "S1:55! S2:70 S2:80"


def test_an_iterator_goes_on_through_pages_that_come_behind_it():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 1, 2, 3)
    lanes.push("S2", 9)
    records = lanes.merge.records()
    assert next(records).order_us == LONG_AGO + SECOND_US
    lanes.push("S1", 3, 4)
    assert [record.number for record in records] == [2, 3]
    assert lanes.pop() == "S1:3 S1:4"


def test_an_end_between_two_records_holds_nothing_up():
    lanes = Lanes("S1 ~ S2")
    lanes.idle("S1", 100)
    lanes.push("S2", 50, 51, 52)
    assert lanes.pop(1) == "S2:50"
    lanes.push("S1", ended=True)
    assert lanes.pop() == "S2:51 S2:52"  # All below S1's tip is known, whether it ended or not.


def test_what_is_taken_from_the_iterator_counts_as_returned():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 1, 3, 5)
    lanes.push("S2", 2, 4, 6)
    records = lanes.merge.records()
    assert [record.number for record in islice(records, 2)] == [1, 1]
    lanes.push("S2", 7)
    assert lanes.merge.clock == 2 and lanes.lanes["S1"].place == Place(1, 0) and lanes.lanes["S2"].place == Place(1, 0)
    assert [record.clock for record in records] == [3, 4, 5]
    lanes.merge.settle()
    assert lanes.merge.clock == 5 and lanes.lanes["S2"].place == Place(2, 0)


def test_an_iterator_from_before_a_change_gives_nothing_that_may_be_out_of_turn():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 1, 3, 5)
    lanes.push("S2", 2, 6)
    records = lanes.merge.records()
    assert next(records).order_us == LONG_AGO + SECOND_US
    lanes.open("S0", floor_us=LONG_AGO)
    assert list(records) == [] and lanes.pop() == ""
    lanes.end("S0")
    assert lanes.pop() == "S2:2 S1:3 S1:5"


def test_a_lane_that_let_go_amid_a_window_is_let_go_once():
    lanes = Lanes("S1 ~ S2 ~ S3")
    lanes.idle("S1", 20)
    lanes.idle("S2", 20)
    lanes.push("S3", 9)
    assert lanes.pop() == "S3:9"
    lanes.merge.is_blocked = True
    lanes.push("S1", 1, ended=True)
    lanes.push("S2", 2)
    lanes.merge.is_blocked = False
    assert lanes.pop(1) == "S1:1!"
    lanes.merge.release("S1")
    assert "S1" not in lanes.merge and lanes.pop() == "S2:2!"


def test_what_waits_is_weighed_as_it_comes_and_goes():
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", 1, 2, 5)
    lanes.push("S2", 3, 4)
    assert lanes.merge.waiting_bytes == 5
    lanes.pop(3)
    assert lanes.merge.waiting_bytes == 2 and lanes.lanes["S1"].waiting_bytes == 1
    lanes.end("S1", "S2")
    assert lanes.pop() == "S2:4 S1:5" and lanes.merge.waiting_bytes == 0


@pytest.fixture
def short_windows(monkeypatch):
    shorten_windows(monkeypatch)


def shorten_windows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("streamiter.merge.window.WINDOW", 4)
    patch.setattr("streamiter.merge.window.WINDOW_OF_LANE", 1)


def test_a_long_backlog_comes_out_window_by_window(short_windows):
    lanes = Lanes("S1 ~ S2 ~ S3")
    for first, shard_id in enumerate(("S1", "S2", "S3")):
        lanes.push(shard_id, *range(first, 30, 3))
    assert 2 <= length_hint(lanes.merge.records()) <= 8
    assert lanes.pop() == " ".join(f"S{1 + second % 3}:{second}" for second in range(28))


def test_a_window_of_a_dense_lane_and_sparse_ones_is_not_short(short_windows):
    lanes = Lanes("S1 ~ S2 ~ S3 ~ S4")
    lanes.push("S1", *[1] * 2, *range(2, 40))
    for shard_id in ("S2", "S3", "S4"):
        lanes.push(shard_id, 20, 50)
    assert 2 <= length_hint(lanes.merge.records()) <= 6
    assert lanes.pop(30) == " ".join(f"S1:{second}" for second in [1, 1, *range(2, 21)]) + (
        " S2:20 S3:20 S4:20 " + " ".join(f"S1:{second}" for second in range(21, 27))
    )


def test_records_of_one_moment_come_out_whole_however_short_the_windows(short_windows):
    lanes = Lanes("S1 ~ S2")
    lanes.push("S1", *[3] * 10, 4)
    lanes.push("S2", *[3] * 10, 4)
    assert lanes.pop() == " ".join(["S1:3"] * 10 + ["S2:3"] * 10 + ["S1:4"])


pages = st.lists(st.tuples(st.sampled_from(["S1", "S2", "S3"]), st.lists(st.integers(0, 5), max_size=3)), max_size=12)


@pytest.mark.parametrize("are_short", [False, True])
@given(pages=pages, pops=st.lists(st.integers(0, 3), max_size=12))
def test_whatever_the_pages_lanes_come_out_sorted_by_key(
    are_short: bool, pages: list[tuple[str, list[int]]], pops: list[int]
):
    with pytest.MonkeyPatch.context() as patch:
        if are_short:
            shorten_windows(patch)
        check_sorted(pages, pops)


def check_sorted(pages: list[tuple[str, list[int]]], pops: list[int]) -> None:
    lanes = Lanes("S1 ~ S2 ~ S3")
    out: list[Record] = []
    for index, (shard_id, seconds) in enumerate(pages):
        lanes.push(shard_id, *seconds)
        out += islice(lanes.merge.records(), pops[index] if index < len(pops) else 9)
    lanes.end("S1", "S2", "S3")
    out += iter(lanes.merge.pop, None)
    keys = [(record.order_us, record.rank, record.place) for record in out]
    assert keys == sorted(keys) and len(out) == sum(len(seconds) for _, seconds in pages)
    assert not any(record.late for record in out) and [record.clock for record in out] == [*range(1, len(out) + 1)]
