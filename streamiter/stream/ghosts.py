"""Ghosts: shards read anew after a resume, without returning records, only to learn the floor of a shard below them.

A token keeps the floors of its lanes and of their parents. It lacks those of ancestors further up, below which a shard
turned up late, and those that Spark left unresolved. Their last order times are found by reading them again.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from streamiter.lineage import Lineage
from streamiter.merge import Lane
from streamiter.stream.schedule import Schedule


class Ghosts:
    """The lanes of shards that count as read, while their order times are found out."""

    def __init__(self, lineage: Lineage, schedule: Schedule) -> None:
        self._lineage = lineage
        self._schedule = schedule
        self._lanes: dict[str, Lane] = {}

    def __contains__(self, shard_id: object) -> bool:
        return shard_id in self._lanes

    def get(self, shard_id: str) -> Lane | None:
        """The ghost of a shard, ended or not."""
        return self._lanes.get(shard_id)

    def seek(self, shard_id: str, read: Container[str], make: Callable[[str], Lane], now_us: int) -> bool:
        """Has the ancestors read whose order times are not known; gives whether that is still under way."""
        lost = self._lost_above(shard_id, read)
        for above in lost:
            if above not in self._lanes and lost.isdisjoint(self._lineage.parents(above)):
                self._lanes[above] = make(above)
                self._schedule.at(above, now_us)
        return bool(lost)

    def end(self, shard_id: str) -> None:
        """The service holds no more of it: what was seen must do."""
        ghost = self._lanes[shard_id]
        ghost.push([], ghost.service_us, ended=True)
        self._schedule.drop(shard_id)

    def forget(self, shard_id: str) -> None:
        """The service does not list it any more."""
        self._lanes.pop(shard_id, None)

    def _lost_above(self, shard_id: str, read: Container[str]) -> set[str]:
        """The ancestors, up to the next lanes, that were read before the resume and whose last order time is not known."""
        found: set[str] = set()
        pending = [shard_id]
        while pending:
            for parent in self._lineage.parents(pending.pop()):
                ghost = self._lanes.get(parent)
                if parent in read and parent not in found and (ghost is None or not ghost.ended):
                    found.add(parent)
                    pending.append(parent)
        return found
