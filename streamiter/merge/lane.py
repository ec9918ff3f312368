"""Lanes: one shard's records, waiting in the order the shard gave them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from streamiter.clock import SECOND_US, floor_second
from streamiter.merge.order import order_times, places_after, stamp
from streamiter.position import After, AtTime, Horizon, Place, Position
from streamiter.record import Record
from streamiter.shard import FIRST, Rank

NEVER = -(1 << 62)  # before every order time
TIP_EMPTIES = 8  # empty pages in a row before a lane just opened, or behind, is at the tip (law 7)
BEHIND_US = 5 * SECOND_US  # beyond `lateness`, how old the newest record of a lane that is not behind may be
IDLE_BEHIND_US = 600 * SECOND_US  # how far the start of an idle lane follows behind its tip (DESIGN 2, "latest")

Bound = tuple[int, Rank]  # order time and rank; with the rank FIRST it lies before all of that time


class Lane:
    """One shard being read. Knows what was fetched, what was returned, and below what it can give nothing more.

    Records are never re-sorted: a lane's order times and places follow from the order in which they came (laws 1, 3, 4).
    """

    __slots__ = (
        "_cut_count", "_cut_place", "_cut_us", "_is_fresh", "_tip_us", "childless", "closed", "dropped", "empties",
        "ended_us", "gap", "head", "idle_us", "is_at_tip", "is_gone", "last_us", "lateness_us", "latest", "newest_us",
        "places", "rank", "record_bytes", "records", "service_us", "shard_id", "skip_before_us", "start", "times",
        "told_us", "unresolved", "unweighed_bytes", "was_finished",
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
        lateness_us: int = 0,
    ) -> None:
        self.shard_id = shard_id
        self.rank = rank
        self.start = start  # where it opened; after the first record, `place` tells
        self.last_us = floor_us  # order time of the last record fetched, or the shard's floor
        self.skip_before_us = skip_before_us  # what is older than this order time is not asked for
        self.closed = closed
        self.lateness_us = lateness_us
        self.ended_us: int | None = None  # when its end was seen, in service time
        self.gap: str | None = None  # why the records that follow may be lost
        self.is_gone = False  # the service does not know the shard any more
        self.childless = False  # ended, and listing after listing showed no child
        self.latest = False
        self.unresolved = False
        self.was_finished = False  # before a resume
        self.idle_us: int | None = start.time_us if isinstance(start, AtTime) else None
        self.newest_us: int | None = None  # creation time of the last record fetched
        self.told_us: int | None = None  # when that came, in service time
        self.service_us = NEVER  # service time of the last page
        self.record_bytes = 0.0  # about how many bytes a waiting record takes
        self.unweighed_bytes = 0.0  # what came since the merge last looked
        self.dropped = 0  # records older than what was asked for
        # What was fetched and not yet returned is [head:]; what is before head was returned and is cut off now and then.
        # All that is known of what was returned follows from the head, so that moving it is all that a record costs.
        self.times: list[int] = []
        self.places: list[Place | None] = []  # None: (its sequence number, 0), as it nearly always is
        self.records: list[Record] = []
        self.head = 0
        self._cut_place = start.place if isinstance(start, After) else None  # of the last record cut off
        self._cut_us = floor_us  # its order time, or the shard's floor
        self._cut_count = 0  # how many were cut off, since the lane was opened
        self.empties = 0  # empty pages in a row, so far
        self.is_at_tip = False  # the last page said that there is nothing more at present
        self._is_fresh = True
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
        """Takes the next page of the shard: its records, and what the page tells about where the lane stands.

        A page of which all was returned before (`skipped`) is not an empty one: more may follow it.
        """
        self.service_us = max(self.service_us, service_us)
        if records or skipped:
            self.empties = 0
            self.is_at_tip = False
        if records:
            self._is_fresh = False
            self.newest_us, self.told_us = records[-1].created_us, service_us
            self._append(records, size_bytes / len(records))
        elif not skipped:
            self.empties += 1
            if not ended and self._is_tip(service_us, caught_up):
                self._reach_tip(service_us)
        if ended:
            self.ended_us = service_us
            self.is_at_tip = False  # what is known of it up to its tip stays known

    def close(self) -> None:
        """The shard takes no more records: it has no tip any more, it ends when its iterator ends (law 7)."""
        self.closed = True
        self.is_at_tip = False
        self._tip_us = None

    def reopen(self) -> None:
        """Its iterator was opened anew: empty pages may come in runs again before records."""
        self.empties = 0
        self._is_fresh = True
        self.is_at_tip = False

    def restart(self, start: Position) -> None:
        """Goes on from another start, after a gap: places count from there (law 4)."""
        assert not len(self)
        self._cut()
        self.start = start
        self._cut_place = None
        self.gap = None
        self.latest = False
        self.idle_us = start.time_us if isinstance(start, AtTime) else None
        self._tip_us = None
        self.reopen()

    def resume_at(self, start: Position) -> None:
        """Goes on from another start without a gap: all before it was returned, though its place is no longer held."""
        self.restart(start)

    def raise_floor(self, floor_us: int | None) -> None:
        """Its ancestors' order times came to be known: its own are never below them. Before its first page only."""
        self.unresolved = False
        if floor_us is not None and (self.last_us is None or floor_us > self.last_us):
            self.last_us = self._cut_us = floor_us

    def discard(self) -> None:
        """What came is not to be returned: only the order times that it brought count."""
        self.times, self.places, self.records, self.head = [], [], [], 0
        self._cut_us = self.last_us

    # -- what goes out

    def advance(self, count: int) -> None:
        """So many records at the head were returned."""
        head = self.head = self.head + count
        known = len(self.times)
        if head == known or (head >= 4096 and head * 2 >= known):
            self._cut()

    def place_at(self, index: int) -> Place:
        """The place of a record that was fetched."""
        return self.places[index] or Place.of(self.records[index].sequence_number)

    def end_below(self, bound: Bound) -> int:
        """How far the waiting records reach that sort at or below a bound: an index past the last of them."""
        time_us, rank = bound
        find = bisect_right if self.rank <= rank else bisect_left
        return find(self.times, time_us, self.head)

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
        """Whether the next page may be asked for without pause: an empty page would not tell that this is the tip."""
        return not self.ended and self.gap is None and not self.is_at_tip

    @property
    def fetch_position(self) -> Position:
        """Where fetching goes on, after the last record fetched."""
        return After(self.place_at(-1)) if len(self) else self.position

    @property
    def is_current(self) -> bool:
        """Whether the last record fetched is about as new as the service's clock."""
        # A creation time well ahead of the service's own clock tells nothing about how far the lane has come.
        if self._is_fresh or self.newest_us is None:
            return False
        return -self.lateness_us - BEHIND_US <= self.newest_us - self.service_us <= BEHIND_US

    @property
    def bound(self) -> Bound:
        """Everything at or below it that this lane can still give is here already (law 7)."""
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
        return self._cut_count + self.head

    @property
    def waiting_bytes(self) -> float:
        """About how many bytes wait, as the service sent them."""
        return self.record_bytes * (len(self.times) - self.head)

    @property
    def position(self) -> Position:
        """Where reading goes on after the last record returned."""
        if self.place is not None:
            return After(self.place)
        return self.start if self.idle_us is None else AtTime(self.idle_us, self.opened_us)

    @property
    def opened_us(self) -> int | None:
        """When the start was chosen, in service time."""
        return self.start.opened_us if isinstance(self.start, Horizon | AtTime) else None

    @property
    def followed_us(self) -> int | None:
        """From when on its children may hold records, in service time: its end was perhaps seen long after it came."""
        if self.ended_us is None or self.was_finished:
            return self.ended_us
        own_us = self.last_us if len(self) or self.place is not None else None
        # Its own records came before; up to a tip there was no end. Without both its children are no older than it may be. An
        # order time of 0 tells nothing: the service gave no creation times.
        known_us = max(own_us or 0, self.idle_us or 0) or self.opened_us or self.ended_us
        return min(self.ended_us, known_us)

    @property
    def was_returned(self) -> bool:
        """Whether a record of the shard itself was returned, or, before a resume, its end."""
        return self.place is not None or self.given > 0 or self.was_finished

    def _cut(self) -> None:
        """Lets go of the records that were returned."""
        head = self.head
        self._cut_place, self._cut_us = self.place, self.emitted_us
        self._cut_count += head
        self.times, self.places, self.records = self.times[head:], self.places[head:], self.records[head:]
        self.head = 0

    def _append(self, records: Sequence[Record], record_bytes: float) -> None:
        times = order_times(records, self.last_us)
        if self.skip_before_us is not None and (self.last_us is None or self.last_us < self.skip_before_us):
            kept = bisect_left(times, self.skip_before_us)
            self.dropped += kept
            records, times = records[kept:], times[kept:]
            if not times:
                return
        before = self.place_at(-1) if len(self) else self.place
        places = places_after(before, [record.sequence_number for record in records])
        if self.idle_us is not None:
            # Nothing was there up to the tip, yet here is an older one, of a skewed clock: a resume must not miss it.
            oldest_us = min(
                (record.created_us for record in records if record.created_us is not None), default=times[0]
            )
            self.idle_us = min(self.idle_us, oldest_us)
        self.last_us = times[-1]
        self._weigh(len(times), record_bytes)
        stamp(records, self.rank, times, places)
        self.times += times
        self.places += places
        self.records += records

    def _weigh(self, count: int, record_bytes: float) -> None:
        """So many records come, each of so many bytes."""
        self.unweighed_bytes += count * record_bytes
        self.record_bytes += (record_bytes - self.record_bytes) * count / (len(self) + count)

    def _is_tip(self, service_us: int, caught_up: bool | None) -> bool:
        if self.closed:
            return False
        if caught_up is not None:
            return caught_up
        if self.empties >= TIP_EMPTIES:
            return True
        return self.is_current

    def _reach_tip(self, service_us: int) -> None:
        self.is_at_tip = True
        known_us = floor_second(service_us - self.lateness_us)
        self._tip_us = known_us if self._tip_us is None else max(self._tip_us, known_us)
        if not len(self) and self.empties >= TIP_EMPTIES:
            idle_us = floor_second(service_us - IDLE_BEHIND_US)
            if self.idle_us is None or idle_us > self.idle_us:
                self.idle_us = idle_us

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
        assert not (self.is_at_tip and (self.ended or self._tip_us is None or self.empties == 0))
