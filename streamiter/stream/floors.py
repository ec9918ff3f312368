"""Floors: the order time that a shard's records never sort before, from its parents; read anew where a resume has lost it."""

from __future__ import annotations

from collections.abc import Mapping

from streamiter.lineage import Lineage
from streamiter.merge import Lane
from streamiter.stream.frontier import Frontier
from streamiter.stream.ghosts import Ghosts
from streamiter.stream.retention import Retention
from streamiter.stream.schedule import Schedule
from streamiter.stream.start import Start
from streamiter.token import Token


class Floors:
    """What the lanes above a shard tell of it. With `leaves_to_others`, somebody else finds out what they do not tell."""

    def __init__(
        self,
        token: Token,
        lineage: Lineage,
        lanes: Mapping[str, Lane],
        frontier: Frontier,
        schedule: Schedule,
        retention: Retention,
        *,
        leaves_to_others: bool,
    ) -> None:
        self.ghosts = Ghosts(lineage, schedule)
        self.lost: set[str] = set()  # finished before the token was taken, with a last order time that it does not know
        self._start = Start(token.start)
        self._lineage = lineage
        self._lanes = lanes
        self._frontier = frontier
        self._retention = retention
        self._knows_none = token.closed_are_read  # Bloop knew no floors
        # And a first reading has read nothing before.
        self._seeks = not (token.closed_are_read or token.fresh or leaves_to_others)

    def floor(self, shard_id: str) -> int | None:
        """The last order time of its parents."""
        return max((lane.last_us for lane in self.above(shard_id) if lane.last_us is not None), default=None)

    def begins_us(self, shard_id: str) -> int | None:
        """From when on it may hold records: since its parents', as far as they tell; now, where it has none."""
        begins = [us for lane in self.above(shard_id) if (us := self._followed_us(lane)) is not None]
        return max(begins, default=self._retention.service_us)

    def _followed_us(self, lane: Lane) -> int | None:
        """From when on the lane's children may hold records that were held when it was read."""
        followed_us = lane.followed_us
        for known_us in (lane.told_us, lane.opened_us):
            if followed_us is not None and known_us is not None and followed_us < known_us - self._retention.held_us:
                # That was older than the service holds, by its word, when it was read or asked for. What it held all the same,
                # any moment may end: what was the horizon then is the start.
                followed_us = known_us
        return followed_us

    def above(self, shard_id: str) -> list[Lane]:
        """The lanes of its parents, ghosts too."""
        parents = self._lineage.parents(shard_id)
        lanes = [found.get(parent) for parent in parents for found in (self._lanes, self.ghosts)]
        return [lane for lane in lanes if lane is not None]

    def is_lost_above(self, shard_id: str) -> bool:
        """Whether somebody else reads, or has read, ancestors whose order times may be above its own."""
        is_lost = not self._knows_none and not self._frontier.read.isdisjoint(self._lineage.parents(shard_id))
        return is_lost or self.is_unresolved_above(shard_id)

    def is_unresolved_above(self, shard_id: str) -> bool:
        """Whether the last order time of a parent is not known."""
        return any(lane.unresolved for lane in self.above(shard_id))

    def lost_above(self, shard_id: str, handed: set[str]) -> list[str]:
        """The ancestors that others read (`handed`), or that were read before; the nearest first."""
        above = self._lineage.ancestors(shard_id) & (self._frontier.read | self.lost | handed)
        return sorted(above, key=lambda ancestor: self._lineage.rank(ancestor).depth, reverse=True)

    def seek(self, shard_id: str, now_us: int) -> bool:
        """Has ancestors read anew whose order times a resume has lost; gives whether that is still under way."""
        if not self._seeks:
            return False
        read = self._frontier.read | self.lost if self.lost else self._frontier.read
        return self.ghosts.seek(shard_id, read, self._make_ghost, now_us)

    def _make_ghost(self, shard_id: str) -> Lane:
        rank = self._lineage.rank(shard_id)
        return self._start.lane(shard_id, rank, self.floor(shard_id), self._retention.service_us, closed=True)
