"""Everything that may go wrong at once, read through `Stream` and cut at random tokens: each record comes once, in order."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from streamiter import Stream
from streamiter.errors import AccessDenied, IteratorExpired, SourceError, Throttled, TransientError
from streamiter.position import Position
from streamiter.source.base import ShardIterator
from streamiter.testing import ManualClock
from tests.oracle import expected
from tests.stream.shelf import Held, Shelf

FAULTS = (
    TransientError("a fault"),
    Throttled("too often"),
    AccessDenied("a refusal"),
    ValueError("a bug of the source's"),
)


class Written(NamedTuple):
    """A record as the oracle takes it."""

    number: int
    created_us: int


@dataclass
class Row:
    """A shard as the oracle takes it."""

    parents: tuple[str, ...]
    records: list[Written] = field(default_factory=list)


class Hostile(Shelf):
    """A shelf that fails, tears pages, tells ends that are none, and lets iterators die. Each call has a fate of its own."""

    iterator_us = 300_000_000

    def __init__(self, seed: int, *, lags: bool) -> None:
        super().__init__(ManualClock())
        self.chance = random.Random(seed)
        self._seed = seed
        self._lags = lags
        self._counts: Counter[tuple[str, str | None]] = Counter()
        self._empties: Counter[str] = Counter()
        self._false_ends: Counter[str] = Counter()
        self._lacking: Counter[str] = Counter()
        self._born: dict[str, float] = {}
        self.spoil = self._spoil
        self.is_calm = False
        self._lay_out()

    def _lay_out(self) -> None:
        chance = self.chance
        self.page_limit = chance.choice((1, 2, 5, 1000))
        for number in range(chance.randrange(2, 9)):
            closed = [shard_id for shard_id, held in self.shards.items() if held.is_closed]
            parents = tuple(chance.sample(closed, min(len(closed), chance.choice((0, 1, 1, 2)))))
            shard_id = f"S{chance.randrange(10)}{number}"
            self.shards[shard_id] = Held(parents, shows_closed=chance.random() < 0.7)
            for _ in range(chance.randrange(9)):
                self.put(shard_id, age=chance.randrange(60, 600))
            if chance.random() < 0.7:
                self.shards[shard_id].is_closed = True

    def in_order(self) -> list[tuple[str, str]]:
        """What was written, by the laws 3 and 4."""
        rows = {
            shard_id: Row(held.parents, [Written(int(number), created_us) for number, created_us in held.records])
            for shard_id, held in self.shards.items()
        }
        return [(found.shard, self.shards[found.shard].records[found.index][0]) for found in expected(rows)]

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        self._born[shard_id] = self.clock.monotonic()
        return super().open_iterator(shard_id, position)

    def _spoil(self, operation: str, shard_id: str | None, answer: Any) -> Any:
        if self.is_calm:
            return answer
        self._counts[operation, shard_id] += 1
        # Threads take turns as they will, so that a fate follows from how often the same was asked for.
        chance = random.Random(f"{self._seed} {operation} {shard_id} {self._counts[operation, shard_id]}")
        if chance.random() < 0.15:
            raise chance.choice(FAULTS)
        if operation == "list":
            return self._spoil_listing(answer, chance)
        return answer if operation == "open" else self._spoil_page(shard_id or "", answer, chance)

    def _spoil_listing(self, answer: Any, chance: random.Random) -> Any:
        rows = []
        for row in answer.shards:
            # What three listings in a row lack is believed to be missing.
            is_lacking = self._lags and chance.random() < 0.1 and self._lacking[row.id] < 2
            self._lacking[row.id] = self._lacking[row.id] + 1 if is_lacking else 0
            rows += [row] * (not is_lacking)
        rows += chance.sample(rows, len(rows) // 3)
        chance.shuffle(rows)
        return answer._replace(shards=tuple(rows))

    def _spoil_page(self, shard_id: str, answer: Any, chance: random.Random) -> Any:
        now = self.clock.monotonic()
        if now - self._born[shard_id] > self.iterator_us / 1e6 or chance.random() < 0.05:
            raise IteratorExpired("it is too old")
        self._born[shard_id] = now
        at = None if answer.next is None else answer.next[1]
        start = (len(self.shards[shard_id].records) if at is None else at) - len(answer.records)
        answer = answer._replace(rest_us=chance.choice((0, 0, 200_000)))
        if chance.random() < 0.25 and self._empties[shard_id] < 5:
            self._empties[shard_id] += 1
            answer = answer._replace(records=[], next=ShardIterator(shard_id, start), size_bytes=0)
        else:
            self._empties[shard_id] = 0
            if chance.random() < 0.15 and not self._false_ends[shard_id] and not self.shards[shard_id].is_closed:
                self._false_ends[shard_id] += 1
                return answer._replace(next=None)
        self._false_ends[shard_id] = 0
        return answer


def read(shelf: Hostile) -> list[tuple[str, str]]:
    """Reads from one token to the next, until nothing came for long though nothing fails any more."""
    chance, clock = shelf.chance, shelf.clock
    came: list[tuple[str, str]] = []
    token: Any = "trim_horizon"
    count, since = 0, clock.monotonic()
    while not shelf.is_calm or clock.monotonic() - since < 150:
        concurrency, prefetch_bytes = chance.choice((1, 2, 32)), chance.choice((1, 3000, 1 << 20))
        with Stream(
            *(shelf, token),
            clock=clock,
            concurrency=concurrency,
            prefetch_bytes=prefetch_bytes,
            patience=chance.choice((2.0, 60.0)),
        ) as stream:
            for _ in range(300 if shelf.is_calm else chance.randrange(1, 200)):
                turn(stream, shelf, came)
                if len(came) > count:
                    count, since = len(came), clock.monotonic()
            token = stream.token
        if not shelf.is_calm and clock.monotonic() - since > 300:
            shelf.is_calm, since = True, clock.monotonic()
    return came


def turn(stream: Stream, shelf: Hostile, came: list[tuple[str, str]]) -> None:
    """One thing that a caller may do."""
    chance = shelf.chance
    if chance.random() < 0.05:
        stream.heartbeat()
    if chance.random() < 0.02:
        stream.move_to(stream.token)
    try:
        record = next(stream)
    except (SourceError, ValueError):
        return
    if record is None:
        shelf.clock.advance(400 if chance.random() < 0.01 else chance.choice((0.1, 0.5, 1.0, 5.0)))
    else:
        came.append((record.shard_id, record.sequence_number))


@pytest.mark.parametrize("seed", range(12))
def test_whatever_goes_wrong_each_record_comes_once_and_in_order(seed: int):
    shelf = Hostile(seed, lags=False)
    assert read(shelf) == shelf.in_order()


@pytest.mark.parametrize("seed", range(100, 108))
def test_where_listings_lack_rows_too_each_record_comes_once_and_shards_keep_their_order(seed: int):
    shelf = Hostile(seed, lags=True)
    came = read(shelf)
    assert sorted(came) == sorted(shelf.history)
    for shard_id in shelf.shards:
        assert [name for name in came if name[0] == shard_id] == [name for name in shelf.history if name[0] == shard_id]
