"""The reading of a whole stream: pages and listings in, wishes and records out, a token at any moment.

Pure. The driver asks for `wishes`, makes the calls, and reports the outcome of each: `opened`, `paged`, `failed`, `listed`,
`listing_failed`. These return nothing: the consequences are in the next wishes. The driver hands the time in.

The book holds all that is known of each shard; the other modules of this room are what can happen to a shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from streamiter.errors import TransientError
from streamiter.lineage import EVERY_US, GATHER_US, HELD_GATHER_US, agreeing_us
from streamiter.merge import Lane, Standing
from streamiter.position import Horizon, Place, Position
from streamiter.precision import USUAL, Precision
from streamiter.reading import caught_up, floors, gaps, probes, resume, succession
from streamiter.reading.ahead import Ahead, find_ahead, token_past
from streamiter.reading.answers import Answers
from streamiter.reading.asking import GRACE_US, Ask, Asking
from streamiter.reading.book import Book, Entry
from streamiter.reading.caught_up import Mark
from streamiter.reading.handed import Handed
from streamiter.reading.listing import ListAsk, Listing, Pace, Pages
from streamiter.reading.opening import Opening
from streamiter.reading.patience import Patience
from streamiter.reading.schedule import LONGEST_PAUSE_US, Schedule
from streamiter.reading.snapshot import Snapshot, snapshot
from streamiter.record import Record
from streamiter.shard import hinted_us
from streamiter.source.base import Page, ShardPage
from streamiter.token import DAY_US, Token

PREFETCH_BYTES = 64 * 1024 * 1024
PATIENCE_US = 60_000_000


class Wishes(NamedTuple):
    """The calls to be made now. Each counts as under way from here on."""

    asks: list[Ask]
    listing: ListAsk | None


class Reading:
    """Reads on from a token. The other arguments are settings; `pace` and `patience` may be shared with earlier readings."""

    def __init__(
        self,
        token: Token,
        *,
        precision: Precision = USUAL,
        holds: bool = True,
        retention_us: int = DAY_US,
        poll_us: int = 250_000,
        idle_us: int = LONGEST_PAUSE_US,
        listing_us: int = EVERY_US,
        prefetch_bytes: int = PREFETCH_BYTES,
        page_limit: int = 1000,
        pace: Pace | None = None,
        patience: Patience | None = None,
        now_us: int = 0,
        hands_over: bool = False,
    ) -> None:
        self.book = Book(
            token,
            precision=precision,
            holds=holds,
            retention_us=retention_us,
            listing_us=listing_us,
            hands_over=hands_over,
        )
        self.is_final = False  # the stream is disabled: no shard will follow any more
        self.gaps_accepted = 0
        schedule = Schedule(self.book, poll_us, idle_us)
        self.asking = Asking(self.book, schedule, prefetch_bytes=prefetch_bytes, page_limit=page_limit)
        self._opening = Opening(self.book, self.asking)
        self._listing = Listing(pace or Pace(10))
        self._patience = patience or Patience(PATIENCE_US)
        self._answers = Answers(self.book, self.asking, self._opening, self._patience)
        resume.restore(self.book, self.asking, now_us)

    # -- wishes out

    def wishes(self, now_us: int, room: int = 1 << 30) -> Wishes:
        """The calls to be made now, at most so many."""
        listing = None
        due_us = self._listing_due_us
        if due_us is not None and due_us <= now_us and room > 0:
            room, listing = room - 1, self._listing.ask(now_us, self.book.discovery.begin)
        return Wishes(self.asking.asks(now_us, room, self._open_at), listing)

    def renewals(self, shard_ids: Iterable[str]) -> list[Ask]:
        """Asks that keep iterators alive: for those of these shards that have none under way, as far as there is room."""
        return self.asking.renewals(shard_ids, self._open_at)

    @property
    def due_us(self) -> int | None:
        """When the next call falls due; None: not before an answer comes."""
        dues = (self.asking.schedule.next_us, self._listing_due_us)
        return min((due_us for due_us in dues if due_us is not None), default=None)

    def due_after(self, now_us: int) -> int | None:
        """When to ask for wishes again: while the budget is full, only time, or taking a record, can change them."""
        if not self.asking.is_full or self.is_asking:
            return self.due_us
        dues = (self.asking.schedule.next_after(now_us), self._listing_due_us)
        return min((due_us for due_us in dues if due_us is not None), default=None)

    @property
    def is_asking(self) -> bool:
        """Whether any call is under way."""
        return bool(self.asking.schedule.under_way) or self._listing.is_asked

    def is_pressing(self, now_us: int, since_us: int, *, is_full: bool) -> bool:
        """Whether a reader that has waited since `since_us` should wait on for an answer; `is_full`: no more calls fit."""
        if self._listing.is_asked and (now_us < since_us + GRACE_US or self._waits_for_listing):
            return True
        return self.asking.is_pressing(now_us, since_us, is_full=is_full)

    def is_gathering(self, now_us: int, since_us: int) -> bool:
        """Whether to take more answers in before records are taken out: with many lanes, it costs less for many at once."""
        return self.asking.is_gathering(now_us, since_us)

    @property
    def _waits_for_listing(self) -> bool:
        """Whether nothing can come out before the shards are listed."""
        holder = self.book.merge.held_by
        return self.book.merge.is_blocked or (holder is not None and self.book.discovery.is_waiting(holder))

    def rests_until(self, now_us: int, since_us: int) -> int | None:
        """When a reader that has waited since `since_us` should look again, though no call is under way."""
        opening_us = self.asking.schedule.opening_us(now_us)  # shards that were opened have to rest before they answer
        is_listing = opening_us is None and not self.book.discovery.is_whole
        return self._listing.rests_until(now_us, since_us, self._listing_due_us) if is_listing else opening_us

    def is_open(self, shard_id: str) -> bool:
        """Whether the shard's iterator is still of use."""
        entry = self.book.get(shard_id)
        return entry is not None and entry.is_open

    def _open_at(self, entry: Entry) -> Position | None:
        """Where to open the shard; None if a gap stands there from now on, or if a probe has to come first."""
        lane = entry.read
        if entry.errand is None and gaps.stand_if_stale(self.book, self.asking, lane):
            return None
        return probes.open_at(self.book, self.asking, lane)

    @property
    def _listing_due_us(self) -> int | None:
        return self._listing.due_us(self.book.discovery.due_us(self._gather_us))

    def _gather_us(self) -> int:
        """How long a listing waits for more shards to end: not at all, unless the reader is catching up."""
        if not self.asking.schedule.is_catching_up:
            return 0
        holder = self.book.merge.held_by
        return HELD_GATHER_US if holder is not None and self.book.discovery.is_waiting(holder) else GATHER_US

    # -- events in: pages

    def opened(self, shard_id: str, behind: Place | None = None) -> None:
        """The driver opened the shard where the ask said; the page, or a failure, follows. `behind`: the place it stands at."""
        self._answers.opened(shard_id, behind)

    def paged(self, shard_id: str, page: Page, now_us: int, *, skipped: int = 0) -> None:
        """The next page of a shard came; besides its records, it had `skipped` that were returned before."""
        self._answers.paged(shard_id, page, now_us, skipped=skipped)

    def failed(self, shard_id: str, error: BaseException, now_us: int) -> None:
        """A call for the shard failed. No token changes by it."""
        self._answers.failed(shard_id, error, now_us)

    # -- events in: the watch

    def resting(self, now_us: int) -> list[str]:
        """The shards that could be watched: the idle ones without a call under way."""
        return self.asking.schedule.resting(now_us)

    def watched(self, shard_ids: Iterable[str], until_us: int) -> None:
        """These are watched until then."""
        self.asking.schedule.leave(shard_ids, until_us)

    def heard(self, shard_ids: Iterable[str], now_us: int) -> None:
        """These have something new."""
        self.asking.schedule.heard(shard_ids, now_us)

    # -- events in: listings

    def listed(self, page: ShardPage, now_us: int) -> None:
        """The page of the listing came."""
        self._patience.recovered(None, now_us)
        pages = self._listing.take(page)
        if pages is not None and pages.is_whole:
            self._take_listing(pages, page, now_us)
        elif pages is not None:
            self._break_listing(pages)

    def listing_failed(self, error: BaseException, now_us: int) -> None:
        """The call for a page of the listing failed."""
        may_pass = isinstance(error, TransientError)
        pages = self._listing.fail(self._patience.failed(None, error, now_us), may_pass=may_pass)
        if pages is not None:
            self._break_listing(pages)
        if not may_pass:
            self._answers.refuse(error)

    def retain(self, retention_us: int) -> None:
        """The service holds records this long now."""
        self.book.retain(retention_us)

    def _break_listing(self, pages: Pages) -> None:
        """The listing broke off; the shards that it showed exist all the same."""
        self._opening.see(pages.rows)
        self.book.discovery.fail()

    def _take_listing(self, pages: Pages, last: ShardPage, now_us: int) -> None:
        """A complete listing."""
        book, service_us = self.book, last.service_us
        assert service_us is not None
        self.is_final = last.is_final
        book.see_time(service_us)
        is_news = self._opening.see(pages.rows)
        listed = {shard.id for shard in pages.rows}
        book.discovery.heard(pages.ticket, listed, is_news, book.doubtful, now_us, agreeing_us=self._agreeing_us)
        self._opening.open_all(now_us)
        childless = succession.settle(book, pages.ticket, listed, now_us)
        self._opening.pass_handed(now_us)
        succession.watch(book, self.asking, service_us, childless, now_us, is_final=last.is_final)
        for shard_id in succession.forget(book, self.asking, listed, now_us):
            self._patience.forget(shard_id)
        book.relax()

    def _agreeing_us(self, shard_id: str) -> int:
        """For how long listings must agree before a doubtful shard opens."""
        book = self.book
        assert book.service_us is not None
        return agreeing_us(hinted_us(shard_id), book.service_us, book.held_us, is_first=book.token.fresh)

    # -- errors and gaps

    def overdue(self) -> BaseException | None:
        """The error to raise: a refusal, or a row of failures that outlasted the patience."""
        return self._answers.take_refusal() or self._patience.overdue()

    @property
    def next_gap(self) -> Lane | None:
        """The lane whose gap stands before everything that could come out next; None where records come first."""
        return gaps.next_gap(self.book)

    def skip_gap(self, now_us: int, shard_id: str | None = None) -> None:
        """Accepts the gap that comes next, or this shard's: the lane goes on with the records that the service still holds."""
        book = self.book
        lane = self.next_gap if shard_id is None else book.lanes[shard_id] if shard_id in book.gaps else None
        if lane is None:
            return
        self.gaps_accepted += 1
        book.gaps.discard(lane.shard_id)
        if lane.ended:
            lane.gap = None
            lane.ended_us = book.service_us
            if not book.discovery.is_waiting(lane.shard_id):
                book.merge.release(lane.shard_id)
        elif lane.is_gone:
            lane.restart(Horizon(book.service_us))  # what is lost below it was accepted, too
            self._opening.pass_over(lane, now_us)
        else:
            lane.restart(floors.Start(book.token.start).position(lane.emitted_us, book.service_us))
            book.merge.update(lane)
            self._opening.go_on(lane, now_us)
        self._opening.pass_handed(now_us)

    # -- records out

    def records(self) -> Iterator[Record]:
        """The records that can come out now; each one taken from the iterator counts as returned."""
        return self.book.merge.records()

    def settle(self) -> None:
        """Takes note of the records taken from `records`; call it before any other question."""
        self.book.merge.settle()

    def run(self, most: int) -> Iterator[Record]:
        """As `records`, at most so many. Nothing else may be taken until the run ends, or is taken back."""
        self.asking.note_taken()
        return self.book.merge.run(most)

    def take_back(self) -> None:
        """Ends the run; its remaining records come out later. Any thread may call this, at any moment."""
        self.book.merge.take_back()

    def give_back(self, records: list[Record]) -> None:
        """The records taken last from a run come out again; nothing else was asked of the reading since."""
        self.book.merge.give_back(records)

    def mend(self) -> None:
        """Ends what Ctrl-C broke off half way, as far as tokens need it."""
        self.book.merge.settle()
        for lane in self.book.lanes.values():
            lane.mend()

    def peek(self) -> Record | None:
        """The record that comes next, without taking it."""
        return self.book.merge.peek()

    def pop(self) -> Record | None:
        """The record that comes next, None while it must wait."""
        return self.book.merge.pop()

    # -- where it stands

    def token(self) -> Token:
        """The state after the last record returned, at this moment. Nothing changes by asking."""
        return resume.take_token(self.book, self.book.merge.standing())

    def standing(self) -> Standing:
        """How far records were taken at this moment. Nothing changes by asking."""
        return self.book.merge.standing()

    def snapshot(self, returned: Standing | None = None, *, is_whole: bool = True) -> Snapshot:
        """Counts so far, and what the merge waits for; `returned`: how far records count as returned, if not all do."""
        return snapshot(self, returned, is_whole=is_whole)

    @property
    def held_by(self) -> str | None:
        """The shard that the waiting records wait for, or "listing"."""
        if self.book.merge.is_blocked:
            return "listing"
        ahead = self.ahead
        return self.book.merge.held_by if ahead is None else ahead.shard_id

    @property
    def ahead(self) -> Ahead | None:
        """The record that is far ahead of the service's clock and holds its lineage until then, where one does."""
        return find_ahead(self.book.merge, self.book.service_us, self.book.lateness_us)

    def token_past_ahead(self) -> Token | None:
        """The token after that record; None where there is none."""
        ahead, service_us = self.ahead, self.book.service_us
        return None if ahead is None or service_us is None else token_past(self.token(), ahead, service_us)

    @property
    def retries(self) -> int:
        """How many calls failed and were made again."""
        return self._patience.retries

    @property
    def throttles(self) -> int:
        """Of these, how many the service refused because it was asked too often."""
        return self._patience.throttles

    @property
    def shards_gone(self) -> int:
        """How many listed shards the service did not hold any more, of which nothing was read."""
        return self._answers.shards_gone

    @property
    def has_spoiled(self) -> bool:
        """Whether a waiting record cannot be decoded: then the stream takes records one by one."""
        return bool(self.book.merge.spoiled)

    @property
    def service_us(self) -> int | None:
        """The newest service time of any answer."""
        return self.book.service_us

    @property
    def is_drained(self) -> bool:
        """Whether every known shard was returned to its end, and no child of any is looked for."""
        return self.book.is_read_out and not any(map(self.book.discovery.is_waiting, self.book.lanes))

    def age_us(self, record: Record) -> int:
        """How long ago the record's order time is, by the service's clock."""
        return 0 if self.service_us is None else max(0, self.service_us - record.order_us)

    def mark(self, now_us: int) -> Mark:
        """Marks this moment: asks every lane and lists the shards, to find out what the service holds now."""
        return caught_up.begin(self.book, self.asking, now_us)

    def is_past(self, mark: Mark) -> bool:
        """Whether everything that the service held at the mark was returned."""
        return caught_up.is_past(self.book, self.asking, mark)

    # -- handing over

    def take_handed(self) -> list[Handed]:
        """The shards that other readers are to read now, parents first; from here on the token is after them."""
        self.book.merge.settle()
        return self._opening.take_handed()

    def unknown_above(self, shard_id: str) -> list[str]:
        """The ancestors that other readers have: only those readers know their last order times."""
        return floors.unknown_above(self.book, shard_id)
