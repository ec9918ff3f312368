"""Positions: where in a shard reading starts, and the place that reading has come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Place(NamedTuple):
    """A record's place in its shard: the greatest sequence number so far, and how many records came since it (law 4).

    It is how a shard opens again, too: AFTER the number, then skip the count. So shard order holds even where sequence
    numbers run backwards.
    """

    number: int
    since: int
    width: int = 0  # how many digits the service wrote, where it wrote leading zeros: it may want them back

    @classmethod
    def of(cls, text: str, since: int = 0) -> Place:
        """The place of a sequence number as the service writes it."""
        return cls(int(text), since, len(text) if text[0] == "0" else 0)

    @property
    def text(self) -> str:
        """The sequence number as the service writes it."""
        return str(self.number).zfill(self.width)

    def next(self, text: str) -> Place:
        """The place of a record with this sequence number that follows."""
        return Place.of(text) if int(text) > self.number else self._replace(since=self.since + 1)

    def __str__(self) -> str:
        return f"record {self.number}" + (f" and {self.since} more" if self.since else "")


@dataclass(frozen=True, slots=True)
class Horizon:
    """The oldest record that the service still holds; `opened_us` is when this start was chosen, in service time."""

    opened_us: int | None = None

    def is_expired(self, now_us: int, retention_us: int) -> bool:
        """Whether records that were held when this start was chosen may be gone by now."""
        return self.opened_us is not None and now_us - self.opened_us > retention_us

    def __str__(self) -> str:
        return "its horizon"


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record created at this moment or later; `opened_us` is when this start was chosen, in service time."""

    time_us: int
    opened_us: int | None = None

    def is_expired(self, now_us: int, retention_us: int) -> bool:
        """Whether records from this moment on, held when the start was chosen, may be gone by now."""
        since_us = self.time_us
        if self.opened_us is not None and since_us < self.opened_us - retention_us:
            since_us = self.opened_us  # It was older than the horizon already: the start was the horizon of that day.
        return now_us - since_us > retention_us

    def __str__(self) -> str:
        return f"time {self.time_us / 1e6:.0f}"


@dataclass(frozen=True, slots=True)
class After:
    """The record after a place that was read."""

    place: Place

    def is_expired(self, now_us: int, retention_us: int) -> bool:
        """Never by the clock: the service itself says when a sequence number is trimmed."""
        return False

    def __str__(self) -> str:
        return str(self.place)


@dataclass(frozen=True, slots=True)
class AtNumber:
    """The record with this sequence number, as the service writes it: only Bloop's tokens start so."""

    text: str

    def is_expired(self, now_us: int, retention_us: int) -> bool:
        """Never by the clock: the service itself says when a sequence number is trimmed."""
        return False

    def __str__(self) -> str:
        return f"record {self.text} itself"


Position = Horizon | AtTime | After | AtNumber
