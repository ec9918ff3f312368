"""Gaps: shards of which the records that come next may be lost; each stands until it is accepted (law 5)."""

from __future__ import annotations

from collections.abc import Mapping

from streamiter.lineage import Lineage
from streamiter.merge import Lane, Merge
from streamiter.stream.schedule import Schedule

TOO_OLD = "its start is older than what the service holds"
TRIMMED = "the service has trimmed what comes next"
REMOVED = "the service has removed the shard"
CHILDREN_MISSED = "no child of it was listed in all the time that the service holds records"


class Gaps:
    """Where a gap stands, its lane is not asked. With `holds=False` (`lateness=None`) no lane waits for another's."""

    def __init__(
        self, lineage: Lineage, lanes: Mapping[str, Lane], merge: Merge, schedule: Schedule, *, holds: bool
    ) -> None:
        self.accepted = 0
        self._lineage = lineage
        self._lanes = lanes
        self._merge = merge
        self._schedule = schedule
        self._holds = holds
        self._standing: set[str] = set()

    def __len__(self) -> int:
        """How many stand."""
        return len(self._standing)

    def __contains__(self, shard_id: object) -> bool:
        return shard_id in self._standing

    def stand(self, lane: Lane, reason: str) -> None:
        """Records of the lane that come next may be lost."""
        lane.gap = reason
        self._standing.add(lane.shard_id)
        self._schedule.drop(lane.shard_id)

    def accept(self, shard_id: str) -> None:
        """The gap is gone past."""
        self.accepted += 1
        self._standing.discard(shard_id)

    @property
    def next(self) -> Lane | None:
        """The lane whose gap stands before everything that could come out next; None where records come first."""
        if not self._standing:
            return None
        standing = [lane for shard_id in sorted(self._standing) if not len(lane := self._lanes[shard_id])]
        if not standing or self._merge.is_blocked:
            return None
        if not self._holds:
            return next((lane for lane in standing if self._is_first_below(lane.shard_id)), None)
        least = self._merge.least_bound
        if least is None or self._merge.peek() is not None:
            return None
        return next((lane for lane in standing if lane.shard_id == least[1]), None)

    def _is_first_below(self, shard_id: str) -> bool:
        """Whether all its ancestors were returned whole."""
        above = (self._lanes.get(ancestor) for ancestor in self._lineage.ancestors(shard_id))
        return all(lane is None or lane.is_drained for lane in above)
