"""Sharing: a source as one consumer of a group sees it, whose other consumers may be programs of any kind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from streamiter.source.base import R_co, Source


class Guard(NamedTuple):
    """Where a lease's row stands, and what it says while this worker has it."""

    server: str  # the server and database, as it tells itself
    key: str
    owner: str
    fence: str


class SharedSource(Source[R_co]):
    """Reads a shard for whoever has its lease, and looks at the lease's row with each read. `publish` acks what is done."""

    @abstractmethod
    def check(self, make_guard: Callable[[], Guard]) -> None:
        """InvalidOption where the rows of leases cannot be looked at."""

    @abstractmethod
    def join(self, shard_id: str, guard: Guard) -> None:
        """From now on the shard is read under this lease."""
