"""Uses of an AsyncStream: what a task may await of it, and what its shelf holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from streamiter import (
    AsyncStream,
    TransientError,
)
from tests.stream.family import Shelf, family, numbers

ALL = list(range(1, 13))
Use = Callable[[AsyncStream[Any]], Awaitable[Any]]

USES: dict[str, Use] = {
    "anext": lambda stream: anext(stream),
    "next": lambda stream: stream.next(),
    "take": lambda stream: stream.take(3, 5.0),
    "follow": lambda stream: anext(stream.follow()),
    "batches": lambda stream: anext(stream.batches(1)),
    "to_arrow": lambda stream: stream.to_arrow(),
    "move_to": lambda stream: stream.move_to("trim_horizon"),
    "skip": lambda stream: stream.skip(),
    "heartbeat": lambda stream: stream.heartbeat(),
}


def quiet() -> Shelf:
    """A shelf whose shards stay open, all of whose records are returned at once."""
    return family(stays_open=True)


async def until_quiet(stream: AsyncStream[Any]) -> list[int]:
    """All that is held."""
    return numbers([record async for record in stream.follow(until="caught_up")])


async def awaited(use: Use, stream: AsyncStream[Any]) -> Any:
    """As a coroutine, for a task."""
    return await use(stream)


class Unsteady(Shelf):
    """Cannot be looked up at first."""

    tries = 3

    @property
    def name(self) -> str:  # type: ignore[override]
        self.tries -= 1
        if self.tries > 0:
            raise TransientError("not now")
        return "shelf"
