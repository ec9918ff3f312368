"""Events of a fleet, for `on_event`: leases that come and go, records that failed, processors that hang."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AppEvent:
    """Something happened to a lease of a processor. Events never hold records."""

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
    """This worker released the lease: another worker or an operator asked for it, or this worker stops."""

    fence: int


@dataclass(frozen=True, slots=True)
class Completed(AppEvent):
    """The shard was read to its end, and all its records are processed."""

    fence: int


@dataclass(frozen=True, slots=True)
class GapStands(AppEvent):
    """Records of the lease may be lost. It delivers no more until an operator resets or releases it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stuck(AppEvent):
    """The processor has worked on the same records for a long time."""

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
    """The processor failed for good on records. `verdict` is what its policy did: "halt", "ignore" or "quarantine"."""

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
    """Runs of a timer were missed. `processor` is the timer's name, `lease` is "leader", or empty."""

    count: int
    why: str
