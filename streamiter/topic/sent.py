"""What sending gives: where values were written; inside an event loop it is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple, overload

from streamiter.errors import StreamiterError


class Written(NamedTuple):
    """Where a value was written: its partition, and its number there."""

    partition: int
    number: int


class Sent:
    """A value that is written, or, inside an event loop, on its way: `await` it.

    `sent.partition` and `sent.number` say where it was written.
    """

    __slots__ = ("_coming", "_written")

    def __init__(self, written: Written | None, coming: asyncio.Future[Written] | None = None) -> None:
        self._written = written
        self._coming = coming

    @property
    def place(self) -> Written:
        """Where it was written."""
        if self._written is None and self._coming is not None and self._coming.done():
            self._written = self._coming.result()
        if self._written is None:
            raise StreamiterError(_NOT_YET)
        return self._written

    @property
    def partition(self) -> int:
        """The partition that its key led to."""
        return self.place.partition

    @property
    def number(self) -> int:
        """Its number in the partition: the sequence number of its record."""
        return self.place.number

    def __await__(self) -> Generator[Any, None, Sent]:
        if self._coming is not None:
            self._written = yield from self._coming.__await__()
        return self

    def __repr__(self) -> str:
        if self._written is None:
            return "<Sent: on its way>"
        return f"<Sent to partition {self._written.partition} as {self._written.number}>"


class SentMany(Sequence[Written]):
    """Values that are written, in the order in which they were given, or, inside an event loop, on their way: `await` it."""

    __slots__ = ("_coming", "_written")

    def __init__(self, written: list[Written] | None, coming: asyncio.Future[list[Written]] | None = None) -> None:
        self._written = written
        self._coming = coming

    @property
    def _places(self) -> list[Written]:
        if self._written is None and self._coming is not None and self._coming.done():
            self._written = self._coming.result()
        if self._written is None:
            raise StreamiterError(_NOT_YET)
        return self._written

    @overload
    def __getitem__(self, index: int) -> Written: ...
    @overload
    def __getitem__(self, index: slice) -> list[Written]: ...

    def __getitem__(self, index: int | slice) -> Written | list[Written]:
        return self._places[index]

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Written]:
        return iter(self._places)

    def __await__(self) -> Generator[Any, None, SentMany]:
        if self._coming is not None:
            self._written = yield from self._coming.__await__()
        return self

    def __repr__(self) -> str:
        return "<SentMany: on their way>" if self._written is None else f"<SentMany: {len(self._written)} values>"


_NOT_YET = "this is still on its way: inside an event loop, `await topic.send(...)` and `await topic.sendmany(...)`"
