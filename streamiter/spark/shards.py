"""Shards: a range of one, read by a task: its records in their order, with the keys that the merge would have given them."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Generator
from contextlib import closing

from streamiter.clock import Clock, floor_second
from streamiter.errors import PositionTrimmed, RecordsExpired, ShardGone, TimeUnsupported
from streamiter.merge import TIP_EMPTIES, Lane
from streamiter.position import After, AtTime, Horizon, Place, Position
from streamiter.record import Record
from streamiter.source.base import Page, Source
from streamiter.spark.fetching import pages
from streamiter.spark.floors import Floors
from streamiter.spark.parts import ShardRange

logger = logging.getLogger("streamiter.spark")

MOVED_ON_SECONDS = 0.1
MOST_EMPTIES = 3 * TIP_EMPTIES  # pages without a record that was there once: an open shard would never end without it
HINT = (
    "option failOnDataLoss=false reads on with what is still held; a new checkpoint with startingPosition TRIM_HORIZON "
    "starts over"
)


class ShardReader:
    """Reads ranges. A lane gives the records their order times and places, as it does in the merge."""

    def __init__(self, source: Source, floors: Floors, clock: Clock, *, fails_on_gap: bool = True) -> None:
        self._source = source
        self._floors = floors
        self._clock = clock
        self._fails_on_gap = fails_on_gap

    def read(
        self, part: ShardRange, before_us: int | None = None, service_us: int | None = None
    ) -> Generator[list[Record]]:
        """The records of a range, page by page, up to an order time if one is given."""
        lane, is_resolved = self._lane(part, service_us)
        while True:
            try:
                yield from self._pages(part, lane, is_resolved, before_us, service_us)
                break
            except TimeUnsupported:
                # It is read from its horizon instead; the lane leaves out what is older.
                lane.start = Horizon(lane.opened_us)
            except PositionTrimmed:
                self._pass_trimmed(part, lane)
            except ShardGone:
                if lane.last_us is None and lane.place is None:
                    return  # Nothing of it nor of its ancestors was ever read: it is just not held any more (law 5).
                self._pass_gap(lane, lane.fetch_position, "the service has removed the shard")
                return
        if part.end is None and before_us is None and isinstance(lane.start, Horizon):
            self._floors.note(part.shard_id, lane.last_us)

    def _lane(self, part: ShardRange, service_us: int | None) -> tuple[Lane, bool]:
        """The lane of a range, and whether its floor is known."""
        floor_us, since_us, start = part.floor_us, part.since_us, part.start
        is_resolved = not part.seek
        if not is_resolved and since_us is not None and floor_us is None:
            # Below an ancestor with records that were asked for, all are asked for, whatever their times say (law 3).
            floor_us = self._floors.above(part.seek, since_us, service_us)
            is_resolved = True
            if floor_us is not None:
                since_us, start = None, Horizon(getattr(start, "opened_us", None))
        lane = Lane(part.shard_id, part.rank, start, floor_us=floor_us, skip_before_us=since_us, closed=True)
        return lane, is_resolved

    def _pages(
        self, part: ShardRange, lane: Lane, is_resolved: bool, before_us: int | None, service_us: int | None
    ) -> Generator[list[Record]]:
        def place() -> Position:
            position = lane.fetch_position
            if isinstance(position, AtTime) and service_us is not None and position.time_us > service_us:
                return AtTime(floor_second(service_us), position.opened_us)  # A time to come is refused.
            return position

        empties = 0
        with closing(pages(self._source, part.shard_id, place, self._clock)) as told:
            for page in told:
                self._check_start(lane, page)
                empties = 0 if page.records else empties + 1
                if part.end is not None and empties > MOST_EMPTIES:
                    if self._is_before_start(lane, part.end):
                        return
                    reason = f"{part.end}, up to which it was read before, does not come"
                    self._pass_gap(lane, lane.fetch_position, reason)
                    return
                if page.records and not is_resolved:
                    lane.raise_floor(self._floors.above(part.seek, self._least(lane, page), page.service_us))
                    is_resolved = True
                lane.push(page.records, page.service_us or 0)
                end, is_last = self._end(part, lane, before_us)
                records = _take(lane, end)
                if records:
                    yield records
                if is_last:
                    return

    def _least(self, lane: Lane, page: Page) -> int | None:
        """No ancestor matters whose order times stay below this one."""
        known = [us for us in (lane.last_us, page.records[0].created_us) if us is not None]
        return max(known, default=None)

    def _end(self, part: ShardRange, lane: Lane, before_us: int | None) -> tuple[int, bool]:
        """How far the waiting records belong to the range, and whether it ends there."""
        count = len(lane.times)
        end = count if before_us is None else bisect_left(lane.times, before_us, lane.head)
        if part.end is None:
            return end, end < count
        for index in range(lane.head, end):
            place = lane.place_at(index)
            if place[:2] >= part.end[:2]:
                return (index + 1 if place[:2] == part.end[:2] else index), True
        return end, end < count

    def _is_before_start(self, lane: Lane, end: Place) -> bool:
        """Whether the range ends before the time asked for: its last record is held still, and is older."""
        if lane.skip_before_us is None or lane.given:
            return False
        try:
            with closing(pages(self._source, lane.shard_id, lambda: After(end), self._clock)) as told:
                next(told)
        except (PositionTrimmed, ShardGone):
            return False
        return True

    def _check_start(self, lane: Lane, page: Page) -> None:
        """A start that is older than what the service holds hides a gap: it would not say so itself."""
        position = lane.fetch_position
        if page.service_us is not None and position.is_expired(page.service_us, self._source.retention_us):
            self._pass_gap(lane, position, "its start is older than what the service holds")

    def _pass_trimmed(self, part: ShardRange, lane: Lane) -> None:
        position = lane.fetch_position
        if isinstance(position, Horizon | AtTime):
            self._clock.sleep(MOVED_ON_SECONDS)  # Nothing was read of it yet: its horizon only moved on.
        elif part.idle_us is not None and not lane.given:
            # All up to its tip was read; only the last record is old. The next page tells whether that tip is, too.
            lane.resume_at(AtTime(part.idle_us))
        else:
            self._pass_gap(lane, position, "the service has trimmed what comes next")

    def _pass_gap(self, lane: Lane, position: Position, reason: str) -> None:
        gap = RecordsExpired(lane.shard_id, position, reason=reason, hint=HINT)
        if self._fails_on_gap:
            raise gap
        logger.warning("gap accepted, as failOnDataLoss=false says: %s", gap.what)
        lane.restart(Horizon())


def _take(lane: Lane, end: int) -> list[Record]:
    """The waiting records up to an index; the lane has written their order on them."""
    records = lane.records[lane.head : end]
    lane.advance(len(records))
    return records
