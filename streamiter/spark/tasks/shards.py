"""Shards: a task reads a range of a shard, in the shard's order, with the order keys that the merge would give its records."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator
from contextlib import closing

from streamiter.clock import Clock
from streamiter.errors import PositionTrimmed, ShardGone, TimeUnsupported
from streamiter.merge import TIP_EMPTIES, Lane
from streamiter.position import After, AtTime, Horizon, Place, Position, openable
from streamiter.reading import gaps
from streamiter.reading.floors import Start
from streamiter.record import Record
from streamiter.source.base import Page, Source
from streamiter.spark.planning.parts import ShardRange
from streamiter.spark.tasks.fetching import Trying, pages
from streamiter.spark.tasks.floors import Floors
from streamiter.spark.tasks.losses import pass_gap, without_spoiled

# After so many empty pages in a row the service no longer holds the last record of the range, which it held once. Without
# this a task would wait for that record for ever, because an open shard has no end.
MOST_EMPTIES = 3 * TIP_EMPTIES


class ShardReader:
    """Reads ranges. A lane gives the records their order times and places, as it does in the merge."""

    def __init__(self, source: Source, floors: Floors, clock: Clock, *, fails_on_gap: bool = True) -> None:
        self._source = source
        self._floors = floors
        self._clock = clock
        self._fails_on_gap = fails_on_gap

    def read(
        self, part: ShardRange, before_us: int | None = None, planned_us: int | None = None
    ) -> Generator[list[Record]]:
        """The records of a range, page by page, up to the order time `before_us` if it is given.

        `planned_us` is the service's time when the range was planned.
        """
        lane = self._lane(part, planned_us)
        trying = Trying(part.shard_id, self._clock)
        while True:
            try:
                yield from self._pages(part, lane, trying, before_us)
                break
            except TimeUnsupported:
                self._floors.refuses_time = True
            except PositionTrimmed as error:
                self._pass_trimmed(lane, error, trying)
            except ShardGone:
                if gaps.was_read(lane):
                    self._pass_gap(lane, gaps.REMOVED)
                return
        if part.end is None and before_us is None and isinstance(lane.start, Horizon):
            self._floors.note(part.shard_id, lane.last_us)

    def _lane(self, part: ShardRange, planned_us: int | None) -> Lane:
        """The lane of a range; it is `floor_unknown` until it is known how high the order times of its ancestors go."""
        start, floor_us, since_us, floor_unknown = part.start, part.floor_us, part.since_us, bool(part.seek)
        if floor_unknown and since_us is not None and floor_us is None:
            floor_unknown = False
            floor_us = self._floors.above(part.seek, since_us, planned_us)
            if floor_us is not None:  # Below an ancestor that gave records, all is asked for (law 3).
                opened_us = start.opened_us if isinstance(start, Horizon | AtTime) else None
                start, since_us = Start(since_us).position(floor_us, opened_us), None
        lane = Lane(part.shard_id, part.rank, start, floor_us=floor_us, skip_before_us=since_us, closed=True)
        lane.floor_unknown = floor_unknown
        lane.service_us = planned_us or 0
        if part.read_up_to_us is not None and isinstance(start, After):
            lane.read_up_to_us = part.read_up_to_us
        return lane

    def _pages(self, part: ShardRange, lane: Lane, trying: Trying, before_us: int | None) -> Generator[list[Record]]:
        def place() -> Position:
            return openable(lane.fetch_position, _service_us(lane), refuses_time=self._floors.refuses_time)

        empties = 0
        with closing(pages(self._source, part.shard_id, place, self._clock, trying)) as told:
            for page in told:
                if page.service_us is not None and self._is_stale(lane.fetch_position, page.service_us):
                    self._pass_gap(lane, gaps.TOO_OLD)  # The service itself would not say that there is one.
                empties = 0 if page.records else empties + 1
                if part.end is not None and empties > MOST_EMPTIES:
                    if not self._is_before_start(lane, part.end):
                        self._pass_gap(lane, f"{part.end}, up to which it was read before, does not come")
                    return
                if page.records and lane.floor_unknown:
                    lane.raise_floor(self._floors.above(part.seek, self._least(lane, page), page.service_us))
                lane.push(page.records, page.service_us or 0)
                end, is_last = self._end(part, lane, before_us)
                records = self._take(lane, end)
                if records:
                    yield records
                if is_last:
                    return

    def _least(self, lane: Lane, page: Page) -> int | None:
        """The order time that the page begins with, before its floor is known. Only later ones of ancestors can raise it."""
        known = [us for us in (lane.last_us, page.records[0].created_us) if us is not None]
        return max(known, default=None)

    def _end(self, part: ShardRange, lane: Lane, before_us: int | None) -> tuple[int, bool]:
        """The index after the last waiting record that belongs to the range, and whether the range ends there."""
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
        """Whether all of the range is older than the time asked for: the service still holds its last record."""
        if lane.skip_before_us is None or lane.given:
            return False
        try:
            with closing(pages(self._source, lane.shard_id, lambda: After(end), self._clock)) as told:
                next(told)
        except (PositionTrimmed, ShardGone):
            return False
        return True

    def _pass_trimmed(self, lane: Lane, error: PositionTrimmed, trying: Trying) -> None:
        service_us = _service_us(lane)
        again = gaps.way_on(lane, service_us, lambda position: self._is_stale(position, service_us))
        if again is None:
            self._pass_gap(lane, gaps.TRIMMED)
            return
        if again != lane.fetch_position:
            lane.restart(again)
        trying.wait_out(error)

    def _is_stale(self, position: Position, service_us: int | None) -> bool:
        """Whether records that were held when the position was chosen may be gone by now."""
        return service_us is not None and position.is_expired(service_us, self._source.retention_us)

    def _pass_gap(self, lane: Lane, reason: str) -> None:
        """Goes on with what is still held, where a gap is not to end the query."""
        pass_gap(lane.shard_id, lane.fetch_position, reason, fails=self._fails_on_gap)
        lane.restart(Start(lane.skip_before_us).position(lane.emitted_us, _service_us(lane)))

    def _take(self, lane: Lane, end: int) -> list[Record]:
        """The waiting records up to an index; the lane has written their order on them."""
        records = lane.records[lane.head : end]
        lane.advance(len(records))
        return without_spoiled(records, fails=self._fails_on_gap) if lane.new_spoiled else records


def _service_us(lane: Lane) -> int | None:
    """The service's time, as the lane's last page or the planner told it; None where neither did."""
    return lane.service_us or None
