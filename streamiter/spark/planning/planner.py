"""The planner: on Spark's driver it reads the open shards with the merged core, and leaves the closed ones to executors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

import msgspec

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.driving import Driver
from streamiter.errors import InvalidPosition, SourceError, TimeUnsupported
from streamiter.position import AtTime
from streamiter.reading import Handed, Mark, Reading
from streamiter.reading.listing import Pace
from streamiter.record import Record, SpoiledRecord
from streamiter.source.base import Source
from streamiter.spark.options import Options
from streamiter.spark.planning.between import is_backwards, ranges_between
from streamiter.spark.planning.listing import list_between
from streamiter.spark.planning.packing import MOST_BYTES, pack, row_bytes
from streamiter.spark.planning.parts import Partition, Rows, ShardRange, handed_range, partitions
from streamiter.spark.tasks.losses import pass_gap, pass_over
from streamiter.token import Token

PREFETCH_BYTES = 64 * 1024 * 1024
CONCURRENCY = 16
RUN = 512  # records between two looks at where a mark stands


class Harvest(NamedTuple):
    """Records that the planner read, and shards for executors to read; the token is after all of them."""

    records: list[Record]
    handed: list[Handed]
    token: Token


class Planner:
    """Reads on from a token. One thread at a time may use it."""

    def __init__(
        self,
        source: Source,
        token: Token,
        options: Options,
        clock: Clock,
        *,
        hands_over: bool,
        lateness: float | Literal["auto"] | None,
    ) -> None:
        self._source = source
        self._clock = clock
        self._options = options
        self._reading = Reading(
            token,
            precision=source.precision(lateness),
            holds=lateness is not None,
            retention_us=source.retention_us,
            poll_us=microseconds(source.poll_interval),
            idle_us=microseconds(source.idle_interval),
            listing_us=microseconds(options.listing_seconds or source.listing_interval),
            now_us=microseconds(clock.monotonic()),
            prefetch_bytes=PREFETCH_BYTES,
            page_limit=source.page_limit,
            pace=Pace(source.listings_per_second),
            hands_over=hands_over,
        )
        self._start_us = token.start
        self._driver = Driver(source, self._reading, clock, concurrency=CONCURRENCY)
        self._handed: list[Handed] = []
        self._refuses_time: bool | None = None  # not tried yet

    # -- turning

    def turn(self, *, wait: bool = False) -> None:
        """Does what can be done now; raises errors that waiting does not mend."""
        self._driver.turn(wait=wait)
        self._pass_gaps()
        self._driver.raise_fault()

    @property
    def pause_seconds(self) -> float:
        """How long until a call is due; 0 while an answer is under way."""
        if self._driver.is_asking:
            return 0.0
        return max(0.0, (self._driver.next_due_us - self._driver.now_us) / SECOND_US)

    @property
    def has_answers(self) -> bool:
        """Whether an answer waits to be taken in."""
        return self._driver.has_answers

    @property
    def has_news(self) -> bool:
        """Whether anything can come out now."""
        return self.has_handed or self._reading.peek() is not None

    @property
    def has_handed(self) -> bool:
        """Whether shards wait for executors."""
        self._handed += self._reading.take_handed()
        return bool(self._handed)

    @property
    def is_filling(self) -> bool:
        """Whether much more is about to come: shards are being caught up with, and there is room."""
        book = self._reading.book
        if book.merge.waiting_bytes > PREFETCH_BYTES // 2:
            return False
        return book.merge.is_blocked or any(lane.is_behind and not lane.is_current for lane in book.lanes.values())

    def mark(self) -> Mark:
        """This moment, for `is_past`."""
        return self._reading.mark(self._driver.now_us)

    def is_past(self, mark: Mark) -> bool:
        """Whether all that the service held at the mark came out here, or is left to executors."""
        self._reading.settle()
        return self._reading.is_past(mark) or self._is_over()

    def _is_over(self) -> bool:
        """Whether the stream is disabled and read to its end: no child of any shard will follow."""
        return self._reading.is_final and self._reading.book.is_read_out

    def harvest(
        self, most_records: int | None = None, most_bytes: int | None = None, mark: Mark | None = None
    ) -> Harvest:
        """Takes out what can come out now, up to a limit, or to a mark."""
        if most_bytes is None:
            records = list(islice(self._due(mark), most_records))
        else:
            records = self._measured(most_records or sys.maxsize, most_bytes)
        self._handed += self._reading.take_handed()
        handed, self._handed = self._handed, []
        return Harvest(records, handed, msgspec.structs.replace(self._reading.token(), clock=0))

    def _measured(self, most_records: int, most_bytes: int) -> list[Record]:
        """What can come out now, up to so many bytes; the first record comes whatever its size."""
        records: list[Record] = []
        size_bytes = 0
        while len(records) < most_records and (record := self._reading.peek()) is not None:
            if isinstance(record, SpoiledRecord):
                if records:
                    break
                self._pass_spoiled(record)
                continue
            size_bytes += row_bytes(record)
            if records and size_bytes > most_bytes:
                break
            records.append(record)
            self._reading.pop()
        return records

    def _due(self, mark: Mark | None) -> Iterator[Record]:
        taken = 0
        while mark is None or not self.is_past(mark):
            before = taken
            if self._reading.has_spoiled and isinstance(record := self._reading.peek(), SpoiledRecord):
                if taken:
                    return  # The harvest ends before it, or its error would take along the records before it.
                self._pass_spoiled(record)
                continue
            run = 1 if self._reading.has_spoiled else RUN
            for record in islice(self._reading.records(), run):
                yield record
                taken += 1
            if taken == before:
                return

    def _pass_spoiled(self, record: Record) -> None:
        """Leaves out a record that cannot be decoded, or raises PoisonRecord: the reading then stands before it still."""
        pass_over(record, fails=self._options.fails_on_data_loss)
        self._reading.pop()

    def read_until_caught_up(self) -> Harvest:
        """Waits until all that the service holds at this moment came out, and gives it."""
        mark = self.mark()
        records: list[Record] = []
        handed: list[Handed] = []
        while True:
            self.turn(wait=True)
            harvest = self.harvest(mark=mark)
            records += harvest.records
            handed += harvest.handed
            if self.is_past(mark):
                return Harvest(records, handed, harvest.token)
            if not harvest.records and self.pause_seconds:
                self._clock.sleep(self.pause_seconds)

    def close(self) -> None:
        """Ends its threads, and lets go of the source."""
        self._driver.close()

    def _pass_gaps(self) -> None:
        while (lane := self._reading.next_gap) is not None:
            pass_gap(lane.shard_id, lane.position, lane.gap or "", fails=self._options.fails_on_data_loss)
            self._reading.skip_gap(self._driver.now_us)

    # -- planning

    def plan(self, harvest: Harvest) -> list[Partition]:
        """A harvest as partitions."""
        ranges = [handed_range(handed, self._reading.unknown_above(handed.shard_id)) for handed in harvest.handed]
        rows = self._rows(harvest.records)
        if self._refuses_time is None and (sought := _sought(ranges, rows)):
            self._refuses_time = refuses_time(self._source, sought)
        return plan(ranges, rows, self._source, self._options, self._reading.service_us, bool(self._refuses_time))

    def _rows(self, records: list[Record]) -> list[Rows]:
        """The records as rows. A shard below ancestors that others read has rows of its own: a task is to find its floor."""
        lanes = {
            shard_id: self._reading.book.lanes.get(shard_id) for shard_id in {record.shard_id for record in records}
        }
        unknown = sorted(shard_id for shard_id, lane in lanes.items() if lane is not None and lane.floor_unknown)
        name, kind = self._source.name, self._source.record_type
        rows = pack([record for record in records if record.shard_id not in unknown], name, kind)
        for shard_id in unknown:
            own = [record for record in records if record.shard_id == shard_id]
            seek = tuple(self._reading.unknown_above(shard_id))
            rows += pack(own, name, kind, shard_id=shard_id, seek=seek, since_us=self._start_us)
        return rows


def plan(
    ranges: list[ShardRange],
    rows: list[Rows],
    source: Source,
    options: Options,
    service_us: int | None,
    families: bool,
) -> list[Partition]:
    """Partitions of these ranges and rows."""
    return partitions(
        source.name,
        ranges,
        rows,
        most=options.max_partitions,
        slots=options.slots,
        most_bytes=MOST_BYTES,
        families=families,
        service_us=service_us,
    )


def plan_between(
    start: Token, end: Token, source: Source, options: Options, clock: Clock, *, are_users: bool = False
) -> list[Partition]:
    """Partitions of what lies between two tokens, for tasks to read. Tokens that a user gave may be in the wrong order."""
    lineage, service_us = list_between(source, start, end, clock)
    if are_users and is_backwards(start, end, lineage):
        raise InvalidPosition(
            "endingPosition is a token from before startingPosition's: they are the wrong way round, or of two readings "
            "that went on differently"
        )
    ranges = ranges_between(start, end, lineage, service_us)
    return plan(ranges, [], source, options, service_us, refuses_time(source, _sought(ranges, [])))


def _sought(ranges: list[ShardRange], rows: list[Rows]) -> list[str]:
    """The shards whose order times tasks will ask for."""
    seeks = [*(part.seek for part in ranges), *(part.seek for part in rows)]
    return [shard_id for seek in seeks for shard_id in seek]


def refuses_time(source: Source, shard_ids: list[str]) -> bool:
    """Whether the service cannot open shards at a time; a call for an iterator tells, without reading anything."""
    for shard_id in shard_ids:
        try:
            source.open_iterator(shard_id, AtTime(SECOND_US))
        except TimeUnsupported:
            return True
        except SourceError:
            continue  # It may be gone; another one tells as well.
        return False
    return False
