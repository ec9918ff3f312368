"""Weather: random trouble from a seed; the same seed gives the same trouble, in whatever order the calls come.

Each decision is drawn from the seed and from what it is about (the shard and the call's number on it, the place, the pass
of the listing), never from the order in which threads ask. What a correct reader survives is on by default; nothing that
loses records is.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self, TypedDict

from streamiter.clock import SECOND_US, microseconds
from streamiter.testing.names import unknown
from streamiter.testing.trouble import refusals
from streamiter.testing.trouble.injected import Fault, Kind

MOST_FAILURES = 3  # of one operation on one shard, in a row: a caller that tries again gets an answer
MOST_EMPTIES = 7  # pages in a row before a record; eight are how readers know the tip
MOST_HIDDEN = 3  # passes of the listing that lack a new shard

_CUTS: tuple[Kind, ...] = ("cut", "reset", "bad_json", "bad_crc", "html")


class Chances(TypedDict, total=False):
    """The options of `sim.misbehave`, beside the seed."""

    throttles: float
    errors: float
    partial: float
    cuts: float
    slow: float
    expired: float
    empty_pages: float
    short_pages: float
    lag: float
    doubled: float
    looks_open: float
    lists_nothing: float
    skew: float
    jitter: float
    gone: float
    trimmed: float


@dataclass
class Weather:
    """The chance of each kind of trouble, from 0 to 1, for each call, page, shard or listing that it can hit."""

    seed: int
    throttles: float = 0.05  # a call: too many, in the words that its operation knows for that, if any
    errors: float = 0.05  # a call: the service failed, likewise
    partial: float = 0.05  # a part of a batch: it is left undone, and the answer says so
    cuts: float = 0.05  # a call: half an answer, none, a damaged one, a proxy's page
    slow: float = 0.02  # a call: the answer comes 50 real ms later
    expired: float = 0.02  # a GetRecords call
    empty_pages: float = 0.2  # a place among the records: 1 to 7 empty pages come before it
    short_pages: float = 0.2  # a place: the page ends before it
    lag: float = 0.3  # a shard: the first 1 to 3 passes of the listing lack it
    doubled: float = 0.05  # a row of a listing comes twice
    looks_open: float = 0.05  # a closed shard's row has no end
    lists_nothing: float = 0.05  # a pass of the listing is empty
    skew: float = 0.0  # seconds that a shard's clock is ahead or behind, at most
    jitter: float = 0.0  # seconds that a record's creation time lies before its writing, at most
    gone: float = 0.0  # a GetShardIterator call: the shard is not found
    trimmed: float = 0.0  # a GetShardIterator call
    _calls: Counter[tuple[str, str]] = field(default_factory=Counter, repr=False)
    _failed: Counter[tuple[str, str]] = field(default_factory=Counter, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __new__(cls, *_: Any, **chances: Any) -> Self:
        """Raises ValueError for the name of a chance that does not exist."""
        for name in chances:
            if name not in Chances.__annotations__ and name != "seed":
                raise ValueError(unknown("chance", name, Chances.__annotations__))
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name in Chances.__annotations__:
            most = 1e9 if name in ("skew", "jitter") else 1
            if not 0 <= getattr(self, name) <= most:
                raise ValueError(f"{name} goes from 0 to {most:.15g}, this is {getattr(self, name)}")

    # -- calls

    def fault(self, operation: str, shards: tuple[str, ...], service: str = "dynamodbstreams") -> Fault | None:
        """The fault that this call meets, or None."""
        about = operation, shards[0] if shards else ""
        with self._lock:
            self._calls[about] += 1
            kind = self._kind(about, service) if self._failed[about] < MOST_FAILURES else None
            self._failed[about] = 0 if kind in (None, "slow") else self._failed[about] + 1
        return None if kind is None else Fault(kind, operation)

    def leaves(self, operation: str, part: object) -> bool:
        """Whether a part of a batch is left undone; never more than three times in a row."""
        about = operation, f"{part!r}"
        with self._lock:
            self._calls[about] += 1
            is_left = (
                self._failed[about] < MOST_FAILURES
                and self._draw("part", *about, self._calls[about]).random() < self.partial
            )
            if is_left:
                self._failed[about] += 1
            else:  # that part is done: the caller does not send it again
                del self._failed[about], self._calls[about]
        return is_left

    def _kind(self, about: tuple[str, str], service: str) -> Kind | None:
        draw = self._draw("call", *about, self._calls[about])
        operation = about[0]
        chances: list[tuple[float, tuple[Kind, ...]]] = [
            (self.throttles, refusals.throttles(service, operation)),
            (self.errors, refusals.errors(service, operation)),
            (self.cuts, _CUTS),
            (self.slow, ("slow",)),
        ]
        if operation == "GetRecords":
            chances.append((self.expired, refusals.expired(service, operation)))
        if operation == "GetShardIterator":
            chances.append((self.gone, refusals.gone(service, operation)))
            chances.append((self.trimmed, refusals.trimmed(service, operation)))
        for chance, kinds in chances:
            if kinds and draw.random() < chance:
                return draw.choice(kinds)
        return None

    # -- pages

    def empties_before(self, shard: str, place: int) -> int:
        """How many empty pages come before the record at this place."""
        draw = self._draw("empty", shard, place)
        return draw.randint(1, MOST_EMPTIES) if draw.random() < self.empty_pages else 0

    def next_cut(self, shard: str, place: int, limit: int) -> int | None:
        """The place at which the page that starts here must end, if any."""
        if not self.short_pages:
            return None
        ahead = range(place + 1, place + limit)
        return next((at for at in ahead if self._draw("cut", shard, at).random() < self.short_pages), None)

    # -- listings

    def hides(self, shard: str, passes: int) -> bool:
        """Whether a listing still lacks a shard that was there for so many passes."""
        draw = self._draw("lag", shard)
        return draw.random() < self.lag and passes < draw.randint(1, MOST_HIDDEN)

    def doubles(self, shard: str, number: int) -> bool:
        """Whether a shard's row comes twice in this pass."""
        return self._draw("double", shard, number).random() < self.doubled

    def shows_open(self, shard: str, number: int) -> bool:
        """Whether a closed shard's row has no end in this pass."""
        return self._draw("open", shard, number).random() < self.looks_open

    def is_blank(self, number: int) -> bool:
        """Whether this pass is empty; two in a row never are."""
        blank = [self._draw("nothing", at).random() < self.lists_nothing for at in (number, number - 1)]
        return blank == [True, False]

    # -- creation times

    def created_shift_us(self, shard: str, place: int) -> int:
        """By how much a record's creation time is off."""
        skew = self._draw("skew", shard).uniform(-self.skew, self.skew)
        return microseconds(skew) - round(self._draw("jitter", shard, place).uniform(0, self.jitter) * SECOND_US)

    def _draw(self, *about: object) -> random.Random:
        return random.Random(f"{self.seed} {about}")
