"""Asking: of the shards that are due, which are asked now, in which order, and for how many records.

The lane that holds the merge comes first. Then come the lanes that are behind, and the idle lanes that a record waits for, the
emptiest first; then the other idle lanes. If there are more idle lanes than can be asked in time, they get a fixed share of the
calls, so that neither side starves. `prefetch_bytes` bounds the bytes of all waiting records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from streamiter.clock import SECOND_US
from streamiter.position import Position
from streamiter.reading.book import Book, Entry
from streamiter.reading.schedule import Schedule
from streamiter.source.base import Page

FEW = 64  # with no more shards in line than this, each ask sorts them by need
LOOKS = 16  # with more, one sort serves this many asks, ...
PART = 8  # ... or as many asks as an eighth of the shards in line, if that is more
SHARE = 8  # every 8th call is for an idle lane that no record waits for, however many lanes are behind
SIDE = 4  # while any lane is behind, idle lanes get no more than this part of the calls side by side
MANY = 256  # shards; with more, it takes seconds to ask each one eight times, until it is known to be at its tip
GRACE_US = SECOND_US // 4  # how long a reader waits for answers of lanes that hold nothing back
# The reader looks at each lane that has records for it, however few: so with many lanes it takes records out of them when the
# pages of a good part of these have come, and not after each page.
GATHERS = 64  # with no more lanes behind than this, each page lets many of one lane's records out
GATHERED = 12  # else the pages of one lane in 12: about as many records as one part of 12 of all that wait
GUESSED_RECORD_BYTES = 2048.0  # until the first page tells
# A lane's share of the budget may be smaller than a full page; then each call should bring as much as it can. If every lane
# were kept at its share, no page could be larger than that. So lanes take turns: a lane that runs low is filled to nearly twice
# its share while the other lanes stand somewhere in between, and together they stay within the budget. The records that a lane
# still has when its turn comes last until the call is answered.
LOW, HIGH = 0.3, 1.7  # how full a lane is just before and after its turn, in shares
# Lanes take turns where a share is less than a quarter of a full page. Above that, turns make windows smaller, and small
# windows cost more than the calls that are saved.
LITTLE = 4
MANY_TURNS = 16  # with fewer lanes, one lane filled beyond its share would take too much of the budget
GOLDEN = 0.618033988749895  # the fractions of its multiples lie evenly between 0 and 1, however many there are


class Ask(NamedTuple):
    """A shard's next page is to be fetched."""

    shard_id: str
    open_at: Position | None  # where the shard is to be opened first; None: go on with the iterator at hand
    limit: int  # the most records that the page may bring


OpenAt = Callable[[Entry], Position | None]


