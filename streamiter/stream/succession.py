"""Succession: a shard that ended holds its place until its children are known; they may come late, or come and go unseen."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from streamiter.lineage import Discovery, Lineage
from streamiter.merge import Lane, Merge
from streamiter.stream.frontier import Frontier
from streamiter.stream.gaps import CHILDREN_MISSED, Gaps
from streamiter.stream.ghosts import Ghosts
from streamiter.stream.retention import Retention


class Succession:
    """Follows the listings that come after the ends of shards, until these are listed no more."""

    def __init__(
        self,
        lineage: Lineage,
        lanes: dict[str, Lane],
        merge: Merge,
        discovery: Discovery,
        frontier: Frontier,
        ghosts: Ghosts,
        gaps: Gaps,
        retention: Retention,
    ) -> None:
        self._lineage = lineage
        self._lanes = lanes
        self._merge = merge
        self._discovery = discovery
        self._frontier = frontier
        self._ghosts = ghosts
        self._gaps = gaps
        self._retention = retention

    def settle(self, ticket: int, listed: Collection[str], now_us: int) -> Sequence[str]:
        """A listing lets go of the shards that it shows children of, and of those found to have none, which it gives."""
        fruitful, childless = self._discovery.settle(
            ticket, lambda parent: any(child in listed for child in self._lineage.children(parent)), now_us
        )
        for shard_id in childless:
            self._lanes[shard_id].childless = True
        for shard_id in (*fruitful, *childless):
            self._merge.release(shard_id)
        return childless

    def watch(self, service_us: int, childless: Sequence[str], now_us: int, *, is_final: bool) -> None:
        """Finds shards whose children came and went while nobody looked; `childless`: those just found to have none.

        An ended shard has a child, unless all is final. One listing may lack it: so it is looked for once more.
        """
        for lane in self._lanes.values():
            if lane.ended_us is None or self._lineage.children(lane.shard_id) or lane.gap is not None:
                continue
            if is_final or not self._retention.is_overdue(lane.ended_us, service_us):
                lane.ended_us = max(lane.ended_us, service_us)  # until now no child was listed
            elif lane.shard_id in childless:
                self._hold(lane)
                self._gaps.stand(lane, CHILDREN_MISSED)
            elif not self._discovery.is_waiting(lane.shard_id):
                self._hold(lane)
                self._discovery.ended(lane.shard_id, now_us)

    def forget(self, listed: set[str], now_us: int) -> None:
        """Lets go of shards that are read and that the service lists no more, so that memory follows what is listed."""
        for shard_id in self._discovery.forgotten(list(self._lineage), listed, now_us):
            children = self._lineage.children(shard_id)
            if self._is_over(shard_id) and all(
                child in self._lanes or child in self._frontier.read for child in children
            ):
                self._lanes.pop(shard_id, None)
                self._ghosts.forget(shard_id)
                self._frontier.forget(shard_id)

    def _is_over(self, shard_id: str) -> bool:
        """Whether the shard was returned to its end, no child of it is looked for, and no gap stands there."""
        if shard_id in self._frontier.read:
            return True
        lane = self._lanes.get(shard_id)
        if lane is None or not lane.is_drained or lane.gap is not None:
            return False
        return not self._discovery.is_waiting(shard_id)

    def _hold(self, lane: Lane) -> None:
        """The lane holds the others, again if it was let go."""
        self._merge.release(lane.shard_id)
        self._merge.open(lane)
