"""Readers: read a lease's records: from a shard's pages, or, with order="total", from one ordered stream over all shards."""

from __future__ import annotations

from abc import ABC, abstractmethod

from streamiter.app.pages import Read, ShardPages
from streamiter.app.threads import Calls


class Reader(ABC):
    """Reads in turns, one at a time."""

    @abstractmethod
    async def turn(self, now_us: int) -> Read:
        """Reads what comes next."""

    @abstractmethod
    async def restart(self) -> None:
        """Goes on behind a gap that an operator accepted."""

    async def close(self) -> None:  # noqa: B027 - most hold nothing open
        """Closes what it holds open: the lease is no longer ours."""


class ShardReader(Reader):
    """Reads one shard. A thread fetches its pages."""

    def __init__(self, pages: ShardPages, threads: Calls) -> None:
        self._pages = pages
        self._threads = threads

    async def turn(self, now_us: int) -> Read:
        """The shard's next page."""
        return await self._threads.call(lambda: self._pages.turn(now_us))

    async def restart(self) -> None:
        """Goes on with what the service still holds."""
        self._pages.restart()
