"""Places in a Kinesis shard: what is known of the one that an iterator stands at, and whether a page follows it; pure.

Kinesis never says that a place is no longer held: an old sequence number opens at the horizon, is refused, or gives empty
pages for good, and a reader that trimming overtakes is just given what comes later. So a shard is opened *at* the last
record that was read, which has to come again before anything counts; and a page that may lie behind the retention counts
only if the record before it is still held after it came (docs/decisions, 10).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from streamiter.clock import SECOND_US
from streamiter.position import After, AtNumber, AtTime, Position, is_number
from streamiter.source.kinesis_page import RawPage

HOUR_US = 3600 * SECOND_US
LEAST_RETENTION_US = 24 * HOUR_US  # no stream holds its records for less
MOST_EMPTIES = 8  # pages that may be empty, and look as if nothing else followed, before the record that is waited for


class Doubt(NamedTuple):
    """A page that may lie behind records that are gone: it counts if the record before it is still held after it came."""

    page: RawPage
    service_us: int | None  # when it came
    search: KinesisPlace | None = None  # how far that record was looked for; None: not yet


class KinesisPlace(NamedTuple):
    """A living iterator, and what is known of where it stands."""

    text: str  # the iterator itself
    awaited: str | None = None  # the next record has to be this one: it was read before, so nothing is lost since
    was_read: bool = False  # the one waited for is not to be given again
    empties: int = 0  # pages without it
    start_us: int | None = None  # what arrived before was not asked for
    whole_us: int | None = None  # all that arrived up to this moment was given, ...
    last: str | None = None  # ... and the last of it was this record
    doubt: Doubt | None = None  # the page that follows, if `last` is held still

    @classmethod
    def opened(cls, text: str, position: Position) -> KinesisPlace:
        """The place of an iterator that was just handed out."""
        if isinstance(position, After):
            return cls(text, position.place.text, was_read=True)
        if isinstance(position, AtNumber):
            return cls(text, position.text)
        return cls(text, start_us=position.time_us if isinstance(position, AtTime) else None)

    def following(self, page: RawPage, service_us: int | None) -> KinesisPlace | None:
        """The place behind a page; None at the end of the shard."""
        if not page.NextShardIterator:
            return None
        if page.Records:
            # One that has no number cannot be asked for: then the one before it tells, which came no later.
            last = next((row for row in reversed(page.Records) if is_number(row.SequenceNumber)), None)
            if last is None:
                return KinesisPlace(page.NextShardIterator, whole_us=self.whole_us, last=self.last)
            return KinesisPlace(page.NextShardIterator, whole_us=last.arrived_us, last=last.SequenceNumber)
        is_tip = page.MillisBehindLatest == 0 and service_us is not None
        return self._replace(
            text=page.NextShardIterator,
            empties=self.empties + 1,
            whole_us=service_us if is_tip else self.whole_us,
            doubt=None,
        )

    def since_us(self, service_us: int, retention_us: int) -> int | None:
        """From when on records have to be held, for a page of this moment to follow this place; None: from no time."""
        if self.whole_us is not None:
            return self.whole_us
        if self.start_us is not None and service_us - self.start_us <= retention_us:
            return self.start_us  # one that is older than all that is held stands for the horizon
        return None

    def is_missed(self, page: RawPage, retention_us: int) -> bool:
        """Whether the record that is waited for does not come any more."""
        if page.Records:
            return page.Records[0].SequenceNumber != self.awaited
        behind = page.MillisBehindLatest
        if page.NextShardIterator is None:
            return True
        # At the tip, or as far behind as the retention goes, empty pages may go on for good; but some come before records.
        is_stuck = not behind or behind * 1000 >= retention_us
        return is_stuck and self.empties + 1 >= MOST_EMPTIES


def iterator_type(position: Position) -> dict[str, Any]:
    """How GetShardIterator is asked for a place."""
    if isinstance(position, After):
        return {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": position.place.text}
    if isinstance(position, AtNumber):
        return {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": position.text}
    if isinstance(position, AtTime):
        moment = datetime.fromtimestamp(position.time_us // SECOND_US, UTC)
        return {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": moment}
    return {"ShardIteratorType": "TRIM_HORIZON"}
