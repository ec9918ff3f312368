"""Calls: what was asked of the service, and how it answered, for tests to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import overload

import msgspec


class Call(msgspec.Struct, frozen=True, gc=False):
    """One call, in the order of the answers."""

    operation: str
    outcome: str  # "ok", the error's name, or the kind of a fault of transport
    time: float  # by the service's clock
    table: str | None = None
    shard: str | None = None  # as the test named it
    iterator_type: str | None = None  # of GetShardIterator
    sequence_number: str | None = None  # of GetShardIterator
    timestamp: float | None = None  # of GetShardIterator
    limit: int | None = None
    records: int = 0  # of GetRecords


MOST_KEPT = 100_000


class Calls(Sequence[Call]):
    """The calls so far; of more than `most` the oldest are forgotten, so that a service can live for long."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._calls: list[Call] = []
        self._watchers: list[Callable[[Call], object]] = []

    def add(self, call: Call) -> None:
        """Notes a call."""
        self._calls.append(call)
        if len(self._calls) > self._most + self._most // 10:  # many at once: each costs a move of all that stay
            del self._calls[: -self._most]
        for watcher in self._watchers:
            watcher(call)

    def watch(self, watcher: Callable[[Call], object]) -> None:
        """Each call from now on is shown to this function, too."""
        self._watchers.append(watcher)

    def clear(self) -> None:
        """Forgets them, to look at what comes next alone."""
        self._calls.clear()

    def of(self, operation: str | None = None, *, shard: str | None = None, outcome: str | None = None) -> list[Call]:
        """The calls of an operation, on a shard, with an outcome; whatever is left out is not asked."""
        return [
            call
            for call in list(self._calls)
            if operation in (None, call.operation) and shard in (None, call.shard) and outcome in (None, call.outcome)
        ]

    def total(self, operation: str | None = None, *, shard: str | None = None, outcome: str | None = None) -> int:
        """How many there are."""
        return len(self.of(operation, shard=shard, outcome=outcome))

    @property
    def by_operation(self) -> Counter[str]:
        """How many there are of each operation."""
        return Counter(call.operation for call in list(self._calls))

    @property
    def by_outcome(self) -> Counter[str]:
        """How many ended how."""
        return Counter(call.outcome for call in list(self._calls))

    def __len__(self) -> int:
        return len(self._calls)

    @overload
    def __getitem__(self, index: int) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> list[Call]: ...
    def __getitem__(self, index: int | slice) -> Call | list[Call]:
        return self._calls[index]

    def __iter__(self) -> Iterator[Call]:
        return iter(list(self._calls))

    def __repr__(self) -> str:
        return f"<Calls {dict(self.by_operation)}>"
