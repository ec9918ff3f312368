"""Stats: what a worker holds and what it did, for people and for dashboards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeaseStats:
    """One lease in this worker's hands."""

    key: str
    fence: int
    delivered: int
    acked: int
    failed: int
    busy_seconds: float | None  # how long the processor has had the record that it has had for longest
    gap: str | None
    lag_seconds: float | None = None  # how long ago the first unprocessed record was created


@dataclass(frozen=True, slots=True)
class ProcessorStats:
    """One processor in this worker."""

    leases: tuple[LeaseStats, ...]
    delivered: int
    acked: int
    failed: int


@dataclass(frozen=True, slots=True)
class LeaderStats:
    """The worker that leads, as this worker saw it last: it runs the timers that have `on_leader=True`."""

    worker: str
    fence: int
    since: int | None  # when it took the lead, in seconds since 1970 by its own clock


@dataclass(frozen=True, slots=True)
class AppStats:
    """An app in this worker."""

    app: str
    worker: str
    processors: Mapping[str, ProcessorStats]
    leader: LeaderStats | None = None  # None: nobody leads, or this worker runs no timers of the leader's
