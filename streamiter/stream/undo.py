"""Undoing: the state that a stream goes back to when the making of a batch breaks off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamiter.merge import Standing
from streamiter.reading import Reading
from streamiter.stream.listener import Named
from streamiter.stream.sieve import Identity
from streamiter.stream.stops import Stops
from streamiter.token import Token

BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Undo:
    """The stream's state before a batch, and the batch itself, from when it is made until it is taken."""

    token: Token
    standing: Standing
    passed_over: frozenset[Identity]
    accepted: frozenset[Named]
    duplicates: int
    rest: dict[str, Any]  # empty: the batch was taken, or there is none

    @classmethod
    def of(cls, reading: Reading, stops: Stops) -> Undo:
        """Where it stands now."""
        return cls(
            reading.token(),
            reading.standing(),
            frozenset(stops.sieve.passed_over),
            frozenset(stops.accepted),
            stops.sieve.duplicates,
            {BATCH: None},
        )

    @property
    def is_pending(self) -> bool:
        """Whether the batch is still to be taken: if work breaks off now, the stream goes back."""
        return bool(self.rest)

    def drop(self) -> None:
        """There is nothing to go back for."""
        self.rest.clear()

    def restore(self, stops: Stops) -> None:
        """Restores that state, except the token."""
        sieve = stops.sieve
        sieve.clear()
        sieve.passed_over = set(self.passed_over)
        sieve.duplicates = self.duplicates
        stops.accepted = set(self.accepted)
