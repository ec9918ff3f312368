"""Losses: gaps, and records that cannot be decoded, either of which ends a query unless failOnDataLoss is false."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from streamiter.errors import PoisonRecord, RecordsExpired
from streamiter.position import Position
from streamiter.record import Record, SpoiledRecord

logger = logging.getLogger("streamiter.spark")

_HINT = (
    "option failOnDataLoss=false reads on with what is still held; a new checkpoint with startingPosition TRIM_HORIZON "
    "starts over"
)


def pass_gap(shard_id: str, position: Position, reason: str, *, fails: bool) -> None:
    """Accepts that records after a position may be lost; raises RecordsExpired where that is to end the query."""
    gap = RecordsExpired(shard_id, position, reason=reason, hint=_HINT)
    if fails:
        raise gap
    logger.warning("gap accepted, as failOnDataLoss=false says: %s", gap.what)


def pass_over(record: Record, *, fails: bool) -> bool:
    """Whether a record is left out because it cannot be decoded; raises PoisonRecord where that is to end the query."""
    if not isinstance(record, SpoiledRecord):
        return False
    poison = PoisonRecord.spoiled(record.shard_id, record.sequence_number, record.reason)
    if fails:
        raise poison
    logger.warning("left out, as failOnDataLoss=false says: %s", poison)
    return True


def without_spoiled(records: Sequence[Record], *, fails: bool) -> list[Record]:
    """The records except those that cannot be decoded."""
    return [record for record in records if not pass_over(record, fails=fails)]
