"""One lease's pages: what comes, what is waited for, and where records may be lost."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from streamiter.app.pages import ShardPages, checkpoint_of, position_of
from streamiter.errors import IteratorExpired, PositionTrimmed, ShardGone, Throttled, TimeUnsupported
from streamiter.lease import Lease, operator
from streamiter.position import After, AtTime, Horizon, Place, Position
from streamiter.reading.gaps import REMOVED, TOO_OLD, TRIMMED
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source import Page, ShardIterator, ShardPage, Source
from streamiter.store import Table
from streamiter.store.memory import MemoryStore

SECOND = 1_000_000
NOW = 1_750_000_000 * SECOND
DAY = 86_400 * SECOND


class Script(Source):
    """A source that answers as it is told: each call takes the next answer, and raises it where it is an error."""

    name = "script"

    def __init__(self, *answers: Any) -> None:
        self.answers = deque(answers)
        self.opened: list[Position] = []

    def list_shards(self, after: str | None) -> ShardPage:
        raise AssertionError("nobody lists")

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        self.opened.append(position)
        if self.answers and isinstance(self.answers[0], PositionTrimmed | ShardGone | TimeUnsupported):
            raise self.answers.popleft()
        return ShardIterator(shard_id, len(self.opened))

    def fetch(self, iterator: ShardIterator, limit: int) -> Page:
        answer = self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer


def page(*numbers: int, end: bool = False, caught_up: bool | None = None, us: int = NOW, **more: Any) -> Page:
    records = [Record("S1", str(number), NOW - DAY // 2 + number * SECOND) for number in numbers]
    return Page(records, None if end else ShardIterator("S1", 0), us, caught_up, **more)


def reader(source: Source, checkpoint: str = "TRIM_HORIZON", fence: int = 1, **progress: Any) -> ShardPages:
    return ShardPages(source, Lease("S1", 2, "me", checkpoint, fence=fence, progress=progress), 1000)


def test_records_come_with_the_checkpoint_behind_each():
    read = reader(Script(page(5, 6))).turn(0)
    assert [record.sequence_number for record in read.records] == ["5", "6"]
    assert list(read.checkpoints) == ["5", "6"]
    assert read.records[0].order_key < read.records[1].order_key


def test_numbers_that_run_backwards_are_counted_from_the_greatest():
    source = Script(page(5, 3, 4), page(2, 9))
    pages = reader(source)
    assert list(pages.turn(0).checkpoints) == ["5", "5/1", "5/2"]
    assert list(pages.turn(0).checkpoints) == ["5/3", "9"]


def test_a_checkpoint_opens_behind_its_record_and_passes_over_what_it_counts():
    source = Script(page(3, 4, 9))
    read = reader(source, "5/2").turn(0)
    assert source.opened == [After(Place(5, 2))]
    assert list(read.checkpoints) == ["9"]


@pytest.mark.parametrize(
    "checkpoint, position",
    [
        ("TRIM_HORIZON", Horizon(7)),
        ("AT_TIMESTAMP/99", AtTime(99, 7)),
        ("0012", After(Place(12, 0, 4))),
        ("12/3", After(Place(12, 3))),
    ],
)
def test_checkpoints_are_positions(checkpoint, position):
    found = position_of(Lease("S1", checkpoint=checkpoint, progress={"opened": 7}))
    assert found == position
    if isinstance(position, After):
        assert checkpoint_of(position.place) == checkpoint


def test_an_iterator_that_expired_is_opened_where_reading_stands():
    source = Script(page(5), IteratorExpired("old"), page(6))
    pages = reader(source)
    pages.turn(0)
    assert not pages.turn(0).records
    assert list(pages.turn(0).checkpoints) == ["6"]
    assert source.opened == [Horizon(), After(Place(5, 0))]


def test_throttles_are_waited_out_for_longer_each_time():
    pages = reader(Script(Throttled("slow"), Throttled("slow"), page(1), Throttled("slow")))
    first, second = pages.turn(0), pages.turn(0)
    assert first.error is not None and 0 < first.rest_us < second.rest_us
    assert list(pages.turn(0).checkpoints) == ["1"]
    assert pages.turn(0).rest_us == first.rest_us


def test_empty_pages_are_no_tip_until_there_were_enough_of_them_or_the_service_says_so():
    pages = reader(Script(*[page()] * 8, page(1), page(caught_up=True)))
    read = [pages.turn(0) for _ in range(8)]
    assert [told.tip_us for told in read] == [None] * 7 + [NOW]
    assert [told.rest_us for told in read[:7]] == [0] * 7 and read[7].rest_us > 0
    pages.turn(0)
    assert pages.turn(0).tip_us == NOW


def test_an_idle_shard_is_asked_less_and_less_often_up_to_once_a_second():
    pages = reader(Script(*[page(caught_up=True)] * 6))
    rests = [pages.turn(0).rest_us for _ in range(6)]
    assert rests == sorted(rests) and rests[0] == SECOND // 4 and rests[-1] == SECOND


def test_an_end_counts_once_it_is_told_twice_at_the_same_place():
    source = Script(page(1), page(2, end=True), page(end=True))
    pages = reader(source)
    pages.turn(0)
    read = pages.turn(0)
    assert list(read.checkpoints) == ["2"] and not read.is_end
    assert pages.turn(0).is_end
    assert source.opened[-1] == After(Place(2, 0))


def test_a_false_end_loses_nothing():
    pages = reader(Script(page(1), page(end=True), page(2), page(end=True), page(end=True)))
    read = [pages.turn(0) for _ in range(5)]
    assert [told.is_end for told in read] == [False] * 4 + [True]
    assert list(read[2].checkpoints) == ["2"]


def test_an_end_with_children_needs_no_second_word():
    child = Shard("S2", ("S1",))
    read = reader(Script(page(1, end=True, children=(child,)))).turn(0)
    assert read.is_end and read.children == (child,)


def test_a_checkpoint_that_was_trimmed_is_a_gap():
    pages = reader(Script(PositionTrimmed("gone")), "5", fence=2)
    assert pages.turn(0).gap == TRIMMED


def test_a_checkpoint_that_was_trimmed_is_no_gap_where_nothing_came_behind_it_until_lately():
    source = Script(PositionTrimmed("gone"), page(9))
    pages = reader(source, "5", fence=2, tip=NOW - SECOND)
    assert pages.turn(0).gap is None
    assert list(pages.turn(0).checkpoints) == ["9"]
    assert source.opened[-1] == AtTime(NOW - SECOND)


def test_a_tip_that_is_too_old_itself_is_a_gap():
    pages = reader(Script(PositionTrimmed("gone"), page(9)), "5", fence=2, tip=NOW - 2 * DAY)
    pages.turn(0)
    assert pages.turn(0).gap == TOO_OLD


def test_a_worker_that_was_idle_at_a_tip_for_days_finds_no_gap_either():
    pages = reader(Script(page(5), page(caught_up=True), IteratorExpired("old"), PositionTrimmed("gone"), page(6)))
    for _ in range(4):
        assert pages.turn(0).gap is None
    assert list(pages.turn(0).checkpoints) == ["6"]


def test_a_tip_before_a_record_says_nothing_of_what_follows_it():
    pages = reader(Script(page(caught_up=True), page(5), IteratorExpired("old"), PositionTrimmed("gone")))
    for _ in range(3):
        pages.turn(0)
    assert pages.turn(0).gap == TRIMMED


@pytest.mark.parametrize("checkpoint", ["TRIM_HORIZON", f"AT_TIMESTAMP/{NOW - 3 * DAY}"])
def test_a_start_of_long_ago_is_no_gap_where_the_shard_was_at_its_tip_lately_and_had_nothing(checkpoint):
    """A shard without records for longer than they are held, whose lease changes hands."""
    for tip, gap in ((NOW - SECOND, None), (NOW - 2 * DAY, TOO_OLD), (None, TOO_OLD)):
        told = {} if tip is None else {"tip": tip}
        pages = reader(Script(page(9)), checkpoint, fence=2, opened=NOW - 2 * DAY - SECOND, **told)
        assert pages.turn(0).gap == gap


def test_a_horizon_of_long_ago_is_a_gap_and_one_that_only_moved_on_is_none():
    assert reader(Script(page(5)), opened=NOW - 2 * DAY).turn(0).gap == TOO_OLD
    pages = reader(Script(PositionTrimmed("moved on"), page(5)), opened=NOW)
    assert pages.turn(0).gap is None
    assert list(pages.turn(0).checkpoints) == ["5"]


def test_a_shard_that_is_gone_is_a_gap_where_it_was_read_before():
    assert reader(Script(ShardGone("gone")), "5", fence=2).turn(0).gap == REMOVED
    assert reader(Script(ShardGone("gone")), opened=NOW).turn(0).is_end


def test_a_shard_that_goes_while_it_is_read_is_a_gap():
    pages = reader(Script(page(5), IteratorExpired("old"), ShardGone("gone")), opened=NOW)
    pages.turn(0)
    pages.turn(0)
    assert pages.turn(0).gap == REMOVED


def test_a_child_that_is_gone_before_it_was_read_is_a_gap_since_its_parent_was_read():
    lease = Lease("S2", 2, "me", "TRIM_HORIZON", fence=1, parents=("S1",), progress={"opened": NOW})
    pages = ShardPages(Script(ShardGone("gone")), lease, 1000)
    assert pages.turn(0).gap == REMOVED


def test_a_shard_that_goes_after_it_told_its_end_has_ended():
    pages = reader(Script(page(5), page(end=True), ShardGone("gone")))
    pages.turn(0)
    assert not pages.turn(0).is_end
    assert pages.turn(0).is_end


@pytest.mark.parametrize("answer, is_end", [(ShardGone("gone"), True), (page(8), False)])
def test_an_operator_accepts_a_gap_by_a_reset(answer, is_end):
    """Of a shard that is gone, or whose horizon moved on, days after its lease was written."""
    store, table = MemoryStore(), Table("leases", "shop", "work")
    progress = {"opened": NOW - 3 * DAY, "tip": NOW - 2 * DAY, "gap": REMOVED}
    store.write(table, Lease("S1", owner="me", checkpoint="5", fence=2, parents=("S0",), progress=progress).row, None)
    lease = operator.reset(store, table, "S1", "TRIM_HORIZON", NOW)
    read = ShardPages(Script(answer), lease, 1000).turn(0)
    assert read.gap is None and read.is_end == is_end
    assert list(read.checkpoints) == ([] if is_end else ["8"])


def test_behind_an_accepted_gap_a_shard_that_is_gone_has_ended():
    pages = reader(Script(ShardGone("gone"), ShardGone("gone")), "5", fence=2)
    assert pages.turn(0).gap == REMOVED
    pages.restart()
    assert pages.turn(0).is_end


def test_behind_a_gap_that_is_accepted_it_goes_on_from_what_is_held():
    source = Script(PositionTrimmed("gone"), page(8))
    pages = reader(source, "5", fence=2)
    assert pages.turn(0).gap
    pages.restart()
    assert list(pages.turn(0).checkpoints) == ["8"]
    assert source.opened[-1] == Horizon()


def test_a_service_that_opens_at_no_time_is_read_from_its_horizon_without_what_is_older():
    source = Script(TimeUnsupported("no"), page(1, 2, 3))
    since_us = NOW - DAY // 2 + 2 * SECOND
    pages = reader(source, f"AT_TIMESTAMP/{since_us}", opened=NOW)
    pages.turn(0)
    assert list(pages.turn(0).checkpoints) == ["2", "3"]
    assert source.opened == [AtTime(since_us, NOW), Horizon(NOW)]
