"""Probes: without AT_TIMESTAMP, whole shards are passed over when the first record of a child shows that they are old.

A shard's records were written before its child existed. So where the child's first record is far older than the time
that is sought, by more than clocks can disagree, nothing in the parent can be asked for, and it need not be read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from streamiter.clock import SECOND_US, floor_second
from streamiter.lineage import Lineage
from streamiter.merge import NEVER, Lane
from streamiter.position import AtTime, Horizon, Position
from streamiter.record import Record
from streamiter.stream.schedule import Schedule

SKEW_US = 3600 * SECOND_US  # how far creation times may disagree between a shard and its child, far above what is seen
MOST_EMPTIES = 16  # empty pages of a child before its parent is read after all


class Verdict(NamedTuple):
    """What a probe showed."""

    parents: Collection[str]
    are_old: bool


class Probes:
    """Shards of which only the first record is asked for."""

    def __init__(self, lineage: Lineage, schedule: Schedule) -> None:
        self._lineage = lineage
        self._schedule = schedule
        self._lanes: dict[str, Lane] = {}
        self._parents: dict[str, set[str]] = {}
        self._judged: set[str] = set()
        self._refuses_time = False

    def __contains__(self, shard_id: object) -> bool:
        return shard_id in self._lanes

    def get(self, shard_id: str) -> Lane | None:
        """The lane of a probe."""
        return self._lanes.get(shard_id)

    def refuse_time(self) -> None:
        """The service cannot open shards at a time: they are read from their horizon, and what is older is left out."""
        self._refuses_time = True

    def position(self, lane: Lane, unread: Collection[str], service_us: int | None) -> Position | None:
        """Where the lane is to be opened, as the service can do it; None where it waits for a probe."""
        position = lane.fetch_position
        if not isinstance(position, AtTime):
            return position
        if self._refuses_time:
            return None if self._begin(lane, unread) else Horizon(position.opened_us)
        if service_us is not None and position.time_us > service_us:
            # The service refuses a time in the future; what is older than the lane's start is left out anyway.
            return AtTime(floor_second(service_us), position.opened_us)
        return position

    def _begin(self, lane: Lane, unread: Collection[str]) -> bool:
        """Whether a child's first record is being looked at, and the lane waits for it."""
        children = self._lineage.children(lane.shard_id)
        if not (lane.closed and children) or lane.skip_before_us is None or lane.last_us is not None:
            return False
        if lane.shard_id in self._judged or any(child not in unread for child in children):
            return False
        probe = children[0]
        self._parents.setdefault(probe, set()).add(lane.shard_id)
        self._schedule.drop(lane.shard_id)
        if probe not in self._lanes:
            self._lanes[probe] = Lane(probe, self._lineage.rank(probe), Horizon(), closed=True)
            self._schedule.at(probe, NEVER)  # at once
        return True

    def judge(
        self, probe: str, records: Sequence[Record], start_us: int | None, now_us: int, *, ended: bool
    ) -> Verdict | None:
        """A page of a probe; None while more of it must be seen."""
        lane = self._lanes[probe]
        if not records and not ended and lane.empties < MOST_EMPTIES:
            lane.push(records, lane.service_us)
            self._schedule.at(probe, now_us)
            return None
        del self._lanes[probe]
        self._schedule.drop(probe)
        parents = self._parents.pop(probe)
        self._judged |= parents
        created_us = records[0].created_us if records else None
        return Verdict(parents, created_us is not None and start_us is not None and created_us < start_us - SKEW_US)
