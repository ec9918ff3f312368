"""Pages: reads one lease's shard from its checkpoint, page by page; says what came, or why no more can come.

Its calls block, so threads make them. It never sleeps: it says how long the caller shall wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from streamiter.app.repeats import Repeats
from streamiter.clock import microseconds
from streamiter.errors import IteratorExpired, PositionTrimmed, ShardGone, TimeUnsupported, TransientError
from streamiter.lease.floors import floor_of, rank_of
from streamiter.lease.lease import ACCEPTED, AT_TIME, OPENED, SOURCE, TIP, Lease
from streamiter.lease.wishes import Checkpoint, Rows
from streamiter.merge import TIP_EMPTIES
from streamiter.merge.order import order_times, places_after, stamp, told_by
from streamiter.position import After, AtTime, Horizon, Place, Position
from streamiter.reading.gaps import MADE_ANEW, REMOVED, TOO_OLD, TRIMMED
from streamiter.reading.patience import Patience
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardIterator, ShardPage, Source
from streamiter.source.cursor import Cursor, open_cursor


@dataclass(slots=True)
class Read:
    """The result of one turn: records with their checkpoints, and what to do next."""

    records: Sequence[Record] = ()
    checkpoints: Sequence[Checkpoint] = ()
    rest_us: int = 0  # until the next turn
    tip_us: int | None = None  # the shard's tip as of this moment, in service time, is what this came to
    is_end: bool = False
    children: tuple[Shard, ...] = ()
    gap: str | None = None
    start: str | None = None  # the checkpoint before these records, where their source says it anew
    error: Exception | None = None  # a fault that may pass: make the turn again
    rests_at: ShardIterator | None = None  # where the shard rests, so that what is new can be watched for
    caught_up: bool | None = None  # whether the service has no more behind these records, where it says

    def entries(self, group_of: Callable[[Record], Any] | None) -> Rows:
        """The records as the engine takes them: each with its checkpoint, and its group where records have any."""
        groups = None if group_of is None else list(map(group_of, self.records))
        return Rows(self.checkpoints, groups, self.records)


class ShardPages:
    """Reads one shard from where its lease stands. Only one turn is made at a time."""

    def __init__(self, source: Source, lease: Lease, limit: int) -> None:
        self._source = source
        self._limit = min(limit, source.page_limit)
        self._shard_id = lease.key
        self._rank = rank_of(lease)
        self._start = position_of(lease)
        self._place = self._start.place if isinstance(self._start, After) else None
        # A shard that is gone is no gap where nothing of it was read, nor of a shard before it (law 5).
        is_first = lease.fence <= 1 and not lease.parents
        self._may_be_gone = self._place is None and (is_first or bool(lease.progress.get(ACCEPTED)))
        # Whose place it is, as long as that is not compared.
        self._was_of: str | None = None if self._place is None else lease.progress.get(SOURCE)
        self._tip_us: int | None = lease.progress.get(TIP)
        self._skip_before_us: int | None = None  # where the service cannot open at a time, what is older is left out
        self._order_us = floor_of(lease)  # order time of the record before the one to come
        self._cursor: Cursor | None = None
        self._behind: Place | None = None  # the place that it was opened behind, where the source told
        self._empties = 0
        self._is_checked = False  # whether the start is known not to be older than what the service holds
        self._doubted: Place | str | None = ""  # where the shard's end was told, which is asked for once more
        self._patience = Patience(0)
        self._repeats = Repeats(source) if source.drops_duplicates else None

    def restart(self) -> None:
        """Goes on from what the service still holds: a gap was accepted."""
        self._start, self._place, self._cursor, self._is_checked = Horizon(), None, None, True
        self._may_be_gone, self._was_of = True, None

    def turn(self, now_us: int) -> Read:
        """The next page."""
        try:
            if self._was_of is not None and self._was_of != self._source.name:
                return Read(gap=MADE_ANEW)
            self._was_of = None
            if self._cursor is None:
                self._cursor = open_cursor(self._source, self._shard_id, self._position, now_us)
                self._empties, self._behind = 0, self._source.place_behind(self._cursor.iterator)
            page = self._cursor.take(self._source.fetch(self._cursor.iterator, self._limit), now_us)
        except IteratorExpired:
            self._cursor = None
            return Read()
        except TimeUnsupported:
            assert isinstance(self._start, AtTime)
            self._skip_before_us, self._start = self._start.time_us, Horizon(self._start.opened_us)
            return Read()
        except PositionTrimmed:
            return self._trimmed()
        except ShardGone:
            self._cursor = None
            return Read(is_end=True) if self._may_be_gone or self._doubted == self._place else Read(gap=REMOVED)
        except TransientError as error:
            return Read(rest_us=self._patience.failed(self._shard_id, error, now_us) - now_us, error=error)
        self._patience.recovered(self._shard_id, now_us)
        start = self._anchor()
        read = self._read(page)
        read.start = start
        return read

    # -- inside

    def _anchor(self) -> str | None:
        """From here on a loss behind the start is told, though nothing was read of it."""
        behind, self._behind = self._behind, None
        if behind is None or self._place is not None:
            return None
        self._place = behind
        return checkpoint_of(behind)

    @property
    def _position(self) -> Position:
        if self._place is not None and self._place.is_numbered:
            return After(self._place)
        return self._start

    def _read(self, page: Page) -> Read:
        if not self._is_checked and page.service_us is not None:
            if self._is_expired(page.service_us):
                self._cursor = None
                return Read(gap=TOO_OLD)
            self._is_checked = True
        if page.next is None:
            self._cursor = None
            if not page.children and self._doubts_end(page):
                return self._found(page, is_end=False, rest_us=0)
            return self._found(page, is_end=True, rest_us=0)
        found = self._found(page, is_end=False, rest_us=self._rest_us(page))
        found.rests_at = page.next if found.rest_us else None
        return found

    def _is_expired(self, service_us: int) -> bool:
        """Whether records may be gone that follow the start. Where there were none until lately, none are."""
        since_us = self._tip_us
        if since_us is not None and service_us - since_us <= self._source.retention_us:
            return False
        return self._position.is_expired(service_us, self._source.retention_us)

    def _doubts_end(self, page: Page) -> bool:
        """An end may be false: it counts once it is told twice at the same place."""
        stands = self._place if not page.records else Place.of(page.records[-1].sequence_number or "0")
        if self._doubted == stands and not page.records:
            return False
        self._doubted = stands
        return True

    def _rest_us(self, page: Page) -> int:
        """How long to leave the shard alone: its service's rates, and, at its tip, a moment that grows."""
        if page.records:
            self._empties = 0
            is_tip = self._source.watches and page.caught_up
            return max(page.rest_us, microseconds(self._source.poll_interval)) if is_tip else page.rest_us
        self._empties += 1
        if page.caught_up is not True and self._empties < TIP_EMPTIES:
            return page.rest_us
        rest_us = min(
            microseconds(self._source.poll_interval) * self._empties, microseconds(self._source.idle_interval)
        )
        return max(page.rest_us, rest_us)

    def _found(self, page: Page, *, is_end: bool, rest_us: int) -> Read:
        is_tip = not page.records and not is_end and (page.caught_up is True or self._empties >= TIP_EMPTIES)
        tip_us = page.service_us if is_tip else None
        if tip_us is not None:
            self._tip_us = tip_us
        children = page.children if is_end else ()
        found = Read(rest_us=rest_us, tip_us=tip_us, is_end=is_end, children=children, caught_up=page.caught_up)
        if page.records:
            self._may_be_gone, self._tip_us = False, None
            found.records, found.checkpoints = self._placed(page.records)
        return found

    def _placed(self, records: Sequence[Record]) -> tuple[Sequence[Record], Sequence[str]]:
        """The records with their order on them, and the checkpoint behind each of them."""
        told = told_by(records)
        times = order_times(told, self._order_us)
        places = places_after(self._place, told)
        stamp(told.records, self._rank, times, places)
        self._order_us = times[-1]
        last = told.records[-1]
        self._place = places[-1] or Place.of(last.sequence_number)
        records = told.records if self._repeats is None else self._repeats.marked(told.records)
        checkpoints = told.numbers if places[0] is None else [checkpoint_of(place) for place in places if place]
        if self._skip_before_us is None:
            return records, checkpoints
        first = next((n for n, us in enumerate(times) if us >= self._skip_before_us), len(times))
        if first < len(times):
            self._skip_before_us = None
        return records[first:], checkpoints[first:]

    def _trimmed(self) -> Read:
        self._cursor = None
        if isinstance(self._position, Horizon | AtTime):
            return Read()  # nothing was read of it yet: the horizon only moved on
        if self._tip_us is not None and not self._source.is_counted:
            # All up to its tip was read; only the last record is old. The next page tells whether that tip is, too.
            self._start, self._place, self._is_checked = AtTime(self._tip_us), None, False
            return Read()
        return Read(gap=TRIMMED)


def all_shards(list_page: Callable[[str | None], ShardPage]) -> tuple[list[Shard], int | None]:
    """A complete listing, page by page, and the service's time."""
    page = list_page(None)
    shards = list(page.shards)
    while page.next is not None:
        page = list_page(page.next)
        shards += page.shards
    return shards, page.service_us


def position_of(lease: Lease) -> Position:
    """Where reading begins, by a lease's checkpoint."""
    number, _, since = lease.checkpoint.partition("/")
    opened_us = lease.progress.get(OPENED)
    if number == AT_TIME:
        return AtTime(int(since), opened_us)
    return After(Place.of(number, int(since or 0))) if number.isdigit() else Horizon(opened_us)


def checkpoint_of(place: Place) -> str:
    """A place as a lease keeps it. A shard whose first records have no numbers cannot open behind them."""
    if not place.is_numbered:
        return "TRIM_HORIZON"
    return f"{place.text}/{place.since}" if place.since else place.text
