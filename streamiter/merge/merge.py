"""The merge: over all lanes, the one record that comes next, or the lane that it waits for.

Two sorted lists carry it: the bounds of the lanes that hold the others, and the first waiting record of each lane.
Everything at or below the least bound can come out, and is sorted at once, as a *window*. It is handed out as a plain
iterator: a record taken from it counts as returned, without a call for each. How far it was taken is looked at (`settle`)
before anything else happens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter, length_hint

from streamiter.merge.bounds import EVERYTHING, Bounds
from streamiter.merge.heads import Heads, head_of
from streamiter.merge.lane import Bound, Lane
from streamiter.merge.window import Key, Window, first_part, join
from streamiter.record import Record

_shard_of = attrgetter("shard_id")


class Merge:
    """The lanes and the order between them. With `holds=False` (`lateness=None`) no lane waits for another."""

    def __init__(self, *, holds: bool = True, high: Key | None = None, clock: int = 0) -> None:
        self.high = high  # the greatest key returned: what sorts below it is late
        self.clock = clock  # how many records were returned, over all resumes
        self.late = 0
        self.is_blocked = False  # while set nothing comes out: there may be shards that nobody knows of yet
        self._holds = holds
        self._lanes: dict[str, Lane] = {}
        self._bounds = Bounds()
        self._heads = Heads()
        self.waiting_bytes = 0.0  # about how many bytes wait in the lanes
        self._window = Window([], {}, self.high)

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

    def release(self, shard_id: str) -> None:
        """The shard holds the others no longer; what waits in it still comes out in order."""
        self.settle()
        self._bounds.drop(shard_id)
        if shard_id in self._lanes and self._lanes[shard_id].is_drained:
            self._remove(shard_id)

    # -- records out

    def records(self) -> Iterator[Record]:
        """The records that can come out now, in order; each that is taken from the iterator counts as returned."""
        if not length_hint(self._window.iterator):
            self.settle()
            self._open_window()
        return self._window.iterator

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
        """Takes note of what was taken from the window since the last time."""
        window = self._window
        taken = len(window.records) - length_hint(window.iterator)
        if taken == window.taken:
            return
        counts = Counter(map(_shard_of, window.records[window.taken : taken]))
        self.clock += taken - window.taken
        self.late += max(0, min(taken, window.late) - window.taken)
        window.taken = taken
        for shard_id, count in counts.items():
            lane = window.lanes[shard_id]
            lane.advance(count)
            self.waiting_bytes -= count * lane.record_bytes
        if taken > window.late:
            self.high = window.key(window.records[taken - 1])
        if not window.rest:
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
    def least_bound(self) -> tuple[Bound, str] | None:
        """The least bound, and whose it is."""
        return self._bounds.first

    def holders(self, time_us: int) -> list[str]:
        """The shards whose bound lies at or before this order time: a record of that time waits for them."""
        return self._bounds.at_or_before(time_us)

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
            self._window = Window(join(ends), lanes, self.high)
            self._window.stamp(self.clock)

    def _ends(self) -> dict[Lane, int]:
        """How far each lane's records go into the next window: an index past the last of them."""
        least = self._bounds.least
        lanes = [self._lanes[shard_id] for shard_id in self._heads.up_to(self._limit())]
        ends = {lane: end for lane in lanes if (end := self._end(lane, least)) > lane.head}
        return first_part(ends) if ends else ends

    def _end(self, lane: Lane, least: Bound) -> int:
        """How far the lane's records can come out: an index past the last of them."""
        end = lane.end_below(least)
        if self.high is not None and lane.rank != self.high[1]:
            # Late ones come at once. The lane of the greatest key itself has none: what follows there sorts behind it.
            end = max(end, lane.end_below(self.high[:2]))
        return end

    def _limit(self) -> Bound:
        """No record whose (order time, rank) is greater can come out now."""
        least = self._bounds.least
        return least if self.high is None else max(least, self.high[:2])

    def _drop_window(self) -> None:
        """The rest of the window goes back to its lanes: it is only a view of what waits in them."""
        lanes = self._window.lanes
        self._window.records.clear()  # An iterator that somebody still has must give nothing more.
        self._window = Window([], {}, self.high)
        self._heads.place_all(lanes.values())
        for shard_id, lane in lanes.items():
            if shard_id not in self._bounds and lane.is_drained and shard_id in self._lanes:
                self._remove(shard_id)

    def _disturbs(self, lane: Lane) -> bool:
        """Whether the lane's change may put something before the end of the window."""
        if lane.shard_id not in self._bounds:
            return False
        bound = self._bounds[lane.shard_id]
        if bound == EVERYTHING:  # A lane just opened: it counts from where its first record may stand.
            bound = min(lane.bound, head_of(lane)) if len(lane) else lane.bound
        if len(lane) and lane.shard_id not in self._window.lanes:
            bound = min(bound, head_of(lane))  # it gave an earlier one, against what was known of it
        bound = min(bound, lane.bound)  # it may have fallen: a tip claimed of a shard that then proved to be closed
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
        assert abs(self.waiting_bytes - sum(lane.waiting_bytes for lane in self._lanes.values())) < 1.0
        assert not rest or (rest[-1][0], rest[-1][1].rank) <= self._limit()
        self._heads._check(() if rest else self._lanes.values())
