"""Bounds: how far each lane that holds the others is known; records up to the least of these can come out (law 7)."""

from __future__ import annotations

from sortedcontainers import SortedList

from streamiter.merge.lane import Bound, Lane
from streamiter.shard import FIRST, LAST

EVERYTHING: Bound = (1 << 62, FIRST)


class Bounds:
    """The lanes' bounds, kept sorted. A lane without a bound does not hold the others."""

    def __init__(self) -> None:
        self._sorted: SortedList[tuple[Bound, str]] = SortedList()
        self._of: dict[str, Bound] = {}

    def __contains__(self, shard_id: object) -> bool:
        return shard_id in self._of

    def __len__(self) -> int:
        return len(self._of)

    def __getitem__(self, shard_id: str) -> Bound:
        return self._of[shard_id]

    def open(self, shard_id: str) -> None:
        """The lane holds the others, as soon as `place` tells its bound."""
        self._of[shard_id] = EVERYTHING
        self._sorted.add((EVERYTHING, shard_id))

    def place(self, lane: Lane) -> None:
        """The lane changed: updates its bound."""
        old = self._of.get(lane.shard_id)
        if old is not None and old != (bound := lane.bound):
            self._sorted.remove((old, lane.shard_id))
            self._of[lane.shard_id] = bound
            self._sorted.add((bound, lane.shard_id))

    def drop(self, shard_id: str) -> None:
        """The lane holds the others no longer."""
        bound = self._of.pop(shard_id, None)
        if bound is not None:
            self._sorted.remove((bound, shard_id))

    @property
    def first(self) -> tuple[Bound, str] | None:
        """The least bound, and the shard that has it."""
        return self._sorted[0] if self._sorted else None

    @property
    def least(self) -> Bound:
        """The least bound: every record at or below it has been fetched."""
        return self._sorted[0][0] if self._sorted else EVERYTHING

    def at_or_before(self, time_us: int) -> list[str]:
        """The shards whose bound lies at or before this order time."""
        return [shard_id for _, shard_id in self._sorted.irange(maximum=((time_us, LAST), ""))]

    def _check(self, lanes: dict[str, Lane]) -> None:
        """Raises AssertionError where the bounds contradict themselves or the lanes."""
        assert list(self._sorted) == sorted((bound, shard_id) for shard_id, bound in self._of.items())
        assert all(lanes[shard_id].bound == bound for shard_id, bound in self._of.items())
