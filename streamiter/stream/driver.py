"""The driver: turns the reading's wishes into calls, and their answers into events.

Calls are made side by side by daemon threads; everything else, and the clock, belongs to the caller's thread.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.errors import (
    IteratorExpired,
    PositionTrimmed,
    ShardGone,
    StreamiterError,
    TimeUnsupported,
    TransientError,
)
from streamiter.position import Position
from streamiter.shard import Shard
from streamiter.source.base import Page, Source
from streamiter.source.cursor import Cursor
from streamiter.stream.budget import Budget
from streamiter.stream.callers import Answer, Callers
from streamiter.stream.faults import Faults
from streamiter.stream.fetches import Asked, Fetched, fetch
from streamiter.stream.listener import Listener
from streamiter.stream.lister import Listing
from streamiter.stream.listings import Listings
from streamiter.stream.reading import Reading

logger = logging.getLogger("streamiter.stream")

WAIT_SECONDS = 0.1  # how long to wait for answers before looking whether another lane has fallen due


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
        self._source = source
        self._clock = clock
        self.faults = Faults(listener, microseconds(patience))
        self._concurrency = concurrency
        self._callers = Callers(concurrency)
        self._budget = Budget(prefetch_bytes)
        self._cursors: dict[str, Cursor] = {}
        self._asked: dict[str, Asked] = {}
        self._fatal: BaseException | None = None
        self._told_serial = 0  # what was asked up to here, when a refusal was last raised
        self._is_closed = False
        self._listings = Listings(source, clock, self.faults, self.calls)

    @property
    def now_us(self) -> int:
        """The caller's monotonic clock."""
        return microseconds(self._clock.monotonic())

    @property
    def is_final(self) -> bool:
        """Whether the stream is disabled: no shard will follow any more."""
        return self._listings.is_final

    @property
    def is_drained(self) -> bool:
        """Whether the stream is disabled, and all of it was returned."""
        self.reading.settle()
        return self.is_final and self.reading.is_drained

    def restart(self, reading: Reading) -> None:
        """Goes on with another reading: calls under way for the old one are left to end by themselves."""
        if self._callers.under_way:
            self._callers.close(0.0)
            self._callers = Callers(self._concurrency)
        self.reading = reading
        self._cursors.clear()
        self._asked.clear()
        self.faults.clear()
        self._fatal = None
        self._told_serial = 0
        self._listings.clear()

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
        return not self._is_closed and (bool(self._asked) or self._listings.is_asked)

    def raise_fault(self) -> None:
        """Raises what must not be waited out any longer: a final refusal, or a fault that outlasted the patience."""
        if self._fatal is not None:
            error, self._fatal = self._fatal, None
            self._told_serial = self.reading.schedule.serial
            raise error
        self.faults.raise_overdue(self.now_us)

    @property
    def next_due_us(self) -> int:
        """When the next call falls due; at most a second away."""
        now_us = self.now_us
        dues = [now_us + SECOND_US]
        if self.reading.schedule.next_us is not None:
            dues.append(self.reading.schedule.next_us)
        listing_us = self._listings.due_us(self.reading)
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
        budget = self._left_bytes()
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
        self._listings.ask(self.reading, self._callers, now_us)
        room, budget = self._callers.room, self._left_bytes()
        merge = self.reading.merge
        is_held = merge.peek() is None
        if room <= 0 or (budget <= 0 and not is_held):
            return
        # The lane that everything waits for is fetched whatever the budget says, and what brings no records that wait;
        # the others as far as it goes.
        least = merge.least_bound if is_held else None
        for shard_id in self.reading.wishes(now_us, room):
            is_needed = (least is not None and least[1] == shard_id) or not self.reading.holds_records(shard_id)
            if is_needed or (budget > 0 and self.reading.lane(shard_id).waiting_bytes < self._share_bytes):
                budget -= self._ask_lane(shard_id)

    def _ask_lane(self, shard_id: str) -> float:
        """Asks for the lane's next page; gives about how many bytes it may bring."""
        cursor = self._cursors.get(shard_id)
        position: Position | None = None
        if cursor is None:
            position = self.reading.opening(shard_id)
            if position is None:
                return 0.0
        limit = 1
        if not self.reading.is_probe(shard_id):
            limit = self._budget.limit(self._share_bytes, self._source.page_limit)
        if position is not None:
            logger.debug("shard %s: opened at %s", shard_id, position)
        self.reading.asked(shard_id)
        asked = Asked(shard_id, self.reading, self._budget.estimate_bytes(limit), self.reading.schedule.serial)
        self._asked[shard_id] = asked
        self._callers.submit(asked, partial(fetch, self._source, shard_id, cursor, position, limit, self.now_us))
        return asked.estimate_bytes

    @property
    def _share_bytes(self) -> float:
        """How many bytes each lane may hold."""
        return self._budget.share_bytes(len(self.reading.schedule) + len(self._asked))

    def _left_bytes(self) -> float:
        """How many bytes more may be fetched ahead."""
        under_way = sum(asked.estimate_bytes for asked in self._asked.values())
        return self._budget.left_bytes(self.reading.waiting_bytes, under_way)

    # -- answers

    def _take(self, answer: Answer) -> None:
        job = answer.job
        if isinstance(job, Listing):
            refusal = self._listings.take(answer, self.reading)
            self._fatal = self._fatal or refusal
            return
        if not isinstance(job, Asked) or job.reading is not self.reading:
            return  # of before a move_to, or of a call that was given up
        del self._asked[job.shard_id]
        if answer.error is not None:
            self._take_error(job, answer.error)
            return
        fetched: Fetched = answer.result
        self.calls.update(fetched.calls)
        if fetched.cursor is not None:
            self._cursors[job.shard_id] = fetched.cursor
        if fetched.error is not None:
            self._take_error(job, fetched.error)
        elif fetched.page is not None:
            self._take_page(job.shard_id, fetched.page, opened=fetched.is_opened)

    def _take_page(self, shard_id: str, page: Page, *, opened: bool) -> None:
        self.pages += 1
        self.faults.recover(shard_id, self.now_us)
        self._budget.learn(page)
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

    def _take_error(self, asked: Asked, error: BaseException) -> None:
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

    def _postpone(self, shard_id: str, error: BaseException) -> None:
        due_us = self.faults.note(shard_id, error, self.now_us)
        if not self.reading.lane(shard_id).ended:
            self.reading.failed(shard_id, due_us)

    def _service_us(self, told_us: int | None) -> int:
        return microseconds(self._clock.now()) if told_us is None else told_us

    # -- listing

    def list_now(self) -> tuple[list[Shard], int]:
        """Lists the shards at once and waits for it: rows, and when it began."""
        return self._listings.list_now(self._call)

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
