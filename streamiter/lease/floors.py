"""Floors: where a lease's records stand in the order, so that every reader gives them the same order keys (laws 3, 4).

The order follows from what was read before a lease's checkpoint. Its row keeps that: the shard's rank and floor, which the rows
of its parents tell when the lease is taken for the first time; and the order time of the last record before the checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamiter.lease.lease import FLOOR, LANE, ORDER, RANK, Lease
from streamiter.shard import Rank


def rank_of(lease: Lease) -> Rank:
    """Where the lease's shard stands when order times tie."""
    told = lease.progress.get(RANK)
    if told is not None:
        greatest, depth = told
        return Rank(greatest, depth, lease.key)
    lane = lease.progress.get(LANE, {})
    return Rank(lane.get("greatest") or lease.key, lane.get("depth") or 0, lease.key)


def floor_of(lease: Lease) -> int | None:
    """The order time below which no record behind the checkpoint sorts; None: nothing is known of what came before."""
    told = lease.progress.get(ORDER, lease.progress.get(LANE, {}).get("floor"))
    return lease.progress.get(FLOOR) if told is None else int(told)


def begun(lease: Lease, leases: Mapping[str, Lease]) -> Lease:
    """The lease as it is taken: what its parents' rows tell of its place in the order, unless it knows already."""
    if RANK in lease.progress:
        return lease
    above = [leases[parent] for parent in lease.parents if parent in leases]
    told: dict[str, Any] = {RANK: _rank(lease, above)}
    if lease.fence == 0:
        told[FLOOR] = max((floor for parent in above if (floor := floor_of(parent)) is not None), default=None)
    return lease.noting(**told)


def _rank(lease: Lease, above: list[Lease]) -> list[Any]:
    if lease.progress.get(LANE, {}).get("depth") is not None:
        rank = rank_of(lease)  # a token says it
        return [rank.greatest, rank.depth]
    ranks = [rank_of(parent) for parent in above]
    return [max([lease.key, *(rank.greatest for rank in ranks)]), 1 + max((rank.depth for rank in ranks), default=-1)]
