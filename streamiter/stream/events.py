"""Events: what `on_event` is told while records come out: gaps, late records, calls made again, and how far reading came."""

from __future__ import annotations

from dataclasses import dataclass

from streamiter.stream.stats import Stats


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to a stream. Events never hold images or keys of records."""

    stream: str  # the stream's name: for DynamoDB its ARN


@dataclass(frozen=True, slots=True)
class GapFound(Event):
    """A gap comes next: records after `position` of the shard may be lost. `next` raises RecordsExpired right after."""

    shard_id: str
    position: str
    reason: str


@dataclass(frozen=True, slots=True)
class GapAccepted(Event):
    """A gap was gone past, by `skip()` or because of `on_gap="skip"`."""

    shard_id: str
    position: str
    reason: str


@dataclass(frozen=True, slots=True)
class LateRecord(Event):
    """The record that comes out next sorts below one that is out already. Not told with `lateness=None`."""

    shard_id: str
    sequence_number: str
    # How long after its order time it came, by the service's clock: a `lateness` above this would have kept it in order,
    # if its shard was listed in time.
    seconds: float


@dataclass(frozen=True, slots=True)
class Retry(Event):
    """A call failed; it is made again after a pause."""

    shard_id: str | None  # None: listing the shards
    kind: str  # the error's class: "Throttled", "TransientError", ...
    reason: str
    tries: int  # so many calls in a row failed
    pause_seconds: float


@dataclass(frozen=True, slots=True)
class Progress(Event):
    """How far reading came: about every 5 s while records are asked for, or `heartbeat()` called, and once as it ends."""

    stats: Stats
    before: Stats  # as the Progress before told it; all zeros in the first one
    time: float  # seconds since 1970, by the stream's clock
