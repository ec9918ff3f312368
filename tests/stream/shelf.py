"""A shelf: a source in the test's own process, which holds what the test lays on it and answers as the test says.

It knows no pages: each holds as many records as are asked for. `spoil` may change or refuse any answer.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from streamiter.errors import ShardGone
from streamiter.position import After, AtTime, Position
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardIterator, ShardPage, Source
from streamiter.testing import ManualClock

SECOND_US = 1_000_000
Spoil = Callable[[str, str | None, Any], Any]  # which call, of which shard, and its answer: gives what is told instead


@dataclass
class Held:
    """A shard as the shelf holds it."""

    parents: tuple[str, ...] = ()
    records: list[tuple[str, int]] = field(default_factory=list)  # sequence numbers and creation times
    is_closed: bool = False
    is_listed: bool = True
    shows_closed: bool = True  # whether listings tell that it is closed


class Shelf(Source):
    """Shards and their records. Each call takes `call_us` of the clock, as many side by side as there are."""

    retention_us = 24 * 3600 * SECOND_US
    iterator_us = 15 * 60 * SECOND_US
    page_limit = 1000
    listings_per_second = 10.0
    name = "shelf"
    record_type = Record

    def __init__(self, clock: ManualClock, *shards: str, call_us: int = 0) -> None:
        self.clock = clock
        self.shards = {shard_id: Held() for shard_id in shards}
        self.calls: Counter[tuple[str, str | None]] = Counter()
        self.spoil: Spoil | None = None
        self._call_us = call_us
        self._numbers = 1000
        self._lock = threading.Lock()

    # -- what the test does

    def put(self, shard_id: str, count: int = 1, *, age: float = 0.0) -> None:
        """Writes so many records, created so long ago."""
        for _ in range(count):
            self._numbers += 1
            self.shards[shard_id].records.append((str(self._numbers), self.now_us - round(age * SECOND_US)))

    def roll(self, shard_id: str, *children: str, shows_closed: bool = True) -> None:
        """Closes a shard; these follow it."""
        self.shards[shard_id].is_closed, self.shards[shard_id].shows_closed = True, shows_closed
        for child in children:
            self.shards[child] = Held((shard_id,))

    @property
    def now_us(self) -> int:
        """The service's time."""
        return round(self.clock.now() * SECOND_US)

    def counted(self, operation: str) -> int:
        """How many calls of this kind were made."""
        return sum(count for (kind, _), count in self.calls.items() if kind == operation)

    @property
    def history(self) -> list[tuple[str, str]]:
        """All that was ever written: shard and sequence number."""
        return [(shard_id, number) for shard_id, held in self.shards.items() for number, _ in held.records]

    # -- the contract

    def list_shards(self, after: str | None) -> ShardPage:
        with self._lock:
            rows = [
                Shard(shard_id, held.parents, held.is_closed and held.shows_closed)
                for shard_id, held in self.shards.items()
                if held.is_listed
            ]
            return self._answer("list", None, ShardPage(tuple(rows), None, self.now_us))

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        with self._lock:
            if shard_id not in self.shards:
                raise ShardGone(f"shard {shard_id} is not known")
            return self._answer("open", shard_id, ShardIterator(shard_id, self._index(shard_id, position)))

    def fetch(self, iterator: ShardIterator, limit: int) -> Page:
        with self._lock:
            shard_id, at = iterator
            held = self.shards[shard_id]
            rows = held.records[at : at + limit]
            end = at + len(rows)
            following = None if held.is_closed and end == len(held.records) else ShardIterator(shard_id, end)
            records = [Record(shard_id, number, created_us) for number, created_us in rows]
            return self._answer("fetch", shard_id, Page(records, following, self.now_us, None, 500 * len(rows)))

    def close(self) -> None:
        pass

    def _answer(self, operation: str, shard_id: str | None, answer: Any) -> Any:
        self.calls[operation, shard_id] += 1
        if self._call_us:
            self.clock.advance(self._call_us / SECOND_US)
        return answer if self.spoil is None else self.spoil(operation, shard_id, answer)

    def _index(self, shard_id: str, position: Position) -> int:
        records = self.shards[shard_id].records
        if isinstance(position, After):
            return 1 + next(i for i, (number, _) in enumerate(records) if number == position.place.text)
        if isinstance(position, AtTime):
            return next((i for i, (_, us) in enumerate(records) if us >= position.time_us), len(records))
        return 0
