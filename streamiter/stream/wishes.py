"""Wishes: which lanes are to be asked now, in which order, and when the shards are to be listed next."""

from __future__ import annotations

from heapq import nsmallest

from streamiter.lineage import GATHER_US, HELD_GATHER_US, Discovery
from streamiter.merge import Lane, Merge
from streamiter.stream.schedule import Schedule


class Wishes:
    """What a reading wants to be called for. It only says so: whoever drives the reading makes the calls."""

    def __init__(self, lanes: dict[str, Lane], merge: Merge, schedule: Schedule, discovery: Discovery) -> None:
        self._lanes = lanes
        self._merge = merge
        self._schedule = schedule
        self._discovery = discovery

    def lanes(self, now_us: int, most: int) -> list[str]:
        """The lanes to be asked now, at most so many: first the one that holds the merge, then the emptiest."""
        self._schedule.hurry(self._merge, self._lanes, now_us)
        due = self._schedule.due(now_us)
        least = self._merge.least_bound
        holder = least[1] if least is not None else None

        def need(shard_id: str) -> float:
            if shard_id == holder:
                return -2.0
            lane = self._lanes.get(shard_id)
            return -1.0 if lane is None else lane.record_bytes * (len(lane.times) - lane.head)  # its waiting_bytes

        return sorted(due, key=need) if len(due) <= most else nsmallest(most, due, key=need)

    @property
    def listing_due_us(self) -> int | None:
        """When to list next; None while a listing is under way."""
        return self._discovery.due_us(self._gather_us)

    def _gather_us(self) -> int:
        """How long to let more shards end before they are listed: not at all, unless there is something to catch up with."""
        if not self._schedule.is_catching_up(self._lanes):
            return 0
        holder = self._merge.held_by
        return HELD_GATHER_US if holder is not None and self._discovery.is_waiting(holder) else GATHER_US
