"""Events: values for `on_event`: gaps, late records, calls that failed, and how far reading has come."""

from __future__ import annotations

from dataclasses import dataclass

from streamiter.stream.stats import Stats


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a stream. Events never hold images or keys of records."""

    stream: str  # the stream's name: for DynamoDB its ARN


@dataclass(frozen=True, slots=True)
class GapFound(Event):
    """A gap comes next: records after `position` of the shard may be lost. `next` raises RecordsExpired right after."""

    shard_id: str
    position: str
    reason: str


@dataclass(frozen=True, slots=True)
class GapAccepted(Event):
    """The reader went past a gap, by `skip()` or because of `on_gap="skip"`."""

    shard_id: str
    position: str
    reason: str


@dataclass(frozen=True, slots=True)
class LateRecord(Event):
    """The next record sorts below one that was returned already. Does not occur with `lateness=None`."""

    shard_id: str
    sequence_number: str
    # How long after its order time it came, by the service's clock: a `lateness` above this would have kept it in order,
    # if its shard was listed in time.
    seconds: float


@dataclass(frozen=True, slots=True)
class RecordAhead(Event):
    """The next record's creation time is far ahead of the service's clock: the record and its lineage wait until then.

    `lateness=None` holds nothing back; `skip()` goes past this record. Occurs once for each record.
    """

    shard_id: str
    sequence_number: str
    seconds: float  # how far ahead its order time is


@dataclass(frozen=True, slots=True)
class CallFailed(Event):
    """A call failed; it is made again after a pause."""

    shard_id: str | None  # None: listing the shards
    kind: str  # the error's class: "Throttled", "TransientError", ...
    reason: str
    tries: int  # so many calls in a row failed
    pause_seconds: float


@dataclass(frozen=True, slots=True)
class Progress(Event):
    """How far reading has come: about every 5 s while the caller asks for records or calls `heartbeat()`, and at the end."""

    stats: Stats
    before: Stats  # as the Progress before told it; all zeros in the first one
    time: float  # seconds since 1970, by the stream's clock
