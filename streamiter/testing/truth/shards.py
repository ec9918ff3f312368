"""Shards as they really are: their records in service order, what was trimmed, where a reader can start."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from operator import attrgetter
from typing import Literal, NamedTuple, Protocol

from streamiter.clock import SECOND_US, microseconds
from streamiter.testing.trouble.pages import PageScript


class Held(Protocol):
    """The part of a record that a shard needs to know."""

    @property
    def number(self) -> int: ...
    @property
    def created_us(self) -> int | None: ...
    @property
    def written_us(self) -> int: ...
    @property
    def body(self) -> bytes: ...


_AT_ONCE = 250  # records that are made into JSON, before it is looked whether the page is full
WHOLE = 1 << 64  # all hashed keys of a root shard


class Share(NamedTuple):
    """The hashed keys that a shard takes: those of a root, from `low` up to `high`."""

    root: str
    low: int
    high: int

    def part(self, place: int, parts: int) -> Share:
        """One of several equal parts."""
        size = self.high - self.low
        return Share(self.root, self.low + size * place // parts, self.low + size * (place + 1) // parts)


class SimulatedShard:
    """One shard. A *place* counts its records from 0 in the order written; trimmed ones keep theirs."""

    def __init__(self, name: str, shard_id: str, parent_id: str | None, starting: int, opened_us: int = 0) -> None:
        self.name = name  # what the test calls it
        self.id = shard_id
        self.parent_id = parent_id
        self.starting = starting
        self.opened_us = opened_us
        self.share = Share(shard_id, 0, WHOLE)
        self.ending: int | None = None
        self.closed_us: int | None = None
        self.is_gone = False  # GetShardIterator and GetRecords no longer know it
        self.is_listed = True
        self.was_read_out = False  # a reader got its last page
        self.last_page: Literal["records", "empty"] | None = None  # None: as the knob says
        self.pages = PageScript()
        self.records: list[Held] = []
        self.trimmed = 0  # how many records are gone, from the front
        self._load: deque[int] = deque()  # when the records of the last second were written
        self._places: dict[int, int] | None = None  # of the first record with a number, where numbers do not rise
        self._trimmed_numbers: set[int] = set()
        self._created_us: int | None = None
        self._greatest = starting
        self._greatest_trimmed = -1

    @property
    def is_closed(self) -> bool:
        return self.closed_us is not None

    @property
    def end(self) -> int:
        """The place after the newest record."""
        return self.trimmed + len(self.records)

    @property
    def greatest(self) -> int:
        """The greatest sequence number so far."""
        return self._greatest

    @property
    def empty_pages(self) -> PageScript:
        return self.pages

    @empty_pages.setter
    def empty_pages(self, counts: list[int]) -> None:
        """How many empty pages come before the first record, the second, ..."""
        self.pages = PageScript.with_empties(counts)

    # -- what happens to it

    def add(self, record: Held) -> None:
        """Appends a record; its number and its time need not rise."""
        number = record.number
        if self._places is None and self.records and number <= self._greatest:
            self._places = {}
            for place, held in enumerate(self.records, self.trimmed):
                self._places.setdefault(held.number, place)
        if self._places is not None:
            self._places.setdefault(number, self.end)
        self.records.append(record)
        self._greatest = max(self._greatest, number)
        self.starting = min(self.starting, number)
        if self.ending is not None:
            self.ending = max(self.ending, number)

    def same_time(self, time_us: int | None) -> int | None:
        """The creation time; records of one second share one object."""
        if time_us != self._created_us:
            self._created_us = time_us
        return self._created_us

    def load(self, now_us: int) -> int:
        """Counts one more record; returns how many came within the last second, this one included."""
        self._load.append(now_us)
        while self._load[0] <= now_us - SECOND_US:
            self._load.popleft()
        return len(self._load)

    def close(self, now_us: int) -> None:
        """It takes no more records."""
        if self.closed_us is None:
            self.closed_us = now_us
            self.ending = self._greatest

    def age(self, now_us: int, retention: float) -> None:
        """Trims old records, and forgets the shard once it is closed, empty and old."""
        horizon_us = now_us - microseconds(retention)
        if self.records and self.records[0].written_us <= horizon_us:
            self.trim(self._first(lambda record: record.written_us > horizon_us))
        if self.closed_us is not None and self.closed_us <= horizon_us and not self.records:
            self.is_gone, self.is_listed = True, False

    def trim(self, before: int) -> None:
        """Drops the records before a place."""
        count = max(0, before - self.trimmed)
        for record in self.records[:count]:
            self._greatest_trimmed = max(self._greatest_trimmed, record.number)
            self._trimmed_numbers.add(record.number)
            self.trimmed += 1
        del self.records[:count]

    def place_of(self, record: Held) -> int:
        """The place of this very record."""
        found = (place for place, held in enumerate(self.records, self.trimmed) if held is record)
        place = next(found, None)
        if place is None:
            raise LookupError(f"shard {self.name!r} does not hold {record!r}")
        return place

    def had(self, number: int) -> bool:
        """Whether a record with this number was ever put into it."""
        return number in self._trimmed_numbers or self._place_with(number) is not None

    # -- where reading starts

    def spans(self, number: int) -> bool:
        """Whether a number is within those that the shard has, or may come to have."""
        return self.starting <= number and (self.ending is None or number <= self.ending)

    def place_at(self, number: int) -> int | None:
        """The place of the first record with this number, or of the first with a greater one; None when it is trimmed."""
        if number in self._trimmed_numbers:
            return None
        place = self._place_with(number)
        if place is not None:
            return place
        if number <= self._greatest_trimmed:
            return None
        if self._places is None:
            return self.trimmed + bisect_left(self.records, number, key=_number)
        return self._first(lambda record: record.number > number)

    def place_after(self, number: int) -> int | None:
        """The place after the first record with this number; None when it is trimmed."""
        place = self.place_at(number)
        return place + 1 if place is not None and self._place_with(number) is not None else place

    def _place_with(self, number: int) -> int | None:
        """The place of the first record held that has this number."""
        if self._places is not None:
            return self._places.get(number)
        at = bisect_left(self.records, number, key=_number)
        return self.trimmed + at if at < len(self.records) and self.records[at].number == number else None

    def place_at_time(self, time_us: int) -> int:
        """The place of the first record created then or later; one without creation time goes by when it was written."""
        return self._first(lambda record: _time_us(record) >= time_us)

    def _first(self, is_it: Callable[[Held], bool]) -> int:
        found = (place for place, record in enumerate(self.records, self.trimmed) if is_it(record))
        return next(found, self.end)

    def take(self, place: int, limit: int, max_bytes: int) -> list[Held]:
        """The page of records that starts here; one record at least, however large, if there is any."""
        start = place - self.trimmed
        return self.records[start : start + len(self.take_bodies(place, limit, max_bytes))]

    def take_bodies(self, place: int, limit: int, max_bytes: int) -> list[bytes]:
        """The same page as JSON, record by record."""
        cut = self.pages.next_cut(place)
        if cut is not None:
            limit = min(limit, cut - place)
        start = place - self.trimmed
        bodies: list[bytes] = []
        size = 0
        while len(bodies) < limit and size <= max_bytes:  # What lies behind the page is not made into JSON.
            begin = start + len(bodies)
            more = self.rendered(self.records[begin : begin + min(limit - len(bodies), _AT_ONCE)])
            if not more:
                break
            bodies += more
            size += sum(map(len, more))
        while size > max_bytes and len(bodies) > 1:
            size -= len(bodies.pop())
        return bodies

    def rendered(self, records: list[Held]) -> list[bytes]:
        """Records as JSON."""
        return [record.body for record in records]


_number = attrgetter("number")


def _time_us(record: Held) -> int:
    return record.written_us if record.created_us is None else record.created_us
