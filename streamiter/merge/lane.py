"""Lanes: one shard's records, waiting in the order the shard gave them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from streamiter.clock import SECOND_US
from streamiter.merge.order import order_times, places_after, stamp, told_by
from streamiter.position import After, AtTime, Horizon, Place, Position
from streamiter.precision import FLOORED, Precision
from streamiter.record import Record
from streamiter.shard import FIRST, Rank

NEVER = -(1 << 62)  # before every order time
TIP_EMPTIES = 8  # empty pages in a row before a lane just opened, or behind, is at the tip (law 7)
CUT = 64  # so many returned records a lane may keep; else it cuts them off once they are the greater part
BEHIND_US = 5 * SECOND_US  # beyond `lateness`, how old the newest record of a lane that is not behind may be
IDLE_BEHIND_US = 600 * SECOND_US  # how far the start of an idle lane follows behind its tip (DESIGN 2, "latest")

Bound = tuple[int, Rank]  # order time and rank; with the rank FIRST it lies before all of that time


class _Cut(NamedTuple):
    """A lane's state once the returned records are cut off: what is kept of them, and how many others wait."""

    place: Place | None
    emitted_us: int | None
    given: int
    waiting: int


class Lane:
    """One shard being read: which records were fetched, which were returned, and the bound below which none will follow.

    Records are never re-sorted: a lane's order times and places follow from the order in which they came (laws 1, 3, 4).
    """

    __slots__ = (
        "_cut_place", "_cut_us", "_cutting", "_just_opened", "_tip_us", "childless", "closed", "cut_count", "doubted_end",
        "doubts", "dropped", "empties", "ended_us", "floor_unknown", "gap", "head", "is_at_tip", "is_gone", "last_us", "latest",
        "new_spoiled", "newest_seen_us", "newest_us", "places", "precision", "rank", "read_up_to_us", "record_bytes", "records",
        "service_us", "shard_id", "skip_before_us", "start", "times", "unweighed_bytes", "was_finished",
    )  # fmt: skip

    def __init__(
        self,
        shard_id: str,
        rank: Rank,
        start: Position,
        *,
        floor_us: int | None = None,
        skip_before_us: int | None = None,
        closed: bool = False,
        precision: Precision = FLOORED,
    ) -> None:
        self.shard_id = shard_id
        self.rank = rank
        self.start = start  # where it opened; after the first record, `place` tells
        self.last_us = floor_us  # order time of the last record fetched, or the shard's floor
        self.skip_before_us = skip_before_us  # the caller wants no records older than this order time
        self.closed = closed
        self.precision = precision
        self.ended_us: int | None = None  # when its end was seen, in service time
        self.doubted_end: Position | None = None  # where the last page told that it ended, and nothing else did
        self.doubts = 0  # how often that was told, since the last record or tip
        self.gap: str | None = None  # why the records that follow may be lost
        self.is_gone = False  # the service does not know the shard any more
        self.childless = False  # ended, and listing after listing showed no child
        self.latest = False
        self.floor_unknown = False
        self.was_finished = False  # before a resume
        self.read_up_to_us: int | None = start.time_us if isinstance(start, AtTime) else None
        self.newest_us: int | None = None  # creation time of the last record fetched
        self.newest_seen_us: int | None = None  # when that came, in service time
        self.service_us = NEVER  # service time of the last page
        self.record_bytes = 0.0  # about how many bytes a waiting record takes
        self.unweighed_bytes = 0.0  # bytes that came since the merge last looked
        self.dropped = 0  # records left out, because they are older than `skip_before_us`
        self.new_spoiled = 0  # records that cannot be decoded, of those that came since the merge last looked
        # Records from [head:] wait; those before it were returned, and are cut off now and then. Everything else about the
        # returned records follows from the head, so moving it is all that a returned record costs.
        self.times: list[int] = []
        self.places: list[Place | None] = []  # None: (its sequence number, 0), as it nearly always is
        self.records: list[Record] = []
        self.head = 0
        self._cut_place = start.place if isinstance(start, After) else None  # of the last record cut off
        self._cut_us = floor_us  # its order time, or the shard's floor
        self.cut_count = 0  # how many were cut off, since the lane was opened
        self._cutting: _Cut | None = None  # the cut under way, or the one that Ctrl-C broke off
        self.empties = 0  # empty pages in a row, so far
        self.is_at_tip = False  # the last page said that there is nothing more at present
        self._just_opened = True
        self._tip_us: int | None = None

    def __repr__(self) -> str:
        return f"<Lane {self.shard_id} holding {len(self)}{', ended' if self.ended else ''}>"

    def __len__(self) -> int:
        """How many records wait."""
        return len(self.times) - self.head

    def __bool__(self) -> bool:
        """True: a lane without waiting records is a lane all the same."""
        return True

    # -- what comes in

    def push(
        self,
        records: Sequence[Record],
        service_us: int,
        *,
        ended: bool = False,
        caught_up: bool | None = None,
        size_bytes: int = 0,
        skipped: int = 0,
    ) -> None:
        """Takes the next page of the shard: its records, and whether the lane is at its tip or its end.

        A page whose records were all returned before (`skipped`) is not an empty page: more may follow it. `caught_up` on a
        page with records says that none follow them.
        """
        self.service_us = max(self.service_us, service_us)
        if records or skipped:
            self.empties = 0
            self.is_at_tip = False
        if records:
            self._just_opened = False
            self.newest_us, self.newest_seen_us = records[-1].created_us, service_us
            self._append(records, size_bytes / len(records))
        elif not skipped:
            self.empties += 1
        is_tip = self._is_tip(caught_up) if self.empties else caught_up is True and not self.closed
        if is_tip and not ended:
            self._reach_tip(service_us)
        if ended:
            self.ended_us = service_us
            self.is_at_tip = False  # the bound that its tip gave stays

    def close(self) -> None:
        """The shard takes no more records: it has no tip any more, and ends when its iterator ends (law 7)."""
        self.closed = True
        self.is_at_tip = False
        self._tip_us = None

    def reopen(self) -> None:
        """The driver opens the shard anew: runs of empty pages may come again before records."""
        self.empties = 0
        self._just_opened = True
        self.is_at_tip = False

    def doubt_end(self) -> bool:
        """A page says that the shard ended, and nothing else does. Returns whether to open the shard anew and ask once more.

        Once is enough at each place; and after some doubts with nothing but empty pages in between, the end is believed
        anyway: a closed shard may have such pages before its end.
        """
        doubted, self.doubted_end = self.doubted_end, self.fetch_position
        self.doubts += 1
        self.reopen()
        return doubted != self.doubted_end and self.doubts <= TIP_EMPTIES

    def restart(self, start: Position) -> None:
        """Goes on from another start: after a gap, or because the service dropped a place that the reader had read up to.
        Places count from there (law 4)."""
        assert not len(self)
        self.start = start
        self._cut_place = None
        self.gap = None
        self.latest = False
        self.read_up_to_us = start.time_us if isinstance(start, AtTime) else None
        self._tip_us = None
        self.reopen()

    def anchor(self, place: Place) -> None:
        """The source tells which place its start is: from here on that stands in tokens, so that a loss behind it is told."""
        if isinstance(self.fetch_position, Horizon | AtTime):
            self.start, self._cut_place, self.read_up_to_us = After(place), place, None

    def raise_floor(self, floor_us: int | None) -> None:
        """The ancestors' order times are known now: the lane's own are never below them. Only before the first page."""
        self.floor_unknown = False
        if floor_us is not None and (self.last_us is None or floor_us > self.last_us):
            self.last_us = self._cut_us = floor_us

    def discard(self) -> None:
        """Drops the waiting records, which are not to be returned; their order times count."""
        self.times, self.places, self.records, self.head = [], [], [], 0
        self._cut_us = self.last_us

    # -- what goes out

    def advance(self, count: int) -> None:
        """The caller got so many records from the head."""
        self.advance_to(self.given + count)

    def advance_to(self, given: int) -> None:
        """The caller got so many records in all. If Ctrl-C breaks this off, call it again, to the same end."""
        if self._cutting is not None:
            self._finish_cut(self._cutting)
        head = self.head = given - self.cut_count
        known = len(self.times)
        if head == known or (head >= CUT and head * 2 >= known):
            self._cut()

    def ahead(self, count: int) -> Lane:
        """A copy of the lane, as it is once so many more records are returned."""
        lane = Lane.__new__(Lane)
        for name in self.__slots__:
            setattr(lane, name, getattr(self, name))
        lane.head += count
        return lane

    def mend(self) -> None:
        """Ends what Ctrl-C broke off half way."""
        if self._cutting is not None:
            self._finish_cut(self._cutting)

    def place_at(self, index: int) -> Place:
        """The place of a record that was fetched."""
        return self.places[index] or Place.of(self.records[index].sequence_number)

    def end_below(self, bound: Bound) -> int:
        """The index past the last waiting record that sorts at or below the bound."""
        time_us, rank = bound
        end = bisect_left(self.times, time_us, self.head)
        is_tied = end < len(self.times) and self.times[end] == time_us
        return bisect_right(self.times, time_us, end) if is_tied and self.rank <= rank else end

    # -- questions

    @property
    def ended(self) -> bool:
        """Whether the shard was fetched to its end."""
        return self.ended_us is not None

    @property
    def is_drained(self) -> bool:
        """Whether the shard was returned to its end."""
        return self.ended and not len(self)

    @property
    def is_behind(self) -> bool:
        """Whether to ask for the next page without a pause: the lane is not known to be at its tip."""
        return not self.ended and self.gap is None and not self.is_at_tip

    @property
    def is_unheard(self) -> bool:
        """Whether the lane gave nothing since it was opened: no record, no tip, no end."""
        return self._just_opened and self.is_behind

    @property
    def fetch_position(self) -> Position:
        """Where fetching goes on, after the last record fetched."""
        last = self.place_at(-1) if len(self) else None
        return After(last) if last is not None and last.is_numbered else self.position

    @property
    def is_current(self) -> bool:
        """Whether the last record fetched is about as new as the service's clock."""
        # A creation time well ahead of the service's own clock tells nothing about how far the lane has come.
        if self._just_opened or self.newest_us is None:
            return False
        return -self.precision.lateness_us - BEHIND_US <= self.newest_us - self.service_us <= BEHIND_US

    @property
    def bound(self) -> Bound:
        """The lane has fetched every record that it can give at or below this bound (law 7)."""
        last_us = NEVER if self.last_us is None else self.last_us
        if self._tip_us is not None and self._tip_us > last_us:
            return (self._tip_us, FIRST)
        return (last_us, self.rank)

    @property
    def place(self) -> Place | None:
        """The place of the last record returned."""
        return self.place_at(self.head - 1) if self.head else self._cut_place

    @property
    def emitted_us(self) -> int | None:
        """The order time of the last record returned, or the shard's floor."""
        return self.times[self.head - 1] if self.head else self._cut_us

    @property
    def given(self) -> int:
        """How many records were returned, since the lane was opened."""
        return self.cut_count + self.head

    @property
    def waiting_bytes(self) -> float:
        """About how many bytes wait, as the service sent them."""
        return self.record_bytes * (len(self.times) - self.head)

    @property
    def position(self) -> Position:
        """Where reading goes on after the last record returned."""
        if self.place is not None and self.place.is_numbered:
            return After(self.place)
        return self.start if self.read_up_to_us is None else AtTime(self.read_up_to_us, self.opened_us)

    @property
    def opened_us(self) -> int | None:
        """When the start was chosen, in service time."""
        return self.start.opened_us if isinstance(self.start, Horizon | AtTime) else None

    @property
    def children_from_us(self) -> int | None:
        """The earliest service time at which its children may hold records: it may have ended long before a page said so."""
        if self.ended_us is None or self.was_finished:
            return self.ended_us
        own_us = self.last_us if len(self) or self.place is not None else None
        # It ended after its last record and after its last tip. With neither, its children may be as old as the shard. An order
        # time of 0 tells nothing: the service gave no creation times.
        known_us = max(own_us or 0, self.read_up_to_us or 0) or self.opened_us or self.ended_us
        return min(self.ended_us, known_us)

    @property
    def was_returned(self) -> bool:
        """Whether the shard returned a record, or ended before a resume."""
        return self.place is not None or self.given > 0 or self.was_finished

    def _cut(self) -> None:
        """Lets go of the records that were returned."""
        self._cutting = _Cut(self.place, self.emitted_us, self.given, len(self))
        self._finish_cut(self._cutting)

    def _finish_cut(self, cut: _Cut) -> None:
        # In place: Python's garbage collector looks through new lists again and again.
        for known in (self.times, self.places, self.records):
            del known[: len(known) - cut.waiting]
        self._cut_place, self._cut_us, self.cut_count, _ = cut
        self.head = 0
        self._cutting = None

    def _append(self, records: Sequence[Record], record_bytes: float) -> None:
        told = told_by(records)
        times = order_times(told, self.last_us)
        if self.skip_before_us is not None and (self.last_us is None or self.last_us < self.skip_before_us):
            kept = bisect_left(times, self.skip_before_us)
            self.dropped += kept
            told, times = told.from_index(kept), times[kept:]
            if not times:
                return
        records = told.records
        before = self.place_at(-1) if len(self) else self.place
        places = places_after(before, told)
        self.new_spoiled += told.spoiled
        if self.read_up_to_us is not None:
            # The shard was empty up to its tip, yet this record is older: a writer's clock is wrong. A resume must not miss it.
            oldest_us = min((us for us in told.created if us is not None), default=times[0])
            self.read_up_to_us = min(self.read_up_to_us, max(oldest_us, 0))
        self.last_us = times[-1]
        self.doubts = 0
        self._weigh(len(times), record_bytes)
        stamp(records, self.rank, times, places)
        self.times += times
        self.places += places
        self.records += records

    def _weigh(self, count: int, record_bytes: float) -> None:
        """Counts records that came, each of so many bytes."""
        self.unweighed_bytes += count * record_bytes
        self.record_bytes += (record_bytes - self.record_bytes) * count / (len(self) + count)

    def _is_tip(self, caught_up: bool | None) -> bool:
        if self.closed:
            return False
        if caught_up is not None:
            return caught_up
        if self.empties >= TIP_EMPTIES:
            return True
        return self.is_current

    def _reach_tip(self, service_us: int) -> None:
        self.is_at_tip = True
        self.doubts = 0
        known_us = self.precision.known_us(service_us)
        self._tip_us = known_us if self._tip_us is None else max(self._tip_us, known_us)
        if not len(self) and self.empties >= TIP_EMPTIES and not self.precision.is_counted:
            read_up_to_us = self.precision.floored(service_us - IDLE_BEHIND_US)
            if self.read_up_to_us is None or read_up_to_us > self.read_up_to_us:
                self.read_up_to_us = read_up_to_us

    def _check(self) -> None:
        """Raises AssertionError where the lane contradicts itself."""
        assert len(self.times) == len(self.places) == len(self.records)
        assert 0 <= self.head <= len(self.times)
        assert all(earlier <= later for earlier, later in pairwise(self.times))
        places = list(map(self.place_at, range(len(self.times))))
        assert all(earlier < later for earlier, later in pairwise(places))
        if len(self):
            assert self.last_us == self.times[-1]
            assert self.emitted_us is None or self.emitted_us <= self.times[self.head]
            assert self.place is None or self.place < places[self.head]
        assert not (self.closed and self._tip_us is not None)
        assert not (self.is_at_tip and (self.ended or self._tip_us is None))
