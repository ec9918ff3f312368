"""Ends: a lane was read to its end, is passed over, or counts as read elsewhere: what is below it may then be opened."""

from __future__ import annotations

from streamiter.lineage import Discovery
from streamiter.merge import Lane, Merge
from streamiter.stream.frontier import Frontier
from streamiter.stream.ghosts import Ghosts
from streamiter.stream.handover import Handover
from streamiter.stream.opening import Opening
from streamiter.stream.retention import Retention
from streamiter.stream.schedule import Schedule


class Ends:
    """Follows the ends of lanes down the lineage."""

    def __init__(
        self,
        merge: Merge,
        discovery: Discovery,
        schedule: Schedule,
        frontier: Frontier,
        retention: Retention,
        ghosts: Ghosts,
        opening: Opening,
        handover: Handover | None,
    ) -> None:
        self._merge = merge
        self._discovery = discovery
        self._schedule = schedule
        self._frontier = frontier
        self._retention = retention
        self._ghosts = ghosts
        self._opening = opening
        self._handover = handover

    def ended(self, lane: Lane, now_us: int) -> None:
        """The lane was read to its end."""
        if lane.shard_id in self._ghosts:
            self._opening.open_all(now_us)
            return
        self._frontier.passed.add(lane.shard_id)
        self._discovery.ended(lane.shard_id, now_us, gone=lane.is_gone)
        self._opening.open_below(lane.shard_id, now_us)

    def end_ghost(self, shard_id: str, now_us: int) -> None:
        """The service holds no more of a ghost: what was seen of it must do."""
        self._ghosts.end(shard_id)
        self._opening.open_all(now_us)

    def pass_over(self, lane: Lane, now_us: int) -> None:
        """The lane counts as read to its end, without what was not fetched of it."""
        lane.push([], self._retention.service_us or 0, ended=True)
        self._schedule.drop(lane.shard_id)
        self._merge.update(lane)
        self.ended(lane, now_us)

    def pass_handed(self, now_us: int) -> None:
        """What is handed over counts as read here; what is below it may be opened, and handed over in turn."""
        while self._handover is not None and (lane := self._handover.next()) is not None:
            self.pass_over(lane, now_us)
