"""The watch: while nothing is pending, one call that waits for what is new in all idle shards at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple

from streamiter.clock import SECOND_US, Clock, SystemClock
from streamiter.reading import Reading
from streamiter.source.base import Source
from streamiter.source.cursor import Cursor

WATCH_SECONDS = 2.0  # one call waits so long at most
AFTER_FAULT_US = SECOND_US


class WatchAsk(NamedTuple):
    """These shards are watched."""

    shard_ids: frozenset[str]


class Watch:
    """Which shards are watched. `submit` makes the call on a thread of its own, or returns False if it cannot."""

    def __init__(self, source: Source, clock: Clock, submit: Callable[[WatchAsk, Callable[[], Collection[str]]], bool]):
        # A clock that is turned by hand stands still while a call waits.
        self._is_possible = source.watches and isinstance(clock, SystemClock)
        self._source = source
        self._submit = submit
        self._watched: frozenset[str] | None = None  # None: no call is under way
        self._until_us = 0

    def begin(self, reading: Reading, cursors: Mapping[str, Cursor], now_us: int) -> bool:
        """Watches the idle shards of a reader that is about to rest; gives whether any are watched."""
        if not self._is_possible:
            return False
        resting = [shard_id for shard_id in reading.resting(now_us) if shard_id in cursors]
        if self._watched is None and resting and now_us >= self._until_us:
            asked = WatchAsk(frozenset(resting))
            places = [cursors[shard_id].iterator for shard_id in resting]
            if not self._submit(asked, partial(self._source.watch, places, WATCH_SECONDS)):
                self._is_possible = False
                return False
            self._watched, self._until_us = asked.shard_ids, now_us + round(WATCH_SECONDS * SECOND_US)
        if self._watched is None:
            return False
        reading.watched(self._watched.intersection(resting), self._until_us)
        return True

    def end(self, reading: Reading, found: Collection[str] | None, now_us: int) -> None:
        """The call came back; with None, it failed."""
        watched, self._watched = self._watched or frozenset(), None
        self._until_us = now_us + AFTER_FAULT_US if found is None else 0
        reading.heard(watched if found is None else watched.intersection(found), now_us)

    def forget(self) -> None:
        """Another reading begins: the answer under way is not for it."""
        self._watched, self._until_us = None, 0
