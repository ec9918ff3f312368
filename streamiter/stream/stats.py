"""Stats: what a stream has done so far and what it waits for, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stats:
    """A snapshot: it does not change while the stream goes on."""

    calls: dict[str, int]  # by kind: list_shards, open_iterator, fetch
    pages: int  # pages of records fetched, empty ones included
    records: int  # records returned
    late: int  # of these, how many came out below one that was out already
    gaps: int  # gaps accepted, by skip() or on_gap="skip"
    gone: int  # listed shards that the service had removed, of which nothing had been read
    poison: (
        int  # records that could not be decoded, or that the model refused, or that were far ahead, and were skipped
    )
    duplicates: int  # records dropped because they had been returned before, as the source was told to
    retries: int  # calls that failed and were made again
    throttles: int  # of these, how many the service refused because it was asked too often
    held_by: str | None  # the shard that records wait for, or "listing"; or the one whose own record is far ahead
    # For each shard, how many seconds old the first record is that waits to be returned; where none waits, the last one
    # that was returned. 0 at its tip.
    lag: dict[str, float]
    waiting: int  # records fetched and not yet returned
    waiting_bytes: int  # about how many bytes these are
    open_shards: int  # shards being read
    # How many seconds ahead of the service's clock the record is created that holds its lineage until then; 0 where none does.
    held_ahead: float = 0.0


NOTHING_YET = Stats(
    calls={}, pages=0, records=0, late=0, gaps=0, gone=0, poison=0, duplicates=0, retries=0, throttles=0,
    held_by=None, lag={}, waiting=0, waiting_bytes=0, open_shards=0,
)  # fmt: skip
