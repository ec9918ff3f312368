"""The merge: the record that comes next over all lanes, or the lane that it waits for.

Two sorted lists carry it: the bounds of the lanes that hold the others, and the first waiting record of each lane.
Every record at or below the least bound can come out. The merge sorts these at once, as a *window*, and hands them out as a
plain iterator: a record that the caller takes counts as returned, without a call for each. Before anything else happens,
`settle` finds out how many were taken. Ctrl-C may break `settle` off anywhere: it writes its plan down first, and the next
`settle` carries the plan out again from the start, to the same end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter, length_hint
from typing import NamedTuple

from streamiter.merge.bounds import Bounds
from streamiter.merge.heads import Heads, head_of
from streamiter.merge.lane import Bound, Lane
from streamiter.merge.window import Key, Window, first_part, join
from streamiter.record import Record, SpoiledRecord
from streamiter.shard import LAST

_shard_of = attrgetter("shard_id")


class Standing(NamedTuple):
    """How many records were taken, and the clock, the greatest key and the late ones that follow from that."""

    taken: int  # of the window
    clock: int
    late: int
    high: Key | None
    spoiled: int
    counts: dict[str, int]  # by shard: how many were taken that its lane does not know of yet


class _Plan(NamedTuple):
    """The plan of a `settle`, in numbers that stay the same however often it is carried out."""

    standing: Standing
    given: list[tuple[Lane, int]]  # how many records each lane has given, in all
    waiting_bytes: float


def _is_spoiled(record: Record) -> bool:
    return isinstance(record, SpoiledRecord)


class Merge:
    """The lanes and the order between them. With `holds=False` (`lateness=None`) no lane waits for another."""

    def __init__(self, *, holds: bool = True, high: Key | None = None, clock: int = 0) -> None:
        self.high = high  # the greatest key returned: a record that sorts below it is late
        self.clock = clock  # how many records were returned, over all resumes
        self.late = 0
        self.is_blocked = False  # while set, no record comes out: there may be shards that no listing has shown yet
        self._holds = holds
        self._lanes: dict[str, Lane] = {}
        self._bounds = Bounds()
        self._heads = Heads()
        self.waiting_bytes = 0.0  # about how many bytes wait in the lanes
        self.spoiled = (
            0  # how many of the records in them cannot be decoded: those that follow are to be taken one by one
        )
        self._window = Window([], {}, self.high)
        self._plan: _Plan | None = None  # of a `settle` that is under way, or was broken off

    # -- lanes in

    def open(self, lane: Lane, *, holding: bool = True) -> None:
        """Takes a lane in. It holds the others at its bound, until released."""
        self._lanes[lane.shard_id] = lane
        if holding and self._holds:
            self._bounds.open(lane.shard_id)
        self.update(lane)

    def update(self, lane: Lane) -> None:
        """The lane changed: a page came, it ended, it was restarted."""
        self.settle()
        if self._window.rest and self._disturbs(lane):
            self._drop_window()
        self._bounds.place(lane)
        self._heads.place(lane)
        self.waiting_bytes += lane.unweighed_bytes
        lane.unweighed_bytes = 0.0
        self.spoiled += lane.new_spoiled
        lane.new_spoiled = 0

    def release(self, shard_id: str) -> None:
        """The shard holds the others no longer; its waiting records still come out in order."""
        self.settle()
        self._bounds.drop(shard_id)
        if shard_id in self._lanes and self._lanes[shard_id].is_drained:
            self._remove(shard_id)

    # -- records out

    def records(self) -> Iterator[Record]:
        """The records that can come out now, in order; each one that the caller takes counts as returned."""
        if not length_hint(self._window.iterator):
            self.settle()
            self._open_window()
        return self._window.iterator

    def run(self, most: int) -> Iterator[Record]:
        """As `records`, at most so many. Nothing else may be taken until the run ends, or is taken back."""
        self.records()
        return self._window.run(most)

    def take_back(self) -> None:
        """Ends the run; its remaining records come out later. Any thread may call this, at any moment."""
        self._window.take_back()

    def give_back(self, records: list[Record]) -> None:
        """The records taken last, since the last `settle`, come out again."""
        self._window.give_back(records)

    @property
    def has_window(self) -> bool:
        """Whether records are sorted already, and can be taken at once."""
        return bool(length_hint(self._window.iterator))

    @property
    def is_waiting(self) -> bool:
        """Whether no record can come out now. Unlike `peek`, this sorts none."""
        self.settle()
        if self._window.rest:
            return False
        least, limit = self._bounds.least, self._limit()
        lanes = map(self._lanes.__getitem__, self._heads.up_to(limit))
        return self.is_blocked or not any(self._end(lane, least, limit) > lane.head for lane in lanes)

    def peek(self) -> Record | None:
        """The record that comes next, without taking it; None while the merge waits."""
        self.settle()
        self.records()
        window = self._window
        return window.records[window.taken] if window.rest else None

    def pop(self) -> Record | None:
        """The record that comes next, with its order stamped on it; None while the merge waits."""
        record = next(self.records(), None)
        self.settle()
        return record

    def settle(self) -> None:
        """Takes note of the records that were taken from the window since the last time."""
        if self._plan is None:
            if self._window.taken_by_now == self._window.taken:
                return
            self._plan = self._planned()
        self._carry_out(self._plan)

    def standing(self) -> Standing:
        """How many records were taken up to this moment; changes nothing."""
        window = self._window
        taken = window.taken_by_now
        if taken == window.taken:
            return Standing(taken, self.clock, self.late, self.high, self.spoiled, {})
        records = window.records[window.taken : taken]
        return Standing(
            taken,
            self.clock + taken - window.taken,
            self.late + max(0, min(taken, window.late) - window.taken),
            window.key(window.records[taken - 1]) if taken > window.late else self.high,
            self.spoiled - sum(map(_is_spoiled, records)) if self.spoiled else 0,
            Counter(map(_shard_of, records)),
        )

    def _planned(self) -> _Plan:
        standing, lanes = self.standing(), self._window.lanes
        given: list[tuple[Lane, int]] = []
        given_bytes = 0.0
        for shard_id, count in standing.counts.items():  # of a thousand lanes, nearly all of them
            lane = lanes[shard_id]
            given.append((lane, lane.cut_count + lane.head + count))  # without a call for each
            given_bytes += count * lane.record_bytes
        return _Plan(standing, given, self.waiting_bytes - given_bytes)

    def _carry_out(self, plan: _Plan) -> None:
        for lane, given in plan.given:
            lane.advance_to(given)
        self._window.taken, self.clock, self.late, self.high, self.spoiled, _ = plan.standing
        self.waiting_bytes = plan.waiting_bytes
        self._plan = None
        if not self._window.rest:
            self._drop_window()

    # -- questions

    @property
    def held_by(self) -> str | None:
        """The shard with the least bound, where records wait for it; None where nothing waits."""
        if self.is_blocked or self.peek() is not None or not self._heads:
            return None
        first = self._bounds.first
        return None if first is None else first[1]

    @property
    def waits_until_us(self) -> int | None:
        """The order time of the first record that waits for another lane; None where none does."""
        return None if self._window.rest else self._heads.least_us

    @property
    def first_waiting(self) -> Lane | None:
        """The lane of the first record that waits for another lane; None where none does."""
        first = None if self.peek() is not None else self._heads.first
        return None if first is None else self._lanes[first[1].shard_id]

    @property
    def least_bound(self) -> tuple[Bound, str] | None:
        """The least bound, and the shard that has it."""
        return self._bounds.first

    def holders(self, time_us: int) -> list[str]:
        """The shards whose bound lies at or before this order time: a record of that time waits for them."""
        return self._bounds.at_or_before(time_us)

    def is_held_by(self, shard_id: str, time_us: int) -> bool:
        """Whether a record of this order time waits for this shard."""
        return shard_id in self._bounds and self._bounds[shard_id] <= (time_us, LAST)

    @property
    def holds_records(self) -> bool:
        """Whether any record waits."""
        return bool(self._heads) or bool(self._window.rest)

    def __contains__(self, shard_id: object) -> bool:
        return shard_id in self._lanes

    def __len__(self) -> int:
        return len(self._lanes)

    # -- the window

    def _open_window(self) -> None:
        if self.is_blocked or not self._heads:
            return
        ends = self._ends()
        if ends:
            lanes = {lane.shard_id: lane for lane in ends}
            window = Window(join(ends), lanes, self.high)
            window.stamp(self.clock)
            self._window = window  # whole, or not at all

    def _ends(self) -> dict[Lane, int]:
        """For each lane, the index past the last record that goes into the next window."""
        least, limit = self._bounds.least, self._limit()
        lanes = map(self._lanes.__getitem__, self._heads.up_to(limit))
        ends = {lane: end for lane in lanes if (end := self._end(lane, least, limit)) > lane.head}
        return first_part(ends) if ends else ends

    def _end(self, lane: Lane, least: Bound, limit: Bound) -> int:
        """The index past the lane's last record that can come out."""
        # Late records come at once. The lane of the greatest key itself has none: its next records sort behind that key.
        is_highest = limit is not least and self.high is not None and lane.rank == self.high[1]
        return lane.end_below(least if is_highest else limit)

    def _limit(self) -> Bound:
        """The greatest (order time, rank) at which a record can come out now: the least bound, but for late records."""
        least = self._bounds.least
        return least if self.high is None else max(least, self.high[:2])

    def _drop_window(self) -> None:
        """Drops the rest of the window, which is only a view of the lanes' records: they wait there again."""
        window = self._window
        lanes = window.lanes
        self._window = Window([], {}, self.high)
        window.records.clear()  # The caller may still hold the iterator: it must give nothing more.
        self._heads.place_all(lanes.values())
        if len(self._bounds) == len(self._lanes):
            return  # all of them hold the others: none leaves
        for shard_id, lane in lanes.items():
            if shard_id not in self._bounds and lane.is_drained and shard_id in self._lanes:
                self._remove(shard_id)

    def _disturbs(self, lane: Lane) -> bool:
        """Whether the lane's change may put a record before the end of the window."""
        if lane.shard_id not in self._bounds:
            return False
        bound = self._bounds[lane.shard_id]  # EVERYTHING, where the lane was just opened
        if len(lane) and lane.shard_id not in self._window.lanes:
            bound = min(bound, head_of(lane))  # it gave an earlier record than its bound allows
        bound = min(bound, lane.bound)  # it may have fallen: the lane had a tip, but the shard proved to be closed
        return bound < self._window.end

    def _remove(self, shard_id: str) -> None:
        self._heads.drop(shard_id)
        del self._lanes[shard_id]

    def _check(self) -> None:
        """Raises AssertionError where the merge contradicts itself or its lanes."""
        self.settle()
        for lane in self._lanes.values():
            lane._check()
        self._bounds._check(self._lanes)
        window = self._window
        rest = [(record.order_us, window.lanes[record.shard_id]) for record in window.records[window.taken :]]
        waiting = {lane.shard_id: list(lane.times[lane.head :]) for lane in self._lanes.values()}
        for time_us, lane in rest:
            assert waiting[lane.shard_id].pop(0) == time_us
        assert all((a[0], a[1].rank) <= (b[0], b[1].rank) for a, b in pairwise(rest))
        assert self.spoiled == sum(
            map(_is_spoiled, (record for lane in self._lanes.values() for record in lane.records[lane.head :]))
        )
        assert abs(self.waiting_bytes - sum(lane.waiting_bytes for lane in self._lanes.values())) < 1.0
        assert self.is_waiting == (not rest and (self.is_blocked or not self._ends()))
        assert not rest or (rest[-1][0], rest[-1][1].rank) <= self._limit()
        self._heads._check(() if rest else self._lanes.values())
