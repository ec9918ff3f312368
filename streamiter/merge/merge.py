"""The merge: over all lanes, the one record that comes next, or the lane that it waits for.

Two sorted lists carry it: the bounds of the lanes that hold the others, and the first waiting record of each lane.
Everything at or below the least bound can come out, so it is sorted at once, as a *window*: the lanes' runs are joined in
the order of their ranks and sorted by order time alone; a stable sort keeps ranks and places as law 4 wants them. Timsort
merges such runs at the speed of memory; popping a heap record by record would cost several times as much. Of a long backlog
a window is only the first part, some thousand records: those are still in the processor's cache when they come out.

A window is handed out as a plain iterator: a record taken from it counts as returned, without a call for each. How far it
was taken is looked at (`settle`) before anything else happens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import pairwise, takewhile
from operator import attrgetter, length_hint

from sortedcontainers import SortedList

from streamiter.merge.lane import Bound, Lane
from streamiter.position import Place
from streamiter.record import Record
from streamiter.shard import FIRST, LAST, Rank

Key = tuple[int, Rank, Place]  # law 4: order time, rank, place

_EVERYTHING: Bound = (1 << 62, FIRST)

# A window has about so many records, and so many of each lane: fewer would make the work that a lane takes count for more.
WINDOW = 4096
WINDOW_OF_LANE = 32

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
        self._bounds: SortedList[tuple[Bound, str]] = SortedList()
        self._heads: SortedList[tuple[int, Rank]] = SortedList()
        self._bound_of: dict[str, Bound] = {}
        self._head_of: dict[str, tuple[int, Rank]] = {}
        self.waiting_bytes = 0.0  # about how many bytes wait in the lanes
        self._window = _Window([], {}, self.high)

    # -- lanes in

    def open(self, lane: Lane, *, holding: bool = True) -> None:
        """Takes a lane in. It holds the others at its bound, until released."""
        self._lanes[lane.shard_id] = lane
        if holding and self._holds:
            self._bound_of[lane.shard_id] = _EVERYTHING
            self._bounds.add((_EVERYTHING, lane.shard_id))
        self.update(lane)

    def update(self, lane: Lane) -> None:
        """The lane changed: a page came, it ended, it was restarted."""
        self.settle()
        if self._window.rest and self._disturbs(lane):
            self._drop_window()
        self._place_bound(lane)
        self._place_head(lane)
        self.waiting_bytes += lane.unweighed_bytes
        lane.unweighed_bytes = 0.0

    def release(self, shard_id: str) -> None:
        """The shard holds the others no longer; what waits in it still comes out in order."""
        self.settle()
        bound = self._bound_of.pop(shard_id, None)
        if bound is not None:
            self._bounds.remove((bound, shard_id))
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
            last = window.records[taken - 1]
            self.high = (last.order_us, window.lanes[last.shard_id].rank, last.place)
        if not window.rest:
            self._drop_window()

    # -- questions

    @property
    def held_by(self) -> str | None:
        """The shard with the least bound, where records wait for it; None where nothing waits."""
        if self.is_blocked or self.peek() is not None or not self._heads or not self._bounds:
            return None
        return str(self._bounds[0][1])

    @property
    def waits_until_us(self) -> int | None:
        """The order time of the first record that waits for another lane; None where none does."""
        if self._window.rest or not self._heads:
            return None
        return int(self._heads[0][0])

    @property
    def least_bound(self) -> tuple[Bound, str] | None:
        """The least bound, and whose it is."""
        return self._bounds[0] if self._bounds else None

    def holders(self, time_us: int) -> list[str]:
        """The shards whose bound lies at or before this order time: a record of that time waits for them."""
        return [shard_id for _, shard_id in self._bounds.irange(maximum=((time_us, LAST), ""))]

    def __contains__(self, shard_id: object) -> bool:
        return shard_id in self._lanes

    def __len__(self) -> int:
        return len(self._lanes)

    # -- the window

    def _open_window(self) -> None:
        if self.is_blocked or not self._heads:
            return
        ends = self._ends()
        if not ends:
            return
        records: list[Record] = []
        for lane, end in sorted(ends.items(), key=lambda part: part[0].rank):
            records += lane.records[lane.head : end]
        if len(ends) > 1:
            # Floats are compared several times as fast as integers of this size, and microseconds fit into them.
            times = [float(record.order_us) for record in records]
            records = [records[index] for index in sorted(range(len(times)), key=times.__getitem__)]
        self._window = _Window(records, {lane.shard_id: lane for lane in ends}, self.high)
        self._window.stamp(self.clock)

    def _ends(self) -> dict[Lane, int]:
        """How far each lane's records go into the next window: an index past the last of them."""
        lanes = [self._lanes[rank.shard_id] for _, rank in self._heads.irange(maximum=self._limit())]
        ends = {lane: end for lane in lanes if (end := self._end(lane)) > lane.head}
        most = max(WINDOW, WINDOW_OF_LANE * len(ends))
        if _count(ends) <= most:
            return ends
        # Lanes may be dense or sparse: the shares grow until the densest of them gives what makes a window.
        share = most // len(ends)
        while _count(part := _first_of(ends, share)) < most // 2:
            share *= 2
        return part

    def _end(self, lane: Lane) -> int:
        """How far the lane's records can come out: an index past the last of them."""
        end = lane.end_below(self._bounds[0][0] if self._bounds else _EVERYTHING)
        if self.high is not None and lane.rank != self.high[1]:
            # Late ones come at once. The lane of the greatest key itself has none: what follows there sorts behind it.
            end = max(end, lane.end_below(self.high[:2]))
        return end

    def _limit(self) -> Bound:
        """No record whose (order time, rank) is greater can come out now."""
        least: Bound = self._bounds[0][0] if self._bounds else _EVERYTHING
        return least if self.high is None else max(least, self.high[:2])

    def _drop_window(self) -> None:
        """The rest of the window goes back to its lanes: it is only a view of what waits in them."""
        lanes = self._window.lanes
        self._window.records.clear()  # An iterator that somebody still has must give nothing more.
        self._window = _Window([], {}, self.high)
        self._place_heads(lanes.values())
        for shard_id, lane in lanes.items():
            if shard_id not in self._bound_of and lane.is_drained and shard_id in self._lanes:
                self._remove(shard_id)

    def _disturbs(self, lane: Lane) -> bool:
        """Whether the lane's change may put something before the end of the window."""
        if lane.shard_id not in self._bound_of:
            return False
        bound = self._bound_of[lane.shard_id]
        if bound == _EVERYTHING:  # A lane just opened: it counts from where its first record may stand.
            bound = min(lane.bound, (lane.times[lane.head], lane.rank)) if len(lane) else lane.bound
        if len(lane) and lane.shard_id not in self._window.lanes:
            bound = min(
                bound, (lane.times[lane.head], lane.rank)
            )  # it gave an earlier one, against what was known of it
        bound = min(bound, lane.bound)  # it may have fallen: a tip claimed of a shard that then proved to be closed
        return bound < self._window.end

    def _place_head(self, lane: Lane) -> None:
        old = self._head_of.pop(lane.shard_id, None)
        if old is not None:
            self._heads.remove(old)
        if len(lane):
            head = (lane.times[lane.head], lane.rank)
            self._head_of[lane.shard_id] = head
            self._heads.add(head)

    def _place_heads(self, lanes: Collection[Lane]) -> None:
        # Of few lanes one by one; of many all at once, which is sorting anew.
        if len(lanes) * 8 < len(self._heads):
            for lane in lanes:
                self._place_head(lane)
            return
        for lane in lanes:
            self._head_of.pop(lane.shard_id, None)
            if len(lane):
                self._head_of[lane.shard_id] = (lane.times[lane.head], lane.rank)
        self._heads = SortedList(self._head_of.values())

    def _place_bound(self, lane: Lane) -> None:
        old = self._bound_of.get(lane.shard_id)
        if old is not None and old != lane.bound:
            self._bounds.remove((old, lane.shard_id))
            self._bound_of[lane.shard_id] = lane.bound
            self._bounds.add((lane.bound, lane.shard_id))

    def _remove(self, shard_id: str) -> None:
        head = self._head_of.pop(shard_id, None)
        if head is not None:
            self._heads.remove(head)
        del self._lanes[shard_id]

    def _check(self) -> None:
        """Raises AssertionError where the merge contradicts itself or its lanes."""
        self.settle()
        for lane in self._lanes.values():
            lane._check()
        assert list(self._bounds) == sorted((bound, shard_id) for shard_id, bound in self._bound_of.items())
        assert list(self._heads) == sorted(self._head_of.values())
        assert all(self._lanes[shard_id].bound == bound for shard_id, bound in self._bound_of.items())
        window = self._window
        rest = [(record.order_us, window.lanes[record.shard_id]) for record in window.records[window.taken :]]
        waiting = {lane.shard_id: list(lane.times[lane.head :]) for lane in self._lanes.values()}
        for time_us, lane in rest:
            assert waiting[lane.shard_id].pop(0) == time_us
        assert all((a[0], a[1].rank) <= (b[0], b[1].rank) for a, b in pairwise(rest))
        assert abs(self.waiting_bytes - sum(lane.waiting_bytes for lane in self._lanes.values())) < 1.0
        if rest:
            assert (rest[-1][0], rest[-1][1].rank) <= self._limit()
        else:
            heads = {lane.shard_id: (lane.times[lane.head], lane.rank) for lane in self._lanes.values() if len(lane)}
            assert self._head_of == heads


