"""Heads: the sort key of each lane's first waiting record, which tells the lanes that have records for the next window."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sortedcontainers import SortedList

from streamiter.merge.lane import Bound, Lane
from streamiter.shard import Rank

Head = tuple[int, Rank]  # the order time of the record, and the rank of its shard


def head_of(lane: Lane) -> Head:
    """The sort key of the lane's first waiting record; the lane must hold one."""
    return lane.times[lane.head], lane.rank


LOOKS = 16  # questions that are answered without sorting, before the heads are sorted


class Heads:
    """The lanes' heads. A lane has no head while it is empty, or while its records are in a window.

    They are kept sorted while few change at a time. A window changes those of all its lanes at once, and then there are a
    question or two before the next window: to look through the heads costs less for each of these than to sort them would.
    """

    def __init__(self) -> None:
        self._sorted: SortedList[Head] | None = SortedList()  # None: many have changed since they were sorted
        self._looks = 0  # questions since then
        self._least: Head | None = None  # the answer to the last one, as long as no head changes
        self._of: dict[str, Head] = {}

    def __bool__(self) -> bool:
        return bool(self._of)

    @property
    def least_us(self) -> int | None:
        """The order time of the first waiting record of all lanes."""
        first = self.first
        return None if first is None else int(first[0])

    @property
    def first(self) -> Head | None:
        """The sort key of the first waiting record of all lanes."""
        if not self._of:
            return None
        if self._least is None:
            heads = self._sorted_by_now()
            self._least = min(self._of.values()) if heads is None else heads[0]
        return self._least

    def up_to(self, bound: Bound) -> Iterable[str]:
        """The shards whose heads lie at or below a bound."""
        heads = self._sorted_by_now()
        if heads is None:
            return [shard_id for shard_id, head in self._of.items() if head <= bound]
        return (rank.shard_id for _, rank in heads.irange(maximum=bound))

    def place(self, lane: Lane) -> None:
        """The lane changed: updates its head."""
        self.drop(lane.shard_id)
        if len(lane):
            head = self._of[lane.shard_id] = head_of(lane)
            if self._sorted is not None:
                self._sorted.add(head)

    def place_all(self, lanes: Collection[Lane]) -> None:
        """As `place`, for many lanes."""
        if len(lanes) * 8 < len(self._of):
            for lane in lanes:
                self.place(lane)
            return
        self._sorted, self._looks, self._least = None, 0, None
        for lane in lanes:
            if lane.head < len(lane.times):
                self._of[lane.shard_id] = lane.times[lane.head], lane.rank
            else:
                self._of.pop(lane.shard_id, None)

    def drop(self, shard_id: str) -> None:
        """The lane is gone, or holds no record."""
        self._least = None
        head = self._of.pop(shard_id, None)
        if head is not None and self._sorted is not None:
            self._sorted.remove(head)

    def _sorted_by_now(self) -> SortedList[Head] | None:
        """The heads, sorted; None where it is cheaper to look through them."""
        if self._sorted is None:
            self._looks += 1
            if self._looks > LOOKS:
                self._sorted = SortedList(self._of.values())
        return self._sorted

    def _check(self, lanes: Iterable[Lane]) -> None:
        """Raises AssertionError where the heads contradict themselves, or these lanes."""
        assert self._sorted is None or list(self._sorted) == sorted(self._of.values())
        assert self._least is None or self._least == min(self._of.values())
        assert all(self._of.get(lane.shard_id) == (head_of(lane) if len(lane) else None) for lane in lanes)
