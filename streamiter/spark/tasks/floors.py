"""Floors: how high the order times of a shard's ancestors go, found by asking each for records newer than the shard's first.

Nearly always there are none, because an ancestor ends before the shard begins. So it takes two calls for each ancestor, and
tasks need not tell each other order times. (A Stream reads such ancestors again, whole: reading/floors.py. It may do so
seldom, after a resume only; tasks do it for each shard.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from streamiter.clock import Clock, floor_second
from streamiter.errors import PositionTrimmed, ShardGone, TimeUnsupported
from streamiter.position import AtTime, Horizon, Position, openable
from streamiter.source.base import Source
from streamiter.spark.tasks.fetching import pages


class Floors:
    """What a worker has found out so far. Ancestors are closed: it stays true, unless the service trims their records."""

    def __init__(self, source: Source, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._greatest: dict[str, int] = {}  # the greatest creation time of a shard, where that is known
        self._none_from: dict[str, int] = {}  # from this time on the shard has no record
        self.refuses_time = False  # whether the service cannot open shards at a time, as far as calls have shown

    def forget(self) -> None:
        """Knows no more than a new worker does."""
        self._greatest.clear()
        self._none_from.clear()

    def note(self, shard_id: str, last_us: int | None) -> None:
        """The shard was read whole: this was the last order time of it and of its ancestors."""
        if last_us is not None:
            self._greatest[shard_id] = last_us
        self._none_from[shard_id] = 0 if last_us is None else last_us + 1

    def above(self, ancestors: Collection[str], from_us: int | None, service_us: int | None) -> int | None:
        """The greatest order time of these shards, if it is `from_us` or later; `from_us` None: in any case."""
        found = [self._of(ancestor, from_us, service_us) for ancestor in ancestors]
        return max((time_us for time_us in found if time_us is not None), default=None)

    def _of(self, shard_id: str, from_us: int | None, service_us: int | None) -> int | None:
        none_from_us = self._none_from.get(shard_id)
        is_known = shard_id in self._greatest or (none_from_us is not None and (from_us or 0) >= none_from_us)
        if not is_known:
            self._seek(shard_id, from_us, service_us)
        greatest_us = self._greatest.get(shard_id)
        return greatest_us if greatest_us is not None and greatest_us >= (from_us or 0) else None

    def _seek(self, shard_id: str, from_us: int | None, service_us: int | None) -> None:
        greatest_us: int | None = None
        try:
            for created in self._created(shard_id, from_us, service_us):
                greatest_us = max([us for us in created if us is not None] + [greatest_us or 0])
        except (PositionTrimmed, ShardGone):
            pass  # What is trimmed counts as absent (law 3).
        if greatest_us:
            self._greatest[shard_id] = greatest_us
        self._none_from[shard_id] = max(greatest_us + 1 if greatest_us else 0, from_us or 0)

    def _created(self, shard_id: str, from_us: int | None, service_us: int | None) -> list[Sequence[int | None]]:
        """The creation times from a moment on, page by page; where shards cannot be opened at a time, all of them."""
        wanted: Position = AtTime(floor_second(from_us)) if from_us else Horizon()
        start = openable(wanted, service_us, refuses_time=self.refuses_time)
        try:
            told = pages(self._source, shard_id, lambda: start, self._clock)
            return [[record.created_us for record in page.records] for page in told]
        except TimeUnsupported:
            self.refuses_time = True
            return self._created(shard_id, None, None)
