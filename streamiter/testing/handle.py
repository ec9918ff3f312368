"""Handles: what a test does to any simulated stream, one line each: to its shards, its pages and its listings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Unpack

from streamiter.testing.trouble.listing import Bounds, Listing, Mood
from streamiter.testing.trouble.pages import PageScript
from streamiter.testing.truth.shards import SimulatedShard

if TYPE_CHECKING:
    from streamiter.testing.http.reception import Reception


class ShardedTruth(Protocol):
    """The truth about a stream: the part that all kinds of streams share."""

    listing: Listing

    def shard(self, name: str, /) -> SimulatedShard: ...


class StreamHandle(ABC):
    """The common part of the handles of table streams and of Kinesis streams. Shards go by the names given in `shape`."""

    def __init__(self, reception: Reception) -> None:
        self._reception = reception

    @property
    @abstractmethod
    def _stream(self) -> ShardedTruth: ...

    @abstractmethod
    def shard_id(self, name: str) -> str:
        """The id under which the service knows a shard."""

    # -- shards go

    def close_shard(self, shard: str) -> None:
        """Closes a shard without a child."""
        with self._reception.lock:
            self._stream.shard(shard).close(self._now_us)

    def remove(self, shard: str, *, listed: bool = False) -> None:
        """The service forgets a shard; with `listed`, listings still show it."""
        with self._reception.lock:
            truth = self._stream.shard(shard)
            truth.is_gone, truth.is_listed = True, listed

    # -- pages

    def pages(self, shard: str, script: Sequence[int], *, repeat: bool = False) -> None:
        """Cuts a shard's pages: `[0, 0, 3]` is two empty ones, then one of three records; then as it comes, or again."""
        self._stream.shard(shard).pages = PageScript(script, repeat=repeat)

    def empty_pages(self, shard: str, *counts: int) -> None:
        """How many empty pages come before the first record of a shard, before the second, ..."""
        self._stream.shard(shard).empty_pages = list(counts)

    # -- listings

    def hide(self, *shards: str, **bounds: Unpack[Bounds]) -> None:
        """Listings lack these shards: for so many passes, calls or seconds, after so many more passes; or until `show`.

        A pass begins with each call that names no shard to start after. A shard may be hidden before it is there.
        """
        self._cast("hidden", shards, bounds)

    def list_open(self, *shards: str, **bounds: Unpack[Bounds]) -> None:
        """Listings show these closed shards as open still."""
        self._cast("open", shards, bounds)

    def list_twice(self, *shards: str, **bounds: Unpack[Bounds]) -> None:
        """Listings show these shards twice."""
        self._cast("twice", shards, bounds)

    def list_nothing(self, **bounds: Unpack[Bounds]) -> None:
        """Listings are empty."""
        self._cast("nothing", (), bounds)

    def show(self) -> None:
        """Listings tell the truth again."""
        self._stream.listing.clear()

    # -- inside

    @property
    def _now_us(self) -> int:
        return self._reception.now_us

    def _cast(self, mood: Mood, shards: Sequence[str], bounds: Bounds) -> None:
        with self._reception.lock:
            self._stream.listing.cast(mood, frozenset(map(self.shard_id, shards)), self._now_us, bounds)
