"""Wishes: which lanes are to be asked now, in which order, and when the shards are to be listed next."""

from __future__ import annotations

from collections.abc import Callable

from streamiter.lineage import GATHER_US, HELD_GATHER_US, Discovery
from streamiter.merge import Lane, Merge
from streamiter.stream.schedule import Schedule

FEW = 64  # lanes that wait for their turn: their order by need is looked at in each ask
ASKS = 16  # of more lanes it is looked at once in so many


class Wishes:
    """What a reading wants to be called for. It only says so: whoever drives the reading makes the calls."""

    def __init__(self, lanes: dict[str, Lane], merge: Merge, schedule: Schedule, discovery: Discovery) -> None:
        self._lanes = lanes
        self._merge = merge
        self._schedule = schedule
        self._discovery = discovery
        self._line: list[str] = []  # lanes that were due when they were last looked at, those that need least first
        self._asks = 0  # since then
        self._given: list[str] = []  # what was wished for last
        self._serial = 0  # calls made by then

    def lanes(self, now_us: int, most: int) -> list[str]:
        """The lanes to be asked now, at most so many: first the one that holds the merge, then the emptiest."""
        self._schedule.hurry(self._merge, self._lanes, now_us)
        if len(self._schedule) <= FEW:
            return sorted(self._schedule.due(now_us), key=self._need())[:most]
        # Of many, their order by need is taken from one look at them for several asks; but for the one that all wait for.
        self._asks += 1
        if self._asks >= ASKS or self._were_refused:
            self._look(now_us)
        found = self._take(now_us, most)
        if len(found) < most and self._asks:  # more may have fallen due since
            self._look(now_us)
            found = self._take(now_us, most)
        self._given, self._serial = found, self._schedule.serial
        return found

    @property
    def _were_refused(self) -> bool:
        """Whether any of the last ones was not asked: the budget had no room, and what follows them in line is fuller still."""
        return any(not self._schedule.was_asked_since(shard_id, self._serial) for shard_id in self._given)

    def _look(self, now_us: int) -> None:
        self._line = sorted(self._schedule.due(now_us), key=self._need(), reverse=True)
        self._asks = 0

    def _take(self, now_us: int, most: int) -> list[str]:
        least = self._merge.least_bound
        found = [least[1]] if least is not None and self._schedule.is_due(least[1], now_us) else []
        while self._line and len(found) < most:
            shard_id = self._line.pop()
            if self._schedule.is_due(shard_id, now_us) and shard_id not in found[:1]:
                found.append(shard_id)
        return found

    def _need(self) -> Callable[[str], float]:
        """How much a lane that is due needs its next page: the less, the more."""
        least = self._merge.least_bound
        holder = least[1] if least is not None else None

        def need(shard_id: str) -> float:
            if shard_id == holder:
                return -2.0
            lane = self._lanes.get(shard_id)
            return -1.0 if lane is None else lane.waiting_bytes  # of those without, nothing waits

        return need

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
