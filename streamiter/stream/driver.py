"""The driver: turns the reading's wishes into calls, and their answers into events.

Calls are made side by side by daemon threads; everything else, and the clock, belongs to the caller's thread.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.errors import (
    IteratorExpired,
    PositionTrimmed,
    ShardGone,
    SourceError,
    StreamiterError,
    Throttled,
    TimeUnsupported,
    TransientError,
)
from streamiter.position import Position
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardPage, Source
from streamiter.source.cursor import Cursor, open_cursor
from streamiter.stream.callers import Answer, Callers
from streamiter.stream.events import Retry
from streamiter.stream.listener import Listener
from streamiter.stream.reading import Reading

logger = logging.getLogger("streamiter.stream")

FIRST_PAUSE_US = SECOND_US // 10  # after a fault; doubled with each
FIRST_THROTTLE_PAUSE_US = SECOND_US // 2
LONGEST_PAUSE_US = 2 * SECOND_US
LONGEST_THROTTLE_PAUSE_US = 5 * SECOND_US
GUESSED_RECORD_BYTES = 2048.0  # until the first page tells
WAIT_SECONDS = 0.1  # how long to wait for answers before looking whether another lane has fallen due
LISTING = "listing"


@dataclass(slots=True)
class _Fault:
    """A row of failures of one shard, or of the listing."""

    since_us: int
    error: BaseException
    times: int = 0


class _Asked(NamedTuple):
    """A call under way for a shard."""

    shard_id: str
    reading: Reading
    estimate_bytes: float
    serial: int


class _Fetched(NamedTuple):
    cursor: Cursor | None
    page: Page | None
    error: Exception | None
    calls: tuple[str, ...]


@dataclass(slots=True)
class _Pass:
    """A listing under way: page after page."""

    ticket: int
    reading: Reading
    rows: list[Shard] = field(default_factory=list)
    cursors: set[str] = field(default_factory=set)
    next: str | None = None


class Driver:
    """Drives a reading over a source. `turn` does what can be done now; records are then the reading's to give."""

    def __init__(
        self,
        source: Source,
        reading: Reading,
        clock: Clock,
        listener: Listener,
        *,
        concurrency: int,
        prefetch_bytes: int,
        patience: float,
    ) -> None:
        self.reading = reading
        self.calls: Counter[str] = Counter()
        self.pages = 0
        self.retries = 0
        self.throttles = 0
        self.is_final = False  # the stream is disabled
        self._source = source
        self._clock = clock
        self._listener = listener
        self._concurrency = concurrency
        self._callers = Callers(concurrency)
        self._prefetch_bytes = prefetch_bytes
        self._patience_us = microseconds(patience)
        self._cursors: dict[str, Cursor] = {}
        self._asked: dict[str, _Asked] = {}
        self._faults: dict[str, _Fault] = {}
        self._fatal: BaseException | None = None
        self._told_serial = 0  # what was asked up to here, when a refusal was last raised
        self._is_closed = False
        self._listing: _Pass | None = None
        self._is_page_asked = False
        self._list_again_us = 0
        self._broken_listings = 0
        # One less than the service allows: a call that was under way for long counts there when it arrives.
        self._listed_us: deque[int] = deque(maxlen=max(1, int(source.listings_per_second) - 1))
        self._record_bytes = GUESSED_RECORD_BYTES

    @property
    def now_us(self) -> int:
        """The caller's monotonic clock."""
        return microseconds(self._clock.monotonic())

    def restart(self, reading: Reading) -> None:
        """Goes on with another reading: calls under way for the old one are left to end by themselves."""
        if self._callers.under_way:
            self._callers.close(0.0)
            self._callers = Callers(self._concurrency)
        self.reading = reading
        self._cursors.clear()
        self._asked.clear()
        self._faults.clear()
        self._fatal = None
        self._told_serial = 0
        self._listing = None
        self._is_page_asked = False
        self._list_again_us = 0

    def close(self) -> None:
        """Ends the threads and lets go of the source. May come from another thread."""
        self._is_closed = True
        self._callers.close()
        self._source.close()

    # -- turning

    @property
    def has_answers(self) -> bool:
        """Whether an answer waits to be taken in."""
        return self._callers.has_answers

    def turn(self, *, wait: bool) -> bool:
        """Takes answers in and makes the calls that are due; may wait for an answer. Gives whether any is under way."""
        if not wait and not self._callers.has_answers and not self._has_calls_due:
            return self.is_asking  # as it is between most records
        self.reading.settle()
        for answer in self._callers.answers():
            self._take(answer)
        if self._is_closed:
            return False
        self._ask()
        if wait and self.is_asking:
            for answer in self._callers.answers(WAIT_SECONDS):
                self._take(answer)
            self._ask()
        return self.is_asking

    @property
    def _has_calls_due(self) -> bool:
        """Whether a call may be due; that there is room for what it would bring is not looked at."""
        return self._callers.room > 0 and self.next_due_us <= self.now_us

    @property
    def is_asking(self) -> bool:
        """Whether a call for the present reading is under way."""
        return not self._is_closed and (bool(self._asked) or self._is_page_asked)

    def raise_fault(self) -> None:
        """Raises what must not be waited out any longer: a final refusal, or a fault that outlasted the patience."""
        if self._fatal is not None:
            error, self._fatal = self._fatal, None
            self._told_serial = self.reading.schedule.serial
            raise error
        now_us = self.now_us
        for name, fault in self._faults.items():
            if now_us - fault.since_us >= self._patience_us:
                fault.since_us = now_us  # It is tried again, with the same patience.
                waited = f"{self._patience_us / SECOND_US:.0f} s"
                kind = type(fault.error) if isinstance(fault.error, SourceError) else SourceError
                raise kind(
                    f"{_named(name)} gave nothing but errors for {waited} ({fault.times} tries); nothing is lost, "
                    f"calling next() again goes on trying; the last error: {fault.error}"
                ) from fault.error

    @property
    def next_due_us(self) -> int:
        """When the next call falls due; at most a second away."""
        now_us = self.now_us
        dues = [now_us + SECOND_US]
        if self.reading.schedule.next_us is not None:
            dues.append(self.reading.schedule.next_us)
        listing_us = self._listing_due_us()
        if listing_us is not None:
            dues.append(listing_us)
        return min(dues)

    def heartbeat(self) -> None:
        """Renews the iterators that are near their end, and no others."""
        now_us = self.now_us
        self.reading.settle()
        for answer in self._callers.answers():
            self._take(answer)
        near = [
            shard_id
            for shard_id, cursor in self._cursors.items()
            if shard_id not in self._asked and cursor.is_near_expiry(now_us, self._source.iterator_us)
        ]
        budget = self._budget()
        for shard_id in near:
            if budget > 0:  # else it opens anew at its place, when there is room for its records
                budget -= self._ask_lane(shard_id)
        waiting = {shard_id for shard_id in near if shard_id in self._asked}
        while waiting & self._asked.keys() and not self._is_closed:
            for answer in self._callers.answers(WAIT_SECONDS):
                self._take(answer)

    # -- asking

    def _ask(self) -> None:
        now_us = self.now_us
        self._ask_listing(now_us)
        room, budget = self._callers.room, self._budget()
        merge = self.reading.merge
        is_held = merge.peek() is None
        if room <= 0 or (budget <= 0 and not is_held):
            return
        # The lane that everything waits for is fetched whatever the budget says, and what brings no records that wait;
        # the others as far as it goes.
        least = merge.least_bound if is_held else None
        for shard_id in self.reading.wishes(now_us, room):
            is_needed = (least is not None and least[1] == shard_id) or not self.reading.holds_records(shard_id)
            if is_needed or (budget > 0 and self.reading.lane(shard_id).waiting_bytes < self._share):
                budget -= self._ask_lane(shard_id)

    def _ask_lane(self, shard_id: str) -> float:
        """Asks for the lane's next page; gives about how many bytes it may bring."""
        cursor = self._cursors.get(shard_id)
        position: Position | None = None
        if cursor is None:
            position = self.reading.opening(shard_id)
            if position is None:
                return 0.0
        limit = max(1, min(self._source.page_limit, int(self._share / self._record_bytes)))
        if self.reading.is_probe(shard_id):
            limit = 1
        if position is not None:
            logger.debug("shard %s: opened at %s", shard_id, position)
        self.reading.asked(shard_id)
        asked = _Asked(shard_id, self.reading, limit * self._record_bytes, self.reading.schedule.serial)
        self._asked[shard_id] = asked
        self._callers.submit(asked, partial(_fetch, self._source, shard_id, cursor, position, limit, self.now_us))
        return asked.estimate_bytes

    @property
    def _share(self) -> float:
        """How many bytes each lane may hold, so that all together stay within the budget."""
        return self._prefetch_bytes / max(1, len(self.reading.schedule) + len(self._asked))

    def _budget(self) -> float:
        """How many bytes more may be fetched ahead."""
        under_way = sum(asked.estimate_bytes for asked in self._asked.values())
        return self._prefetch_bytes - self.reading.waiting_bytes - under_way

    # -- answers

    def _take(self, answer: Answer) -> None:
        job = answer.job
        if isinstance(job, _Pass):
            if job is self._listing:
                self._is_page_asked = False
                self._take_shard_page(job, answer)
            return
        if not isinstance(job, _Asked) or job.reading is not self.reading:
            return  # of before a move_to, or of a call that was given up
        del self._asked[job.shard_id]
        if answer.error is not None:
            self._take_error(job, answer.error)
            return
        fetched: _Fetched = answer.result
        self.calls.update(fetched.calls)
        if fetched.cursor is not None:
            self._cursors[job.shard_id] = fetched.cursor
        if fetched.error is not None:
            self._take_error(job, fetched.error)
        elif fetched.page is not None:
            self._take_page(job.shard_id, fetched.page, opened="open_iterator" in fetched.calls)

    def _take_page(self, shard_id: str, page: Page, *, opened: bool) -> None:
        self.pages += 1
        self._recover(shard_id)
        if page.records:
            self._record_bytes += (page.size_bytes / len(page.records) - self._record_bytes) / 8
        ended = page.next is None
        fetched = len(page.records)
        page = self._cursors[shard_id].take(page, self.now_us)
        skipped = fetched - len(page.records)
        if ended:
            logger.debug("shard %s: read to its end", shard_id)
            del self._cursors[shard_id]
        goes_on = self.reading.push(
            shard_id,
            page.records,
            self._service_us(page.service_us),
            self.now_us,
            ended=ended,
            caught_up=page.caught_up,
            size_bytes=page.size_bytes,
            skipped=skipped,
            opened=opened,
            children=page.children,
            rest_us=page.rest_us,
        )
        if not goes_on:
            self._cursors.pop(shard_id, None)

    def _take_error(self, asked: _Asked, error: BaseException) -> None:
        now_us = self.now_us
        shard_id = asked.shard_id
        if isinstance(error, IteratorExpired):
            self._cursors.pop(shard_id, None)
            self.reading.expired(shard_id, now_us)
        elif isinstance(error, TimeUnsupported):
            self.reading.refuse_time(shard_id, now_us)
        elif isinstance(error, ShardGone):
            self._cursors.pop(shard_id, None)
            self.reading.unreachable(shard_id, now_us)
        elif isinstance(error, PositionTrimmed):
            self._cursors.pop(shard_id, None)
            if self.reading.trimmed(shard_id, now_us):
                self._postpone(shard_id, error)
        else:
            self._postpone(shard_id, error)
            # One refusal is told once, not again for each call that was under way with it.
            if not isinstance(error, TransientError) and asked.serial > self._told_serial:
                self._fatal = self._fatal or error

    def _postpone(self, name: str, error: BaseException) -> None:
        now_us = self.now_us
        fault = self._faults.setdefault(name, _Fault(now_us, error))
        fault.error = error
        fault.times += 1
        self.retries += 1
        self.throttles += isinstance(error, Throttled)
        first_us, longest_us = FIRST_PAUSE_US, LONGEST_PAUSE_US
        if isinstance(error, Throttled):
            first_us, longest_us = FIRST_THROTTLE_PAUSE_US, LONGEST_THROTTLE_PAUSE_US
        pause_us = min(first_us << min(fault.times - 1, 10), longest_us)
        # Shards that failed together are not to come back together.
        pause_us += pause_us * (crc32(name.encode()) % 256) // 512
        self._tell_retry(name, fault, pause_us / SECOND_US)
        if name == LISTING:
            self._list_again_us = now_us + pause_us
        elif not self.reading.lane(name).ended:
            self.reading.failed(name, now_us + pause_us)

    def _tell_retry(self, name: str, fault: _Fault, pause_seconds: float) -> None:
        # The first of a row tells what is wrong; the others, that it still is.
        level = logging.INFO if fault.times == 1 else logging.DEBUG
        logger.log(level, "%s: %s; asked again in %.1f s", _named(name), fault.error, pause_seconds)
        shard_id = None if name == LISTING else name
        kind, reason = type(fault.error).__name__, str(fault.error)
        self._listener.note(Retry, shard_id, kind, reason, fault.times, pause_seconds)

    def _recover(self, name: str) -> None:
        fault = self._faults.pop(name, None)
        if fault is not None:
            seconds = (self.now_us - fault.since_us) / SECOND_US
            logger.info("%s: answers again, after %d calls that failed in %.1f s", _named(name), fault.times, seconds)

    def _service_us(self, told_us: int | None) -> int:
        return microseconds(self._clock.now()) if told_us is None else told_us

    # -- listing

    def _listing_due_us(self) -> int | None:
        """When the next page of shards is to be asked for; None while one is under way, or none is wanted."""
        if self._is_page_asked:
            return None
        due_us = self._list_again_us
        if self._listing is None:
            wanted_us = self.reading.listing_due_us
            if wanted_us is None:
                return None
            due_us = max(due_us, wanted_us)
        if len(self._listed_us) == self._listed_us.maxlen:
            due_us = max(due_us, self._listed_us[0] + SECOND_US)
        return due_us

    def _ask_listing(self, now_us: int) -> None:
        due_us = self._listing_due_us()
        if due_us is None or due_us > now_us or self._callers.room <= 0:
            return
        if self._listing is None:
            self._listing = _Pass(self.reading.discovery.begin(), self.reading)
        self._is_page_asked = True
        self._listed_us.append(now_us)
        self._callers.submit(self._listing, partial(self._source.list_shards, self._listing.next))

    def _take_shard_page(self, listing: _Pass, answer: Answer) -> None:
        now_us = self.now_us
        self.calls["list_shards"] += 1
        if answer.error is not None:
            self._break_listing(listing)
            self._postpone(LISTING, answer.error)
            if not isinstance(answer.error, TransientError):
                self._fatal = self._fatal or answer.error
            return
        page: ShardPage = answer.result
        self._recover(LISTING)
        listing.rows += page.shards
        if page.next is not None and page.next not in listing.cursors:
            listing.cursors.add(page.next)
            listing.next = page.next
            return
        if page.next is not None and self._broken_listings < 2:
            # A cursor that comes again would lead in a circle; only if it does so every time is this all there is.
            self._broken_listings += 1
            self._break_listing(listing)
            return
        self._broken_listings = 0
        self._listing = None
        self.is_final = page.is_final
        service_us = self._service_us(page.service_us)
        logger.debug("listed %d shards", len(listing.rows))
        self.reading.retain(self._source.retention_us)
        self.reading.listed(listing.ticket, listing.rows, service_us, now_us, is_final=page.is_final)

    def list_now(self) -> tuple[list[Shard], int]:
        """Lists the shards at once and waits for it, with the patience that all else has: rows, and when it began."""
        since_us = self.now_us
        while True:
            try:
                return self._list_whole()
            except TransientError as error:
                self._postpone(LISTING, error)
                if self.now_us - since_us >= self._patience_us:
                    self._faults.pop(LISTING)
                    raise
                self._clock.sleep((self._list_again_us - self.now_us) / SECOND_US)

    def _list_whole(self) -> tuple[list[Shard], int]:
        rows: list[Shard] = []
        cursors: set[str | None] = set()
        following: str | None = None
        began_us: int | None = None
        while following not in cursors:
            cursors.add(following)
            if len(self._listed_us) == self._listed_us.maxlen:
                self._clock.sleep(max(0, self._listed_us[0] + SECOND_US - self.now_us) / SECOND_US)
            self._listed_us.append(self.now_us)
            page: ShardPage = self._call(partial(self._source.list_shards, following))
            self.calls["list_shards"] += 1
            rows += page.shards
            began_us = began_us or self._service_us(page.service_us)
            self.is_final = page.is_final
            if page.next is None:
                break
            following = page.next
        self._recover(LISTING)
        assert began_us is not None
        return rows, began_us

    def _call(self, call: Callable[[], Any]) -> Any:
        """Makes one call and waits for it; other answers are taken in meanwhile."""
        job = object()
        self._callers.submit(job, call)
        while True:
            if self._is_closed:
                raise StreamiterError("the stream was closed meanwhile")
            for answer in self._callers.answers(WAIT_SECONDS):
                if answer.job is not job:
                    self._take(answer)
                elif answer.error is not None:
                    raise answer.error
                else:
                    return answer.result

    def _break_listing(self, listing: _Pass) -> None:
        self._listing = None
        self.reading.see(listing.rows)
        self.reading.discovery.fail(self.now_us)


def _fetch(
    source: Source, shard_id: str, cursor: Cursor | None, position: Position | None, limit: int, now_us: int
) -> _Fetched:
    """Opens the shard if it has no iterator, and fetches its next page. Runs on a caller's thread."""
    calls: tuple[str, ...] = ()
    try:
        if cursor is None:
            assert position is not None
            calls = ("open_iterator",)
            cursor = open_cursor(source, shard_id, position, now_us)
        calls += ("fetch",)
        return _Fetched(cursor, source.fetch(cursor.iterator, limit + cursor.to_skip), None, calls)
    except SourceError as error:
        return _Fetched(cursor, None, error, calls)


def _named(name: str) -> str:
    return "listing the shards" if name == LISTING else f"shard {name}"
