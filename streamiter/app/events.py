"""Events: what `on_event` is told of a fleet: leases that come and go, records that failed, processors that hang."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AppEvent:
    """What happened to a lease of a processor. Events never hold records."""

    processor: str
    lease: str  # its key: the shard's id, or "total"


@dataclass(frozen=True, slots=True)
class LeaseTaken(AppEvent):
    """This worker has the lease now."""

    fence: int
    checkpoint: str


@dataclass(frozen=True, slots=True)
class LeaseLost(AppEvent):
    """Another worker has the lease, or it could not be renewed in time."""

    fence: int


@dataclass(frozen=True, slots=True)
class HandedOver(AppEvent):
    """This worker released the lease: another one asked for it, an operator did, or the worker stops."""

    fence: int


@dataclass(frozen=True, slots=True)
class Completed(AppEvent):
    """The shard was read to its end, and every record is processed."""

    fence: int


@dataclass(frozen=True, slots=True)
class GapStands(AppEvent):
    """Records of the lease may be lost; nothing more of it is delivered until an operator resets or releases it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stuck(AppEvent):
    """The processor has been at work on the same records for long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Retried(AppEvent):
    """The processor failed; the records are handed over again after a pause."""

    place: str
    error: str  # the error's class
    tries: int
    pause_seconds: float


@dataclass(frozen=True, slots=True)
class Poisoned(AppEvent):
    """The processor failed for good; `verdict` is what became of it: "halt", "ignore" or "quarantine"."""

    place: str
    error: str
    tries: int
    verdict: str


@dataclass(frozen=True, slots=True)
class TimerFailed(AppEvent):
    """A timer's function raised an error. `processor` is the timer's name, `lease` is "leader", or empty."""

    error: str  # the error's class


@dataclass(frozen=True, slots=True)
class TimerMissed(AppEvent):
    """Runs of a timer that are not made up for. `processor` is the timer's name, `lease` is "leader", or empty."""

    count: int
    why: str