def _count(ends: dict[Lane, int]) -> int:
    return sum(end - lane.head for lane, end in ends.items())


def _first_of(ends: dict[Lane, int], share: int) -> dict[Lane, int]:
    """What comes out before any lane has given more than its share, but for what has the same order time."""
    cuts = [(lane.times[lane.head + share - 1], lane.rank) for lane, end in ends.items() if end - lane.head > share]
    cut = min(cuts, default=_EVERYTHING)
    return {lane: found for lane, end in ends.items() if (found := min(end, lane.end_below(cut))) > lane.head}


class _Window:
    """Records in the order in which they come out, and how many of them did."""

    __slots__ = ("end", "iterator", "lanes", "late", "records", "taken")

    def __init__(self, records: list[Record], lanes: dict[str, Lane], high: Key | None) -> None:
        self.records = records
        self.lanes = lanes
        self.taken = 0
        self.late = 0  # so many of the first ones sort below what is out already
        self.iterator = iter(records)
        self.end: Bound = _EVERYTHING
        if records:
            self.end = (records[-1].order_us, lanes[records[-1].shard_id].rank)
        if high is not None:
            self.late = sum(1 for _ in takewhile(lambda record: self._key(record) <= high, records))

    @property
    def rest(self) -> int:
        """How many are still to come."""
        return len(self.records) - self.taken

    def stamp(self, clock: int) -> None:
        """Writes on each record what the merge found for it; the rest of its order is its lane's."""
        for record in self.records:
            clock += 1
            record.clock = clock
        for record in self.records[: self.late]:
            record.late = True

    def _key(self, record: Record) -> Key:
        return record.order_us, self.lanes[record.shard_id].rank, record.place
