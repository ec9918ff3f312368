"""Asking: which shards are asked first, when they are asked again, and for how many records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.reading.asking import (
    FEW,
    GATHERED,
    GATHERS,
    GRACE_US,
    GUESSED_RECORD_BYTES,
    HIGH,
    LOOKS,
    LOW,
    SHARE,
    Ask,
)
from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardIterator
from tests.reading.hand import Hand
from tests.worlds import NOW, SECOND, STREAM

OLD = NOW - 3600 * SECOND  # what there is to catch up with
TOLD = ShardIterator("S1", None)


def names_of(count: int) -> list[str]:
    return [f"S{index:04}" for index in range(count)]


def a_reading(*names: str, **options) -> Hand:
    """A reading of open shards, all of them due at 0."""
    reading = Hand(token_at_start(STREAM), **options)
    reading.tell([Shard(name) for name in names], NOW, 0)
    return reading


class Lanes(Hand):
    """So many lanes, all due at 0; the later ones hold more records, and all wait for the last one."""

    def __init__(self, count: int, **options) -> None:
        super().__init__(token_at_start(STREAM), **options)
        names = names_of(count)
        self.tell([Shard(name) for name in names], NOW, 0)
        for index, name in enumerate(names):
            self.give(name, index % 50 + 1, OLD - index * SECOND)
        self.last = names[-1]

    def give(self, name: str, count: int, time_us: int) -> None:
        """A page of so many records, of that time."""
        lane = self.book.lanes[name]
        given = lane.given + len(lane)
        self.push(name, [Record(name, str(given + i + 1), time_us) for i in range(count)], NOW, 0)

    def take(self, most: int) -> list[str]:
        """Asks, as the driver does."""
        return [ask.shard_id for ask in self.wishes(0, most).asks]

    def all_due(self) -> set[str]:
        return {*self.asking.schedule.behind(0), *self.asking.schedule.idle(0)}


# -- in which order


@pytest.mark.parametrize("count", [1, 7, FEW, FEW + 1, 1000])
def test_first_comes_the_lane_that_all_wait_for_then_the_emptiest(count: int):
    reading = Lanes(count)
    found = reading.asking.due(0, count)
    assert len(found) == len(set(found)) == count
    assert found[0] == reading.last
    held = [len(reading.book.lanes[name]) for name in found[1:]]
    assert held == sorted(held)


@pytest.mark.parametrize("most", [1, 2, 32, 5000])
def test_each_lane_that_is_due_is_asked_and_no_other(most: int):
    reading, asked = Lanes(300), []
    while found := reading.take(most):
        assert len(found) <= most
        asked += found
    assert sorted(asked) == names_of(300)
    assert reading.take(most) == []


def test_the_lane_that_all_wait_for_is_asked_first_whichever_it_has_become():
    reading, holders = Lanes(300), set[str]()
    for _ in range(100):
        assert reading.book.merge.least_bound is not None
        holder = reading.book.merge.least_bound[1]
        holders.add(holder)
        found = reading.take(2)
        assert found[0] == holder
        for name in found:
            reading.give(name, 1, OLD)
    assert len(holders) > 50


def test_what_was_passed_over_for_want_of_room_is_wished_for_again():
    reading = Lanes(300)
    for _ in range(2 * LOOKS):
        assert len(reading.asking.due(0, 100)) == 100, "nothing was asked: all are still due"


def test_the_emptiest_are_not_passed_over_because_there_was_no_room_for_them_before():
    reading = Lanes(300)
    first = reading.asking.due(0, 10)
    for _ in range(3):  # nothing was asked: the budget is spent, and the lanes further on hold more
        assert reading.asking.due(0, 10) == first


def test_a_lane_that_falls_due_later_is_found_however_fresh_the_last_look():
    reading = Lanes(300)
    while reading.take(40):
        pass
    reading.give("S0007", 1, OLD)
    reading.give("S0008", 1, OLD)
    assert sorted(reading.take(40)) == ["S0007", "S0008"]


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 150)), max_size=40))
def test_as_many_are_given_as_there_is_room_for_and_each_of_them_is_due(turns: list[tuple[int, int]]):
    reading = Lanes(120)
    for most, answered in turns:
        due = reading.all_due()
        found = reading.take(most)
        assert set(found) <= due and len(found) == len(set(found)) == min(most, len(due))
        for name in sorted(set(names_of(120)) - reading.all_due())[:answered]:
            reading.give(name, 1, OLD)


@pytest.mark.parametrize("count", [30, 2000])
def test_what_is_behind_comes_before_what_is_idle_and_idle_ones_have_their_share(count: int):
    """Nothing waits for the idle lanes: their tips are an hour later than the records that come out."""
    reading = Lanes(count)
    idle = {name for index, name in enumerate(names_of(count)) if index % 10}
    for name in idle:
        reading.push(name, [], NOW, -SECOND, caught_up=True)
    found = [name for _ in range(count // 10) for name in reading.take(1)]
    assert len(found) == count // 10
    behind = [name for name in found if name not in idle]
    assert len(found) // SHARE <= len(found) - len(behind) <= len(found) // SHARE + 1
    held = [len(reading.book.lanes[name]) for name in behind[1:]]  # behind the one that all wait for
    assert held == sorted(held)


@pytest.mark.parametrize("count", [30, 2000])
def test_an_idle_lane_that_a_record_waits_for_is_asked_as_if_it_were_behind(count: int):
    reading = Lanes(count)
    for name in names_of(count):
        reading.push(name, [], NOW, -2 * SECOND, caught_up=True)
    while reading.pop():
        pass
    reading.give("S0003", 1, NOW)
    reading.ask("S0003")
    assert reading.held_by is not None
    assert sorted(reading.take(count)) == sorted(set(names_of(count)) - {"S0003"})


# -- when


def test_a_lane_with_more_to_come_is_asked_after_its_rest():
    reading = a_reading("S1")
    reading.ask("S1")
    reading.paged("S1", Page([Record("S1", "1", 5)], TOLD, NOW, rest_us=200_000), 100)
    assert reading.due(200_099) == []
    assert reading.due(200_100) == ["S1"]


def test_neither_haste_nor_a_waiting_record_shortens_a_rest():
    reading = a_reading("S1", "S2")
    reading.paged("S1", Page([], TOLD, NOW, caught_up=True, rest_us=5 * SECOND), 0)
    reading.push("S2", [Record("S2", "1", NOW)], NOW, 0)
    assert reading.held_by == "S1"
    reading.mark(0)
    reading.asking.schedule.due_at("S1", 0)
    assert "S1" not in reading.due(5 * SECOND - 1) and "S1" in reading.due(5 * SECOND)


def test_a_pause_that_is_longer_than_the_rest_stays():
    reading = a_reading("S1")
    reading.paged("S1", Page([], TOLD, NOW, caught_up=True, rest_us=1000), 0)
    assert reading.asking.schedule.next_us == 250_000


def test_catching_up_is_known_of_whichever_lane_is_behind():
    reading = a_reading("S1", "S2")
    assert reading.asking.schedule.is_catching_up
    for _ in range(2):  # listings show it open: its end is asked for once more
        reading.push("S1", [], NOW, 0, ended=True)
    assert reading.asking.schedule.is_catching_up  # the other one
    reading.push("S2", [], NOW, 0, caught_up=True)
    assert not reading.asking.schedule.is_catching_up
    reading.expire("S2", 0)
    assert reading.asking.schedule.is_catching_up


def test_a_shard_under_way_is_not_asked_again_whatever_happens():
    reading = a_reading("S1")
    (ask,) = reading.wishes(0).asks
    assert ask.shard_id == "S1" and ask.open_at is not None
    reading.asking.schedule.due_at("S1", 0)
    reading.mark(0)
    assert reading.wishes(0).asks == [] and reading.is_asking
    reading.push("S1", [Record("S1", "1", OLD)], NOW, 0)
    (ask,) = reading.wishes(0).asks
    assert ask.open_at is None, "it goes on with the iterator that the page brought"


# -- for how much


def limit_of(reading: Hand) -> int:
    (ask,) = reading.wishes(0).asks
    return ask.limit


def page_of(records: int, record_bytes: int) -> Page:
    return Page([Record("S1", str(at + 1), OLD) for at in range(records)], TOLD, NOW, size_bytes=records * record_bytes)


def test_the_first_page_tells_more_of_sizes_than_any_guess():
    reading = a_reading("S1", prefetch_bytes=64_000)
    assert limit_of(reading) == int(64_000 / GUESSED_RECORD_BYTES)
    reading.paged("S1", page_of(20, 500), 0)
    assert limit_of(reading) == 128


def test_a_page_unlike_the_others_moves_it_a_little():
    reading = a_reading("S1", prefetch_bytes=90_000)
    for record_bytes in (800, 1600):
        assert limit_of(reading)
        reading.paged("S1", page_of(20, record_bytes), 0)
    assert limit_of(reading) == 100


@pytest.mark.parametrize("told", [page_of(0, 0), page_of(5, 0)])
def test_a_page_that_is_empty_or_without_a_size_tells_nothing(told: Page):
    reading = a_reading("S1", prefetch_bytes=64_000)
    before = limit_of(reading)
    reading.paged("S1", told, 0)
    assert limit_of(reading) == before


def test_when_the_budget_is_spent_only_the_lane_that_all_wait_for_is_asked():
    reading = a_reading("S1", "S2", "S3", prefetch_bytes=1000)
    for name, hours in (("S1", 5), ("S2", 3), ("S3", 4)):
        reading.push(name, [Record(name, str(at + 1), NOW - hours * 3600 * SECOND) for at in range(10)], NOW, 0)
    while reading.pop() is not None:
        pass
    assert [ask.shard_id for ask in reading.wishes(0).asks] == ["S1"]
    assert reading.wishes(0).asks == []


def fill(reading: Hand, names: list[str], record_bytes: int) -> list[int]:
    """Asks until the budget is spent; each answer brings as much as was asked for. Gives the limits."""
    limits = []
    while asks := reading.wishes(0, 8).asks:
        for ask in asks:
            limits.append(ask.limit)
            index = names.index(ask.shard_id)
            given = reading.book.lanes[ask.shard_id].given + len(reading.book.lanes[ask.shard_id])
            records = [
                Record(ask.shard_id, str(given + at + 1), OLD + (given + at) * 1000 + index) for at in range(ask.limit)
            ]
            page = Page(records, TOLD, NOW, size_bytes=ask.limit * record_bytes)
            reading.paged(ask.shard_id, page, 0)
    return limits


def test_lanes_that_share_little_are_filled_by_turns_to_nearly_twice_their_share():
    lanes, record_bytes = names_of(200), 500
    reading = a_reading(*lanes, prefetch_bytes=200 * 40 * record_bytes)  # 40 records for each
    reading.paged(lanes[0], page_of(1, record_bytes)._replace(records=[Record(lanes[0], "1", OLD)]), 0)
    first = fill(reading, lanes, record_bytes)
    assert reading.book.merge.waiting_bytes <= 200 * 40 * record_bytes + 8 * HIGH * 40 * record_bytes
    assert all(len(reading.book.lanes[name]) for name in lanes), "each has something, so that the merge can go on"
    assert min(first) <= 40 * (LOW + 0.1) and max(first) >= 40 * (HIGH - 0.1)
    later = []
    for _ in range(500):
        for _ in range(100):
            assert reading.pop() is not None
        later += fill(reading, lanes, record_bytes)
    settled = later[len(later) // 2 :]
    assert sum(settled) / len(settled) > 1.3 * 40, "pages bring more than a share"
    assert reading.book.merge.waiting_bytes <= 2 * 200 * 40 * record_bytes


@pytest.mark.parametrize("room", [2, 3])
def test_a_lane_whose_turn_came_early_does_not_stand_in_the_way_of_emptier_ones(room: int):
    lanes, record_bytes, share = names_of(300), 500, 40
    reading = a_reading(*lanes, prefetch_bytes=300 * share * record_bytes)
    reading.paged(lanes[0], page_of(1, record_bytes)._replace(records=[Record(lanes[0], "1", OLD)]), 0)
    under_way: list[Ask] = []
    for _ in range(400):
        while reading.pop() is not None:
            pass
        under_way += reading.wishes(0, room - len(under_way)).asks
        if len(under_way) < room:
            coming = sum(ask.limit for ask in under_way) * record_bytes
            assert reading.book.merge.waiting_bytes + coming > (300 - 2 * HIGH) * share * record_bytes, "it is full"
        ask = under_way.pop(0)
        index, lane = lanes.index(ask.shard_id), reading.book.lanes[ask.shard_id]
        numbers = range(lane.given + len(lane), lane.given + len(lane) + ask.limit)
        records = [Record(ask.shard_id, str(number + 1), OLD + number * 1000 + index) for number in numbers]
        reading.paged(ask.shard_id, Page(records, TOLD, NOW, size_bytes=ask.limit * record_bytes), 0)


# -- when records are taken out


def answered_before(reading: Lanes, since_us: int = 0) -> int:
    """How many answers a reader takes in before it takes records out."""
    asked, count = reading.take(5000), 0
    while reading.is_gathering(since_us, since_us):
        reading.give(asked[count], 1, OLD + SECOND)
        count += 1
    return count


def test_with_many_lanes_behind_the_pages_of_a_part_of_them_are_taken_in_before_records_are_taken_out():
    assert answered_before(Lanes(10 * GATHERED)) == 10
    assert answered_before(Lanes(GATHERS + 1)) == (GATHERS + 1) // GATHERED
    assert answered_before(Lanes(GATHERS)) == 0


def test_records_are_not_held_back_for_long_nor_where_no_answer_is_to_come():
    reading = Lanes(10 * GATHERED)
    assert not reading.is_gathering(0, 0), "nothing is under way"
    reading.take(5000)
    assert reading.is_gathering(GRACE_US - 1, 0) and not reading.is_gathering(GRACE_US, 0)


def test_what_is_sorted_already_is_not_held_back_and_answers_count_from_there():
    reading = Lanes(10 * GATHERED)
    asked = reading.take(5000)
    reading.give(reading.last, 1, OLD + SECOND)
    assert reading.is_gathering(0, 0)
    assert reading.peek() is not None and not reading.is_gathering(0, 0)
    for _ in reading.run(5000):
        pass
    reading.settle()
    for name in asked[1:10]:
        reading.give(name, 1, OLD + SECOND)
        assert reading.is_gathering(0, 0)
