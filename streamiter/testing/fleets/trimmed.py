"""Trimmed: which records of a shard may be lost without a gap: nothing of it was read before, or an operator gave them up."""

from __future__ import annotations

from collections.abc import Collection

from streamiter.app.virtual.given import GivenRecords, GivenShard
from streamiter.lease.lease import ACCEPTED, OPENED, Lease


def lost_unread(
    shard: GivenShard, row: Lease, accepted: Collection[str], truth: GivenRecords, upto: int | None = None
) -> int:
    """How many of its first records, or of the first `upto`, need not come; `row` is its lease, which begins at the horizon."""
    lost = shard.trimmed if upto is None else min(shard.trimmed, upto)
    if not shard.parents or row.progress.get(ACCEPTED) or _is_accepted(shard, accepted, truth):
        return lost
    opened_us = row.progress.get(OPENED, 0)
    held = (number for number, record in enumerate(shard.records[:lost]) if (record.created_us or 0) >= opened_us)
    return next(held, lost)


def _is_accepted(shard: GivenShard, accepted: Collection[str], truth: GivenRecords) -> bool:
    """Whether an operator accepted a gap in it, or in a shard before it."""
    return shard.id in accepted or any(_is_accepted(truth.shards[parent], accepted, truth) for parent in shard.parents)
