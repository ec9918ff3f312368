"""Admission: a lane that is to be read is taken into the merge, and is then asked here, or handed to somebody else."""

from __future__ import annotations

from streamiter.lineage import Lineage
from streamiter.merge import Lane, Merge
from streamiter.stream.gaps import Gaps
from streamiter.stream.handover import Handover
from streamiter.stream.schedule import Schedule


class Admission:
    """Lets lanes in. Without a handover all of them are asked here."""

    def __init__(
        self,
        lineage: Lineage,
        lanes: dict[str, Lane],
        merge: Merge,
        schedule: Schedule,
        gaps: Gaps,
        handover: Handover | None,
    ) -> None:
        self._lineage = lineage
        self._lanes = lanes
        self._merge = merge
        self._schedule = schedule
        self._gaps = gaps
        self._handover = handover

    def admit(self, lane: Lane, now_us: int) -> None:
        """The lane is read from now on."""
        self._lanes[lane.shard_id] = lane
        self._lineage.fix_rank(lane.shard_id, lane.rank)
        self._merge.open(lane)
        self.go_on(lane, now_us)

    def go_on(self, lane: Lane, now_us: int) -> None:
        """The lane is read from where it stands, by whoever is to read it."""
        if self._handover is None or not self._handover.takes(lane.shard_id):
            self._schedule.at(lane.shard_id, now_us)
        elif not self._gaps.stand_if_stale(lane):
            self._handover.add(lane)
