"""The merge: over all lanes, the one record that comes next, or the lane that it waits for.

Two sorted lists carry it: the bounds of the lanes that hold the others, and the first waiting record of each lane.
Everything at or below the least bound can come out, so it is sorted at once, as a *window*: the lanes' runs are joined in
the order of their ranks and sorted by order time alone; a stable sort keeps ranks and places as law 4 wants them. Timsort
merges such runs at the speed of memory; popping a heap record by record would cost several times as much.
"""

from __future__ import annotations

from itertools import pairwise, repeat
from operator import itemgetter

from sortedcontainers import SortedList

from streamiter.merge.lane import Bound, Lane
from streamiter.position import Place
from streamiter.record import Record
from streamiter.shard import Rank

Key = tuple[int, Rank, Place]  # law 4: order time, rank, place

_EVERYTHING: Bound = (1 << 62, ())
_order_time = itemgetter(0)


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
        self._window: list[tuple[int, Lane]] = []
        self._window_lanes: list[Lane] = []
        self._at = 0  # how much of the window came out

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
        if self._at < len(self._window) and self._disturbs(lane):
            self._drop_window()
        self._place_bound(lane)
        self._place_head(lane)

    def release(self, shard_id: str) -> None:
        """The shard holds the others no longer; what waits in it still comes out in order."""
        bound = self._bound_of.pop(shard_id, None)
        if bound is not None:
            self._bounds.remove((bound, shard_id))
        if shard_id in self._lanes and self._lanes[shard_id].is_drained:
            self._remove(shard_id)

    # -- records out

    def peek(self) -> Record | None:
        """The record that comes next, without taking it; None while the merge waits."""
        if self._at == len(self._window) and not self._open_window():
            return None
        lane = self._window[self._at][1]
        return lane.records[lane.head]

    def pop(self) -> Record | None:
        """The record that comes next, with its order stamped on it; None while the merge waits."""
        if self._at == len(self._window) and not self._open_window():
            return None
        time_us, lane = self._window[self._at]
        self._at += 1
        head = lane.head
        record = lane.records[head]
        place = lane.places[head]
        self.clock += 1
        record.order_us = time_us
        record.rank = lane.rank
        record.place = place
        record.clock = self.clock
        key = (time_us, lane.rank, place)
        if self.high is None or key > self.high:
            self.high = key
        else:
            record.late = True
            self.late += 1
        lane.advance()
        if self._at == len(self._window):
            self._drop_window()
        return record

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
        if self._at < len(self._window) or not self._heads:
            return None
        return int(self._heads[0][0])

    @property
    def least_bound(self) -> tuple[Bound, str] | None:
        """The least bound, and whose it is."""
        return self._bounds[0] if self._bounds else None

    def holders(self, time_us: int) -> list[str]:
        """The shards whose bound lies at or before this order time: a record of that time waits for them."""
        return [shard_id for _, shard_id in self._bounds.irange(maximum=((time_us, (chr(0x10FFFF),)), ""))]

    def __contains__(self, shard_id: object) -> bool:
        return shard_id in self._lanes

    def __len__(self) -> int:
        return len(self._lanes)

    # -- the window

    def _open_window(self) -> bool:
        if self.is_blocked or not self._heads:
            return False
        limit = self._limit()
        parts = []
        for head_us, rank in self._heads:
            if (head_us, rank) > limit:
                break
            lane = self._lanes[rank.shard_id]
            parts.append((rank, lane, lane.end_below(limit)))
        parts.sort(key=_order_time)  # by rank
        window: list[tuple[int, Lane]] = []
        for _, lane, end in parts:
            window += zip(lane.times[lane.head : end], repeat(lane))
            self._heads.remove(self._head_of.pop(lane.shard_id))
        if len(parts) > 1:
            window.sort(key=_order_time)
        self._window, self._at = window, 0
        self._window_lanes = [lane for _, lane, _ in parts]
        return bool(window)

    def _limit(self) -> Bound:
        """The greatest (order time, rank) that can come out: what no lane can still give an earlier one than; or late ones."""
        least: Bound = self._bounds[0][0] if self._bounds else _EVERYTHING
        return least if self.high is None else max(least, self.high[:2])

    def _drop_window(self) -> None:
        """The rest of the window goes back to its lanes: it is only a view of what waits in them."""
        lanes, self._window_lanes = self._window_lanes, []
        self._window, self._at = [], 0
        for lane in lanes:
            self._place_head(lane)
            if lane.shard_id not in self._bound_of and lane.is_drained:
                self._remove(lane.shard_id)

    def _disturbs(self, lane: Lane) -> bool:
        """Whether the lane's change may put something before the end of the window."""
        if lane.shard_id not in self._bound_of:
            return False
        bound = self._bound_of[lane.shard_id]
        if bound == _EVERYTHING:  # A lane just opened: it counts from where its first record may stand.
            bound = min(lane.bound, (lane.times[lane.head], lane.rank)) if len(lane) else lane.bound
        bound = min(bound, lane.bound)  # it may have fallen: a tip claimed of a shard that then proved to be closed
        end_us, last = self._window[-1]
        return bound < (end_us, last.rank)

    def _place_head(self, lane: Lane) -> None:
        old = self._head_of.pop(lane.shard_id, None)
        if old is not None:
            self._heads.remove(old)
        if len(lane):
            head = (lane.times[lane.head], lane.rank)
            self._head_of[lane.shard_id] = head
            self._heads.add(head)

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
        for lane in self._lanes.values():
            lane._check()
        assert list(self._bounds) == sorted((bound, shard_id) for shard_id, bound in self._bound_of.items())
        assert list(self._heads) == sorted(self._head_of.values())
        assert all(self._lanes[shard_id].bound == bound for shard_id, bound in self._bound_of.items())
        rest = self._window[self._at :]
        waiting = {lane.shard_id: list(lane.times[lane.head :]) for lane in self._lanes.values()}
        for time_us, lane in rest:
            assert waiting[lane.shard_id].pop(0) == time_us
        assert all((a[0], a[1].rank) <= (b[0], b[1].rank) for a, b in pairwise(rest))
        if rest:
            assert (rest[-1][0], rest[-1][1].rank) <= self._limit()
        else:
            heads = {lane.shard_id: (lane.times[lane.head], lane.rank) for lane in self._lanes.values() if len(lane)}
            assert self._head_of == heads
