"""Opening: which shards may be read by now, and what their lanes begin with; until that is clear of all, nothing comes out."""

from __future__ import annotations

from collections.abc import Iterable

from streamiter.lineage import Discovery, Lineage
from streamiter.merge import Lane, Merge
from streamiter.position import AtTime, Horizon
from streamiter.stream.admission import Admission
from streamiter.stream.floors import Floors
from streamiter.stream.frontier import Frontier
from streamiter.stream.handover import Handover
from streamiter.stream.resume import latest_us
from streamiter.stream.retention import Retention
from streamiter.stream.start import Start
from streamiter.token import Token


class Opening:
    """Opens what the frontier lets, and blocks the merge while of any shard it is not clear what it follows."""

    def __init__(
        self,
        token: Token,
        lineage: Lineage,
        merge: Merge,
        frontier: Frontier,
        floors: Floors,
        discovery: Discovery,
        retention: Retention,
        admission: Admission,
        *,
        handover: Handover | None,
        lateness_us: int | None,
    ) -> None:
        self._start = Start(token.start)
        self._passes_closed = token.closed_are_read
        self._lineage = lineage
        self._merge = merge
        self._frontier = frontier
        self._floors = floors
        self._discovery = discovery
        self._retention = retention
        self._admission = admission
        self._handover = handover
        self._lateness_us = lateness_us
        self._sleeping: dict[str, Lane] = {}

    def sleep(self, lane: Lane) -> None:
        """A lane of the token: it is woken as soon as it may be read."""
        self._frontier.asleep.add(lane.shard_id)
        self._sleeping[lane.shard_id] = lane

    def open_all(self, now_us: int) -> None:
        """Opens all that may be opened."""
        if self._discovery.is_whole:
            for shard_id in sorted(self._frontier.asleep, key=self._lineage.rank):
                self._wake(self._sleeping[shard_id], now_us)
            self._open_ready(list(self._frontier.unread), now_us)
        self._block()

    def open_below(self, shard_id: str, now_us: int) -> None:
        """A shard was read to its end: opens what that lets."""
        if self._frontier.asleep:
            self.open_all(now_us)
        else:
            self._open_ready(self._lineage.children(shard_id), now_us)
            self._block()

    def _block(self) -> None:
        """While of any shard it is not clear what it follows, any record may belong after one of its own."""
        self._merge.is_blocked = not self._discovery.is_whole or bool(self._frontier.unsure)

    def _open_ready(self, shard_ids: Iterable[str], now_us: int) -> None:
        frontier = self._frontier
        for shard_id in shard_ids:
            if shard_id not in frontier.unread or not frontier.is_ready(shard_id):
                frontier.unsure.discard(shard_id)  # what it lacked has turned up: it waits below that like any other
            elif self._is_clear(shard_id, now_us):
                self._open(shard_id, now_us)
            else:
                frontier.unsure.add(shard_id)

    def _is_clear(self, shard_id: str, now_us: int) -> bool:
        """Whether it is known what the shard follows, and from which order time on."""
        if not self._discovery.is_whole:
            return False
        if not self._frontier.is_connected(shard_id) and not self._discovery.is_confirmed(shard_id):
            return False
        return not self._floors.seek(shard_id, now_us)

    def _wake(self, lane: Lane, now_us: int) -> None:
        """Opens a lane of the token, once its parents are read to their end and its floor is known."""
        shard_id, service_us = lane.shard_id, self._retention.service_us
        if not self._frontier.is_ready(shard_id):
            return
        if lane.unresolved and self._floors.seek(shard_id, now_us):
            self._frontier.unsure.add(shard_id)
            return
        if lane.latest and service_us is not None:
            lane.restart(AtTime(latest_us(service_us, self._lateness_us), service_us))
        is_unresolved = lane.unresolved or self._floors.is_unresolved_above(shard_id)
        lane.raise_floor(self._floors.floor(shard_id))
        lane.unresolved = self._handover is not None and is_unresolved
        if lane.unresolved and not self._is_handed(shard_id):
            lane.skip_before_us = None  # Whether its oldest records belong to what was asked for, others know.
        self._frontier.open(shard_id)
        del self._sleeping[shard_id]
        lane.rank = self._lineage.rank(shard_id)
        if self._lineage[shard_id].closed:
            lane.close()
        self._admission.admit(lane, now_us)

    def _open(self, shard_id: str, now_us: int) -> None:
        """Opens an unread shard."""
        self._frontier.open(shard_id)
        if self._passes_closed and self._lineage[shard_id].closed and not self._frontier.is_linked(shard_id):
            self._frontier.count_as_read(shard_id)
            self._open_ready(self._lineage.children(shard_id), now_us)
            return
        lane = self._start.lane(
            shard_id,
            self._lineage.rank(shard_id),
            self._floors.floor(shard_id),
            self._floors.begins_us(shard_id),
            closed=self._lineage[shard_id].closed,
            lateness_us=self._lateness_us or 0,
        )
        if self._handover is not None and self._floors.is_lost_above(shard_id):
            lane.unresolved = True
            if not self._is_handed(shard_id):
                # Whether its oldest records belong to what was asked for, only those know who read its ancestors.
                lane.start, lane.skip_before_us, lane.idle_us = Horizon(lane.opened_us), None, None
        self._admission.admit(lane, now_us)

    def _is_handed(self, shard_id: str) -> bool:
        """Whether somebody else reads the shard."""
        return self._handover is not None and self._handover.takes(shard_id)
