"""Marks: a moment, to find out when all was returned that the service held then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamiter.clock import SECOND_US
from streamiter.lineage import Discovery
from streamiter.merge import Lane, Merge
from streamiter.merge.lane import BEHIND_US
from streamiter.stream.frontier import Frontier
from streamiter.stream.retention import Retention
from streamiter.stream.schedule import Schedule

# Beyond `lateness`, how far creation times may run ahead of the service's clock: as far as a lane may be that is not behind,
# and the second to which they are floored. A mark does not rely on clocks that are further ahead.
AHEAD_US = BEHIND_US + SECOND_US


@dataclass(slots=True)
class Mark:
    """A moment, and what is known of it by now."""

    serial: int  # how many calls had been made
    ticket: int  # the newest listing that had begun
    service_us: int | None = None  # a moment after it, by the service's clock
    goals: dict[str, int] | None = None  # how many records each lane is to have given, once that is known

    def is_before(self, lane: Lane, lateness_us: int) -> bool:
        """Whether what was fetched last of a lane is so new that it was written after the mark.

        A shard that is written to all the time may never have an empty page. Then only creation times tell; one that is far
        ahead of the service's clock tells nothing about how far the lane has come.
        """
        ahead_us = AHEAD_US + lateness_us
        newest_us = lane.newest_us
        return newest_us is not None and (self.service_us or 0) + ahead_us < newest_us <= lane.service_us + ahead_us

    def aim(self, lanes: Mapping[str, Lane]) -> None:
        """Everything that was held is fetched: what waits by now is to be returned."""
        self.goals = {lane.shard_id: lane.given + len(lane) for lane in lanes.values() if len(lane)}

    def is_met(self, lanes: Mapping[str, Lane]) -> bool:
        """Whether all of that was returned."""
        found = ((lanes.get(shard_id), goal) for shard_id, goal in (self.goals or {}).items())
        return all(lane is None or lane.given >= goal for lane, goal in found)


class Marks:
    """Finds out whether all that the service held at a mark was fetched, and then whether it was returned."""

    def __init__(
        self,
        lanes: Mapping[str, Lane],
        merge: Merge,
        frontier: Frontier,
        discovery: Discovery,
        schedule: Schedule,
        retention: Retention,
        *,
        lateness_us: int,
    ) -> None:
        self._lanes = lanes
        self._merge = merge
        self._frontier = frontier
        self._discovery = discovery
        self._schedule = schedule
        self._retention = retention
        self._lateness_us = lateness_us

    def begin(self, now_us: int) -> Mark:
        """A mark of this moment: every lane is asked, the shards are listed."""
        self._schedule.hasten(now_us)
        self._discovery.request()
        return Mark(self._schedule.serial, self._discovery.begun)

    def is_past(self, mark: Mark) -> bool:
        """Whether everything that the service held at the mark was returned."""
        if mark.goals is None:
            if not self._is_fetched(mark):
                return False
            mark.aim(self._lanes)
        return mark.is_met(self._lanes)

    def _is_fetched(self, mark: Mark) -> bool:
        """Whether each lane has come to its tip or its end, and the shards were listed, since the mark was set."""
        discovery = self._discovery
        if self._merge.is_blocked or self._frontier.asleep or not discovery.has_heard_since(mark.ticket):
            return False
        if mark.service_us is None:
            mark.service_us = self._retention.service_us
        lanes = self._lanes.values()
        return not discovery.is_searching and all(lane.ended or self._is_beyond(lane, mark) for lane in lanes)

    def _is_beyond(self, lane: Lane, mark: Mark) -> bool:
        """Whether all of the lane that was held at the mark was fetched: it came to its tip, or to what is newer."""
        if lane.is_at_tip and self._schedule.was_answered_since(lane.shard_id, mark.serial):
            return True
        return mark.is_before(lane, self._lateness_us)
