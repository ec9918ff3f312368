"""Succession: a shard that ended holds its place until its children are known; they may come late, or come and go unseen."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from streamiter.lineage import Discovery, Lineage
from streamiter.merge import Lane, Merge
from streamiter.stream.gaps import CHILDREN_MISSED, Gaps
from streamiter.stream.retention import Retention


class Succession:
    """Follows the listings that come after the ends of shards."""

    def __init__(
        self,
        lineage: Lineage,
        lanes: Mapping[str, Lane],
        merge: Merge,
        discovery: Discovery,
        gaps: Gaps,
        retention: Retention,
    ) -> None:
        self._lineage = lineage
        self._lanes = lanes
        self._merge = merge
        self._discovery = discovery
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

    def is_over(self, lane: Lane) -> bool:
        """Whether the lane was returned to its end, no child of it is looked for, and no gap stands there."""
        return lane.is_drained and lane.gap is None and not self._discovery.is_waiting(lane.shard_id)

    def _hold(self, lane: Lane) -> None:
        """The lane holds the others, again if it was let go."""
        self._merge.release(lane.shard_id)
        self._merge.open(lane)
