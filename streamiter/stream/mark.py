"""Marks: a moment, to find out when all was returned that the service held then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamiter.clock import SECOND_US
from streamiter.merge import Lane
from streamiter.merge.lane import BEHIND_US

# Beyond `lateness`, how far creation times may run ahead of the service's clock: as far as a lane may be that is not behind,
# and the second to which they are floored. A mark does not rely on clocks that are further ahead.
AHEAD_US = BEHIND_US + SECOND_US


@dataclass(slots=True)
class Mark:
    """Set by `Reading.mark`; `Reading.is_past` looks at it."""

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
