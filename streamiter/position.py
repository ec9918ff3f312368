"""Positions: where in a shard reading starts, and the place that reading has come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from streamiter.clock import floor_second

MOST_DIGITS = 99  # of a sequence number: order keys tell its length in two digits


def is_number(text: str) -> bool:
    """Whether a record can have this sequence number: digits alone, and not too many."""
    return 0 < len(text) <= MOST_DIGITS and text.isascii() and text.isdigit()


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
        """The place of a record with this sequence number that follows; without one it counts from the one before."""
        if text and (self.width < 0 or int(text) > self.number):
            return Place.of(text)
        return self._replace(since=self.since + 1)

    @property
    def is_numbered(self) -> bool:
        """Whether a record with a number came: only then can a shard open here."""
        return self.width >= 0

    def __str__(self) -> str:
        if not self.is_numbered:
            return f"its first {self.since + 1} records"
        return f"record {self.number}" + (f" and {self.since} more" if self.since else "")


# The place of a shard's first record where that has no number, being spoiled. No shard opens there: after a resume the
# spoiled record comes, and is told of, once more.
UNNUMBERED = Place(0, 0, -1)


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


def openable(position: Position, service_us: int | None, *, refuses_time: bool) -> Position:
    """Where the service can open a shard that is to be read from a position; the lane leaves out what is older than that.

    No service takes a time to come, and some take no times at all.
    """
    if not isinstance(position, AtTime):
        return position
    if refuses_time:
        return Horizon(position.opened_us)
    if service_us is not None and position.time_us > service_us:
        return AtTime(floor_second(service_us), position.opened_us)
    return position
