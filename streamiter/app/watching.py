"""Watching: while no page is being fetched, one call waits for new records in all of a processor's leases."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple

from streamiter.app.threads import Calls
from streamiter.clock import SECOND_US
from streamiter.errors import SourceError
from streamiter.source.base import ShardIterator, Source

logger = logging.getLogger("streamiter.app")

WATCH_SECONDS = 2.0  # how long one call waits at most
AFTER_FAULT_SECONDS = 1.0


class Resting(NamedTuple):
    """A lease whose next page is not to be fetched before some moment."""

    key: str
    fence: int
    place: ShardIterator


class Watching:
    """Knows which leases rest, and makes the call that watches them. Everything but the call is on the event loop."""

    def __init__(
        self,
        source: Source[Any] | None,
        calls: Calls,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        fetch_in: Callable[[Resting, int], None],
    ) -> None:
        """`fetch_in`: the lease's next page is to be asked for after so many microseconds."""
        self._source = source if source is not None and source.watches else None
        self._calls = calls
        self._spawn = spawn
        self._fetch_in = fetch_in
        self._resting: dict[str, Resting] = {}
        self._fetching = 0
        self._is_watching = False

    def fetching(self, key: str) -> None:
        """The lease's next page is being fetched."""
        self._fetching += 1
        self._resting.pop(key, None)

    def fetched(self, resting: Resting | None) -> None:
        """The fetch is over; the lease rests now."""
        self._fetching -= 1
        if resting is not None and self._source is not None:
            self._resting[resting.key] = resting
        if self._source is not None and self._resting and not self._fetching and not self._is_watching:
            self._is_watching = True
            self._spawn(self._watch(self._source))

    def forget(self, key: str) -> None:
        """The lease is no longer ours."""
        self._resting.pop(key, None)

    async def _watch(self, source: Source[Any]) -> None:
        try:
            while self._resting and not self._fetching:
                watched = dict(self._resting)
                for resting in watched.values():
                    self._fetch_in(resting, round(WATCH_SECONDS * SECOND_US))
                places = [resting.place for resting in watched.values()]
                try:
                    found = await self._calls.call(partial(source.watch, places, WATCH_SECONDS))
                except SourceError as error:
                    logger.info("nothing is watched for a while: %s", error)
                    await asyncio.sleep(AFTER_FAULT_SECONDS)
                    continue
                for resting in watched.values():
                    if resting.place.shard_id in found and self._resting.get(resting.key) is resting:
                        self._fetch_in(resting, 0)
                if found:
                    return  # pages are being fetched; the last of them begins the next watch
        finally:
            self._is_watching = False
