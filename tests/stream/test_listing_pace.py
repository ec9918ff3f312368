"""The pace of listings: at most ten DescribeStream calls within any second of the service's time."""

from __future__ import annotations

import threading

import pytest

from streamiter import Stream
from streamiter.position import Position
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardIterator, ShardPage, Source
from streamiter.testing import ManualClock

pytestmark = pytest.mark.outdoors

SHARDS = 40


class OneAPage(Source):
    """A service that lists a shard a page, and whose listings hang while the gate is shut. The first shard is written to."""

    name = "stream"
    retention_us = 86_400_000_000
    iterator_us = 900_000_000
    page_limit = 1000
    listings_per_second = 10.0

    def __init__(self, clock: ManualClock) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.under_way = threading.Event()
        self.listed: list[float] = []  # when the service saw the calls
        self._clock = clock

    def list_shards(self, after: str | None) -> ShardPage:
        self.under_way.set()
        assert self.gate.wait(60)
        self.listed.append(self._clock.now())
        number = int(after or 0)
        return ShardPage((Shard(f"S{number}"),), str(number + 1) if number + 1 < SHARDS else None, self._now_us)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        return ShardIterator(shard_id, 1)

    def fetch(self, iterator: ShardIterator, limit: int) -> Page:
        following = ShardIterator(iterator.shard_id, iterator.value + 1)
        is_busy = iterator.shard_id == "S0"
        records = [Record("S0", str(iterator.value), self._now_us)] if is_busy else []
        return Page(records, following, self._now_us, None, 1000)

    def close(self) -> None: ...

    @property
    def _now_us(self) -> int:
        return round(self._clock.now() * 1e6)


def test_a_call_that_reached_the_service_late_counts_when_it_got_there():
    clock = ManualClock()
    source = OneAPage(clock)
    with Stream(source, clock=clock, lateness=None) as stream:
        while len(source.listed) < SHARDS:
            if next(stream) is None:
                clock.advance(0.05)
        clock.advance(120)
        source.gate.clear()
        source.under_way.clear()
        while not source.under_way.is_set():
            if next(stream) is None:
                clock.advance(0.05)
        clock.advance(1200)  # the caller does something else; only then the service sees the call
        source.gate.set()
        while len(source.listed) < 2 * SHARDS:
            if next(stream) is None:
                clock.advance(0.01)
    for earlier, later in zip(source.listed, source.listed[10:], strict=False):
        assert later - earlier > 0.999
