"""The contract of a policy: a failure in, a verdict out; the runtime does what the verdict says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from streamiter.record import Record


@dataclass(frozen=True, slots=True)
class Failure:
    """A processor raised an error. `records` are those that were handed to it together."""

    processor: str
    lease: str
    records: Sequence[Record]
    error: BaseException
    tries: int  # so often it failed on them in a row, this time included


@dataclass(frozen=True, slots=True)
class StopApp:
    """The app ends, with an error that names lease and place. Nothing is lost: the records come again."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The records count as processed."""


@dataclass(frozen=True, slots=True)
class Isolate:
    """The lease stops until an operator releases it; all others go on."""


@dataclass(frozen=True, slots=True)
class Again:
    """The records are handed over again, after a pause."""

    after_seconds: float


Verdict = StopApp | Pass | Isolate | Again


class Policy(ABC):
    """Decides what becomes of records on which a processor failed."""

    @abstractmethod
    def decide(self, failure: Failure, chance: Random) -> Verdict:
        """What is to be done; `chance` is for jitter, so that a simulation can repeat it."""
