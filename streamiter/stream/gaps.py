"""Gaps: shards of which the records that come next may be lost; each stands until it is accepted (law 5)."""

from __future__ import annotations

from collections.abc import Mapping

from streamiter.lineage import Lineage
from streamiter.merge import Lane, Merge
from streamiter.position import AtTime, Horizon
from streamiter.stream.retention import Retention
from streamiter.stream.schedule import Schedule

TOO_OLD = "its start is older than what the service holds"
TRIMMED = "the service has trimmed what comes next"
REMOVED = "the service has removed the shard"
CHILDREN_MISSED = "no child of it was listed in all the time that the service holds records"


class Gaps:
    """Where a gap stands, its lane is not asked. With `holds=False` (`lateness=None`) no lane waits for another's."""

    def __init__(
        self,
        lineage: Lineage,
        lanes: Mapping[str, Lane],
        merge: Merge,
        schedule: Schedule,
        retention: Retention,
        *,
        holds: bool,
    ) -> None:
        self.accepted = 0
        self._lineage = lineage
        self._lanes = lanes
        self._merge = merge
        self._schedule = schedule
        self._retention = retention
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

    def stand_if_stale(self, lane: Lane) -> bool:
        """A gap stands where opening the lane would hide one; gives whether it does."""
        is_stale = self._retention.is_stale(lane.fetch_position)
        if is_stale:
            self.stand(lane, TOO_OLD)
        return is_stale

    def stand_if_trimmed(self, lane: Lane) -> bool:
        """The service does not hold the lane's place any more: a gap stands, but where nothing can be lost."""
        position = lane.fetch_position
        if isinstance(position, Horizon | AtTime) and not self._retention.is_stale(position):
            lane.reopen()
            return False  # Nothing was read of it yet, and its start is held still: the horizon only moved on.
        if self._was_idle(lane):
            assert lane.idle_us is not None
            # All up to its tip was read, minutes ago at most; only the last record is old.
            lane.resume_at(AtTime(lane.idle_us, self._retention.service_us))
            self._merge.update(lane)
            return False
        self.stand(lane, TRIMMED)
        return True

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

    def _was_idle(self, lane: Lane) -> bool:
        """Whether all up to a tip that is held still was returned, and nothing after it was."""
        if len(lane) or lane.idle_us is None or self._retention.is_stale(AtTime(lane.idle_us)):
            return False
        return lane.emitted_us is None or lane.emitted_us < lane.idle_us

    def _is_first_below(self, shard_id: str) -> bool:
        """Whether all its ancestors were returned whole."""
        above = (self._lanes.get(ancestor) for ancestor in self._lineage.ancestors(shard_id))
        return all(lane is None or lane.is_drained for lane in above)