class Asking:
    """Which shards are asked, and how much may be fetched of them."""

    def __init__(self, book: Book, schedule: Schedule, *, prefetch_bytes: int, page_limit: int) -> None:
        self.schedule = schedule
        self.serial = 0  # calls made so far
        self.is_full = False  # when it was last asked, something was due that the budget had no room for
        self._book = book
        self._prefetch_bytes = prefetch_bytes
        self._page_limit = page_limit
        self._under_way_bytes = 0.0
        self._record_bytes = GUESSED_RECORD_BYTES
        self._is_guessed = True
        self._begun = 0  # how many lanes were asked for their first page
        self._line: list[str] = []  # what was due at the last look: those that need least first
        self._idle: list[str] = []  # idle shards that no record waits for, the one that waits longest last
        self._asks = 0  # since the last look
        self._looked_serial = 0  # how many calls had been made by then
        self._most_asks = 0
        self._turn = 0
        self._given: list[str] = []  # those that were given last, and ...
        self._given_serial = 0  # ... how many calls had been made by then
        self._taken = 0  # how many calls were answered when the last records were taken out

    # -- in which order

    def due(self, now_us: int, most: int) -> list[str]:
        """The shards to be asked now, at most so many."""
        self.schedule.hurry(now_us)
        # With many shards, one sort by need serves several asks; only the lane that holds the merge is looked up each time.
        self._asks += 1
        if len(self.schedule) <= FEW or self._asks > self._most_asks or (self._were_refused and self.schedule.idlers):
            self._look(now_us)
        elif self._were_refused:
            self._take_back(now_us)
        found = self._take(now_us, most)
        if len(found) < most and self._asks and self._has_more(found, now_us):
            self._look(now_us)
            found = self._take(now_us, most)
        self._given, self._given_serial = found, self.serial
        return found

    @property
    def _were_refused(self) -> bool:
        """Whether the budget refused one of the last shards given; the shards that follow in line are fuller still."""
        return self.serial - self._given_serial < len(self._given)

    def _take_back(self, now_us: int) -> None:
        """Puts the shards that were not asked back into the line. While all are behind, that is as good as a new look."""
        least = self._book.merge.least_bound  # it comes first, whether it stands in line or not
        self._line += [
            shard_id
            for shard_id in reversed(self._given)
            if self.schedule.is_due(shard_id, now_us) and (least is None or shard_id != least[1])
        ]

    def _has_more(self, found: list[str], now_us: int) -> bool:
        """Whether more shards have fallen due since the last look; idle shards without room do not count."""
        return not self._idle or not set(found).issuperset(self.schedule.behind(now_us))

    def _look(self, now_us: int) -> None:
        held_us = self._book.merge.waits_until_us
        needed, self._idle = self.schedule.behind(now_us), []
        for shard_id in self.schedule.idle(now_us):
            is_needed = held_us is not None and self._book.merge.is_held_by(shard_id, held_us)
            (needed if is_needed else self._idle).append(shard_id)
        needed.sort(key=self._waiting_bytes)  # of equal ones, the one that waits longest stays the first
        needed.reverse()
        self._idle.reverse()
        self._line = needed
        self._asks, self._most_asks = 0, max(LOOKS, len(needed) // PART)
        self._looked_serial = self.serial

    def _take(self, now_us: int, most: int) -> list[str]:
        least = self._book.merge.least_bound
        found = [least[1]] if least is not None and self.schedule.is_due(least[1], now_us) else []
        idle_room = self._idle_room(now_us, most)
        while len(found) < most and (self._line or (self._idle and idle_room > 0)):
            is_idles = idle_room > 0 and bool(self._idle) and (self._turn == 0 or not self._line)
            shard_id = (self._idle if is_idles else self._line).pop()
            if (
                not is_idles
                and self._book.get(shard_id) is not None
                and self._book[shard_id].asked > self._looked_serial
            ):
                continue  # it was asked since the sort, because it held the merge: its place in this line is out of date
            if self.schedule.is_due(shard_id, now_us) and shard_id not in found[:1]:
                found.append(shard_id)
                idle_room -= is_idles
                self._turn = (self._turn + 1) % SHARE
        return found

    def _idle_room(self, now_us: int, most: int) -> int:
        """How many idle lanes may be asked now. If the processor limits the calls, each displaces a call for a busy lane."""
        schedule = self.schedule
        if not schedule.behind_under_way and schedule.first_behind(now_us) is None:
            return most
        width = most + schedule.behind_under_way + schedule.idle_under_way
        return max(1, width // SIDE) - schedule.idle_under_way

    def _waiting_bytes(self, shard_id: str) -> float:
        """How many bytes of the shard's records wait to be returned; an errand returns none."""
        lane = self._book.lanes.get(shard_id)
        return -1.0 if lane is None else lane.waiting_bytes

    # -- for how much

    def asks(self, now_us: int, room: int, open_at: OpenAt) -> list[Ask]:
        """The asks that are due and have room; each counts as under way. `open_at` cancels one by giving None."""
        merge = self._book.merge
        is_held = merge.is_waiting
        if room <= 0:
            return []
        self.is_full = self._left_bytes <= 0 and not is_held
        if self.is_full:
            return []
        # The budget does not bind the lane that all others wait for, nor errands, whose records do not wait.
        least = merge.least_bound if is_held else None
        found: list[Ask] = []
        for shard_id in self.due(now_us, room):
            entry = self._book[shard_id]
            is_needed = (least is not None and least[1] == shard_id) or entry.errand is not None
            if is_needed or (self._left_bytes > 0 and entry.read.waiting_bytes < self._share_bytes):
                found += self._ask(entry, open_at)
            else:
                self.is_full = True
        return found

    def renewals(self, shard_ids: Iterable[str], open_at: OpenAt) -> list[Ask]:
        """Asks for these shards, to keep their iterators alive, as far as there is room for their records."""
        found: list[Ask] = []
        for shard_id in shard_ids:
            entry = self._book.get(shard_id)
            if entry is not None and entry.is_open and not entry.is_asked and self._left_bytes > 0:
                found += self._ask(entry, open_at)
        return found

    def _ask(self, entry: Entry, open_at: OpenAt) -> list[Ask]:
        position = None if entry.is_open else open_at(entry)
        if position is None and not entry.is_open:
            return []
        limit = 1
        if not entry.is_probe:
            limit = max(1, min(self._page_limit, int(self._page_bytes(entry) / self._record_bytes)))
        self.serial += 1
        self.schedule.asked(entry)
        entry.asked, entry.is_asked, entry.open_at = self.serial, True, position
        entry.under_way_bytes = limit * self._record_bytes
        self._under_way_bytes += entry.under_way_bytes
        return [Ask(entry.shard_id, position, limit)]

    def _page_bytes(self, entry: Entry) -> float:
        """How many bytes the lane's next page may bring. First pages fill lanes to different levels between LOW and HIGH."""
        lane, share_bytes = entry.read, self._share_bytes
        is_roomy = share_bytes >= self._page_limit * self._record_bytes / LITTLE
        if is_roomy or not lane.is_behind or self.schedule.known < MANY_TURNS:
            return share_bytes
        if lane.newest_us is not None:
            return HIGH * share_bytes - lane.waiting_bytes
        self._begun += 1
        return (LOW + (HIGH - LOW) * (self._begun * GOLDEN % 1.0)) * share_bytes

    def answered(self, entry: Entry) -> None:
        """The call under way for the shard, if there is one, came back."""
        if entry.is_asked:
            self.schedule.under_way.discard(entry.shard_id)
            self._under_way_bytes = self._under_way_bytes - entry.under_way_bytes if self.schedule.under_way else 0.0
            entry.is_asked, entry.under_way_bytes = False, 0.0

    def forget(self, shard_id: str) -> None:
        """The shard is listed no more."""
        self.answered(self._book[shard_id])
        self.schedule.end(shard_id)

    def learn(self, page: Page) -> None:
        """A page tells how large records are."""
        if page.records and page.size_bytes:  # a source need not tell how large a page is
            weight = 1.0 if self._is_guessed else 1 / 8
            self._record_bytes += (page.size_bytes / len(page.records) - self._record_bytes) * weight
            self._is_guessed = False

    @property
    def _left_bytes(self) -> float:
        """How many bytes more may be fetched ahead."""
        return self._prefetch_bytes - self._book.merge.waiting_bytes - self._under_way_bytes

    @property
    def _share_bytes(self) -> float:
        """How many bytes each lane may hold, so that all together stay within the budget."""
        return self._prefetch_bytes / max(1, len(self.schedule) + len(self.schedule.under_way))

    # -- what is worth waiting for

    def is_gathering(self, now_us: int, since_us: int) -> bool:
        """Whether a reader that has waited since `since_us` should take more answers in before it takes records out."""
        behind = self.schedule.known - self.schedule.idlers
        if self._book.merge.has_window or behind <= GATHERS or now_us >= since_us + GRACE_US:
            return False
        return bool(self.schedule.under_way) and self._answered - self._taken < behind // GATHERED

    def note_taken(self) -> None:
        """Records are taken out now."""
        self._taken = self._answered

    @property
    def _answered(self) -> int:
        """How many calls were answered so far."""
        return self.serial - len(self.schedule.under_way)

    def is_pressing(self, now_us: int, since_us: int, *, is_full: bool) -> bool:
        """Whether a reader that has waited since `since_us` should go on waiting for an answer; `is_full`: no more calls fit.

        At first the reader waits for every call that was due with it. But of thousands of idle lanes, some always have a call
        under way; so after a moment the reader waits only for lanes that are behind, and for errands.
        """
        if now_us < since_us + GRACE_US:
            return bool(self.schedule.under_way)
        if any(map(self._is_wanted, self.schedule.under_way)):
            return True
        following = self.schedule.first_behind(now_us) if is_full else None
        return following is not None and self._is_wanted(following)

    def _is_wanted(self, shard_id: str) -> bool:
        """Whether a shard's answer is worth waiting for: the shard is behind.

        With very many shards and no waiting record, a shard counts as idle after one empty page: to be sure takes seven more
        (law 7), and until then no record is known to be missing.
        """
        entry = self._book[shard_id]
        if entry.errand is not None:
            return True
        lane = entry.read
        if not lane.is_behind:
            return False
        is_told = lane.is_unheard and lane.empties > 0 and not self._book.merge.holds_records
        return not (is_told and self.schedule.known > MANY)
