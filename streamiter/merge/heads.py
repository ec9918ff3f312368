"""Heads: the sort key of each lane's first waiting record, which tells the lanes that have records for the next window."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sortedcontainers import SortedList

from streamiter.merge.lane import Bound, Lane
from streamiter.shard import Rank

Head = tuple[int, Rank]  # the order time of the record, and the rank of its shard


def head_of(lane: Lane) -> Head:
    """The sort key of the lane's first waiting record; the lane must hold one."""
    return lane.times[lane.head], lane.rank


class Heads:
    """The lanes' heads, kept sorted. A lane has no head while it is empty, or while its records are in a window."""

    def __init__(self) -> None:
        self._sorted: SortedList[Head] = SortedList()
        self._of: dict[str, Head] = {}

    def __bool__(self) -> bool:
        return bool(self._of)

    @property
    def least_us(self) -> int | None:
        """The order time of the first waiting record of all lanes."""
        return int(self._sorted[0][0]) if self._sorted else None

    @property
    def first(self) -> Head | None:
        """The sort key of the first waiting record of all lanes."""
        return self._sorted[0] if self._sorted else None

    def up_to(self, bound: Bound) -> Iterator[str]:
        """The shards whose heads lie at or below a bound."""
        return (rank.shard_id for _, rank in self._sorted.irange(maximum=bound))

    def place(self, lane: Lane) -> None:
        """The lane changed: updates its head."""
        self.drop(lane.shard_id)
        if len(lane):
            head = self._of[lane.shard_id] = head_of(lane)
            self._sorted.add(head)

    def place_all(self, lanes: Collection[Lane]) -> None:
        """As `place`, for many lanes."""
        # A few lanes are placed one by one; for many it is cheaper to sort anew.
        if len(lanes) * 8 < len(self._sorted):
            for lane in lanes:
                self.place(lane)
            return
        for lane in lanes:
            self._of.pop(lane.shard_id, None)
            if len(lane):
                self._of[lane.shard_id] = head_of(lane)
        self._sorted = SortedList(self._of.values())

    def drop(self, shard_id: str) -> None:
        """The lane is gone, or holds no record."""
        head = self._of.pop(shard_id, None)
        if head is not None:
            self._sorted.remove(head)

    def _check(self, lanes: Iterable[Lane]) -> None:
        """Raises AssertionError where the heads contradict themselves, or these lanes."""
        assert list(self._sorted) == sorted(self._of.values())
        assert all(self._of.get(lane.shard_id) == (head_of(lane) if len(lane) else None) for lane in lanes)
