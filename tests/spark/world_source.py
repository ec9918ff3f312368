"""A world as a source: the planner and the tasks are tried on all that hypothesis draws, without a service or a JVM."""

from __future__ import annotations

import threading

from streamiter.position import Position
from streamiter.record import Record
from streamiter.source.base import Page, ShardIterator, ShardPage, Source
from streamiter.testing import ManualClock
from tests.worlds import DAY, NOW, SECOND, STREAM, Lag, Pages, Tape, World


class WorldSource(Source):
    """Tells a world by the contract of sources. It notes whose records were asked for."""

    retention_us = DAY
    iterator_us = 15 * 60 * SECOND
    page_limit = 1000
    listings_per_second = 10.0
    name = STREAM
    record_type = Record

    def __init__(self, world: World, clock: ManualClock, tape: Tape | None = None, lag: Lag | None = None) -> None:
        self.world = world
        self.read: set[str] = set()  # shards of which records were asked for
        self._clock = clock
        self._tape = tape or Tape()
        self._pages = Pages(world, self._tape, SECOND)
        self._lag = lag or Lag()
        self._lock = threading.Lock()
        self._listings = 0

    def other(self) -> WorldSource:
        """The same service to another process: in which runs it gets empty pages is nothing to this one."""
        return WorldSource(self.world, self._clock, self._tape, self._lag)

    @property
    def service_us(self) -> int:
        return NOW + round(self._clock.monotonic() * SECOND)

    def list_shards(self, after: str | None) -> ShardPage:
        with self._lock:
            self._listings += 1
            hidden = self._lag.hidden(self.world, self._listings - 1, self.service_us)
            return ShardPage(tuple(self.world.rows(self.service_us, hidden)), None, self.service_us)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        with self._lock:
            index = self.world.open(shard_id, position, self.service_us)
            since = getattr(getattr(position, "place", None), "since", 0)
            self._pages.opened(shard_id)
            # The world's own `open` leaves out what the cursor is to skip.
            return ShardIterator(shard_id, index - since)

    def fetch(self, iterator: ShardIterator, limit: int) -> Page:
        with self._lock:
            shard_id, at = iterator
            self.read.add(shard_id)
            page, _ = self._pages.fetch(shard_id, at, self.service_us)
            return page._replace(children=(), rest_us=0)

    def close(self) -> None:
        pass
