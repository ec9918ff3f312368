"""Snapshots: what a reading has done so far and what it waits for, as a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from streamiter.clock import SECOND_US
from streamiter.merge import Lane, Standing

if TYPE_CHECKING:
    from streamiter.reading.reading import Reading


class Snapshot(NamedTuple):
    """Counts of this reading alone; a stream adds those of the readings before it."""

    records: int
    late: int
    gaps: int  # accepted
    gone: int
    held_by: str | None  # a shard, or "listing"
    lag: dict[str, float]  # for each shard, in seconds
    waiting: int
    waiting_bytes: int
    open_shards: int
    held_ahead: float  # how many seconds the record that holds the others is ahead of the service's clock


def snapshot(reading: Reading, returned: Standing | None, *, is_whole: bool) -> Snapshot:
    """Where the reading stands; `returned`: how far records count as returned, if not all that were taken do.

    If Ctrl-C broke work off (`is_whole` is False), what the merge waits for is unknown until reading goes on.
    """
    book = reading.book
    book.merge.settle()
    returned = returned or reading.standing()
    lanes = [lane for lane in book.lanes.values() if not lane.is_drained]
    ahead = reading.ahead if is_whole else None
    return Snapshot(
        records=returned.clock - reading.book.token.clock,
        late=returned.late,
        gaps=reading.gaps_accepted,
        gone=reading.shards_gone,
        held_by=reading.held_by if is_whole else None,
        lag={lane.shard_id: _lag_seconds(lane, book.service_us) for lane in lanes},
        waiting=sum(map(len, lanes)),
        waiting_bytes=round(book.merge.waiting_bytes),
        open_shards=sum(not lane.ended for lane in lanes),
        held_ahead=0.0 if ahead is None else ahead.ahead_us / SECOND_US,
    )


def _lag_seconds(lane: Lane, service_us: int | None) -> float:
    """The age of the first waiting record; without one, the time since the lane was last known to miss none."""
    if service_us is None or (lane.is_at_tip and not len(lane)):
        return 0.0
    if len(lane):
        return max(0.0, (service_us - lane.times[lane.head]) / SECOND_US)
    # A lane that was idle is known up to its tip, however old the last record is that it returned.
    known = [time_us for time_us in (lane.emitted_us, lane.read_up_to_us) if time_us is not None]
    since_us = max(known) if known else lane.opened_us
    return 0.0 if since_us is None else max(0.0, (service_us - since_us) / SECOND_US)
