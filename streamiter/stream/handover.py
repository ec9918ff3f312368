"""Handing over: closed shards that somebody else reads, side by side; they count as read as soon as they are taken.

Spark's planner reads on with the shards that are open, and leaves those that are closed to its executors. How high the order
times of these rise, it never learns: what is below them has an *unresolved* floor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from streamiter.lineage import Lineage
from streamiter.merge import Lane
from streamiter.position import After, Position
from streamiter.shard import Rank


class Handed(NamedTuple):
    """A closed shard, or the rest of it, to be read to its end."""

    shard_id: str
    rank: Rank
    start: Position
    floor_us: int | None  # as far as it is known here
    is_unresolved: bool  # whether ancestors may raise the floor
    since_us: int | None  # what is older than this order time is not asked for
    idle_us: int | None  # all up to this time was read, though its last record may not be held any more


class Handover:
    """The shards that wait to be taken. Nobody may have them before their ancestors were returned whole (law 2)."""

    def __init__(self, lineage: Lineage) -> None:
        self.shards: set[str] = set()  # all that were ever handed over
        self._lineage = lineage
        self._new: deque[Lane] = deque()
        self._waiting: list[Handed] = []

    def takes(self, shard_id: str) -> bool:
        """Whether the shard is closed: as listings say, or as its children tell."""
        return self._lineage[shard_id].closed or bool(self._lineage.children(shard_id))

    def add(self, lane: Lane) -> None:
        """The lane is not to be fetched here."""
        floor_us, since_us = lane.emitted_us, lane.skip_before_us
        is_idle = lane.idle_us is not None and (floor_us is None or floor_us < lane.idle_us)
        idle_us = lane.idle_us if is_idle else None
        handed = Handed(lane.shard_id, lane.rank, lane.fetch_position, floor_us, lane.unresolved, since_us, idle_us)
        self.shards.add(lane.shard_id)
        self._waiting.append(handed)
        lane.unresolved = True  # its last order time is not known here
        self._new.append(lane)

    def next(self) -> Lane | None:
        """The next lane that is to count as read."""
        return self._new.popleft() if self._new else None

    def take(self, lanes: Mapping[str, Lane]) -> list[Handed]:
        """Those whose ancestors were returned whole."""
        if not self._waiting:
            return []
        found: list[Handed] = []
        waiting: list[Handed] = []
        for handed in self._waiting:
            (found if self._is_next(handed, lanes) else waiting).append(handed)
        self._waiting = waiting
        return found

    def _is_next(self, handed: Handed, lanes: Mapping[str, Lane]) -> bool:
        if isinstance(handed.start, After):
            return True  # It was begun with before: tokens count it as read from now on.
        above = (lanes.get(ancestor) for ancestor in self._lineage.ancestors(handed.shard_id))
        return all(lane is None or lane.is_drained for lane in above)
