"""Readers: where a lease's records come from: a shard's pages, or, with order="total", one ordered stream over all shards."""

from __future__ import annotations

from abc import ABC, abstractmethod

from streamiter.app.pages import Read, ShardPages
from streamiter.app.threads import Calls


class Reader(ABC):
    """Gives turn after turn; only one is made at a time."""

    @abstractmethod
    async def turn(self, now_us: int) -> Read:
        """What comes next."""

    @abstractmethod
    async def restart(self) -> None:
        """Goes on behind a gap that was accepted."""

    async def close(self) -> None:  # noqa: B027 - most hold nothing open
        """The lease is ours no more."""


class ShardReader(Reader):
    """One shard, its pages fetched by a thread."""

    def __init__(self, pages: ShardPages, threads: Calls) -> None:
        self._pages = pages
        self._threads = threads

    async def turn(self, now_us: int) -> Read:
        """The shard's next page."""
        return await self._threads.call(lambda: self._pages.turn(now_us))

    async def restart(self) -> None:
        """From what the service still holds."""
        self._pages.restart()
