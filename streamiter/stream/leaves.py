"""Leaves: shards that ended and of which no child is known; it may have come and gone while nobody looked."""

from __future__ import annotations

from collections.abc import Iterable

from streamiter.lineage import Discovery, Lineage
from streamiter.merge import Lane
from streamiter.stream.retention import Retention


def overdue_leaves(
    lanes: Iterable[Lane],
    lineage: Lineage,
    discovery: Discovery,
    retention: Retention,
    service_us: int,
    *,
    is_final: bool,
) -> list[Lane]:
    """Those of which a listing of this moment should show a child, for an ended shard has one, unless all is final.

    Of the others it is noted that until now there was none. What is looked for already is not named.
    """
    overdue = []
    for lane in lanes:
        if lane.ended_us is None or lineage.children(lane.shard_id) or lane.gap is not None:
            continue
        if is_final or not retention.is_overdue(lane.ended_us, service_us):
            lane.ended_us = max(lane.ended_us, service_us)
        elif not discovery.is_waiting(lane.shard_id):
            overdue.append(lane)
    return overdue
