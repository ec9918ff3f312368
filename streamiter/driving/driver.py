"""The driver: makes the calls that the reading wishes for, and reports their outcome to it.

Calls are made side by side by daemon threads; everything else, and the clock, belongs to the thread that reads.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from threading import RLock
from typing import Any, NamedTuple, TypeVar

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.driving.calls import Fetched, fetch
from streamiter.driving.threads import Answer, Calls, Threads
from streamiter.driving.watch import Watch, WatchAsk
from streamiter.errors import IteratorExpired, PositionTrimmed, ShardGone
from streamiter.reading import Ask, Mark, Reading
from streamiter.reading.listing import ListAsk
from streamiter.record import Record
from streamiter.source.base import Page, ShardPage, Source
from streamiter.source.cursor import Cursor
from streamiter.steps import ANSWERS, Answers, Pause, Steps, Wait, by_clock

logger = logging.getLogger("streamiter.driving")

T = TypeVar("T")


class Job(NamedTuple):
    """A call under way, and the reading that wished for it: another reading does not take its answer."""

    ask: Ask | ListAsk | WatchAsk
    reading: Reading


class Driver:
    """Drives a reading over a source. `turn` does all that can be done now; then the reading may have records.

    The thread that reads holds `lock` while it changes the reading, and never while it waits or calls the caller's own code:
    another thread that takes the lock finds the reading whole. `is_changing` is set on the way in and taken back on the way
    out, so that it stays set wherever Ctrl-C, a signal's handler that raises or the caller's own clock breaks work off. Then a
    call may be noted that was never made, or a window be half open: only the token can be relied on. `_is_taking` marks the
    same for answers: those that have left the queue, and were not taken in, are lost.
    """

    def __init__(
        self,
        source: Source,
        reading: Reading,
        clock: Clock,
        *,
        concurrency: int,
        calls: Callable[[int], Calls] = Threads,
    ) -> None:
        self.reading = reading
        self.lock = RLock()
        self.is_changing = False
        self._is_taking = False
        self.is_closed = False
        self.calls: Counter[str] = Counter()
        self.pages = 0
        self._source = source
        self._clock = clock
        self._concurrency = concurrency
        self._make_threads = calls
        self._threads = calls(concurrency)
        self._cursors: dict[str, Cursor] = {}
        self._watch = Watch(source, clock, lambda ask, call: self._threads.aside(Job(ask, self.reading), call))
        self._by_clock = by_clock(clock)

    @property
    def name(self) -> str:
        """The stream's name."""
        return self._source.name

    @property
    def now_us(self) -> int:
        """The caller's monotonic clock."""
        return microseconds(self._clock.monotonic())

    @property
    def is_drained(self) -> bool:
        """Whether the stream is disabled, and all of it was returned."""
        return self.reading.is_final and self.reading.is_drained

    def restart(self, reading: Reading) -> None:
        """Goes on with another reading. Calls under way for the old one end by themselves."""
        if self._threads.under_way:
            self._threads.close(0.0)
            self._threads = self._make_threads(self._concurrency)
        self.change(lambda: self._begin(reading))
        self.is_changing = self._is_taking = False

    def _begin(self, reading: Reading) -> None:
        self.reading = reading
        self._cursors.clear()
        self._watch.forget()

    def close(self) -> None:
        """Ends the threads and lets go of the source. May come from another thread."""
        self.is_closed = True
        self._threads.close()
        self._source.close()

    # -- turning

    @property
    def has_answers(self) -> bool:
        """Whether an answer waits to be taken in."""
        return self._threads.has_answers

    def turn(self, *, wait: bool) -> bool:
        """Takes answers in and makes the calls that are due; may wait for an answer. Gives whether any is under way."""
        if not wait and not self._threads.has_answers and not self._has_calls_due:
            return self.is_asking  # the usual case between two records
        self._take_answers()
        if self.is_closed:
            return False
        self.change(self._ask)
        if wait and self.is_asking:
            self._take_answers(ANSWERS.seconds)
            self.change(self._ask)
        return self.is_asking

    @property
    def _has_calls_due(self) -> bool:
        """Whether a call may be due; whether the budget has room for its page is left to the reading."""
        if self._threads.room <= 0:
            return False
        now_us, shard_us = self.now_us, self.reading.asking.schedule.next_us
        return (shard_us is not None and shard_us <= now_us) or self.next_due_us <= now_us

    @property
    def is_asking(self) -> bool:
        """Whether a call for the present reading is under way."""
        return not self.is_closed and self.reading.is_asking

    def is_pressing(self, since_us: int) -> bool:
        """Whether a reader that has waited since `since_us` should wait on for an answer."""
        is_full = self._threads.room <= 0
        now_us = self.now_us
        return self.is_asking and self.change(lambda: self.reading.is_pressing(now_us, since_us, is_full=is_full))

    def is_gathering(self, since_us: int) -> bool:
        """Whether a reader that has waited since `since_us` should take answers in before it takes records out."""
        return not self.is_closed and self.change(lambda: self.reading.is_gathering(self.now_us, since_us))

    def rest(self, since_us: int) -> Steps[bool]:
        """Waits while shards that were just opened, or the first listings, have to rest by the service's rates, or to agree.

        Returns whether it waited. Without this wait, `next` would return None. A caller that asks less often than iterators
        live would then open the same place for ever, and never see the records that follow it; and a process that ends at
        the first None would list the shards for ever, and open none.
        """
        now_us = self.now_us
        due_us = self.reading.rests_until(now_us, since_us)
        if due_us is None or self.is_closed:
            return False
        yield Pause((due_us - now_us) / SECOND_US)
        return not self.is_closed and self.now_us >= due_us

    def watch(self) -> bool:
        """Watches the idle shards, before the reader rests; gives whether an answer is to come when something is new."""
        if self.is_closed or self.reading.is_asking:
            return False
        now_us = self.now_us
        return self.change(lambda: self._watch.begin(self.reading, self._cursors, now_us))

    def raise_fault(self) -> None:
        """Raises a refusal, or a fault that outlasted the patience."""
        error = self.reading.overdue()
        if error is not None:
            raise error

    @property
    def next_due_us(self) -> int:
        """When the next call falls due, but never more than a second from now."""
        now_us = self.now_us
        due_us = self.change(lambda: self.reading.due_after(now_us))  # this takes note of the records that were taken
        return now_us + SECOND_US if due_us is None else min(due_us, now_us + SECOND_US)

    def heartbeat(self) -> Steps[None]:
        """Renews the iterators that are near their end, and no others."""
        self._take_answers()
        waiting = self.change(self._renew)
        while not self.is_closed and not waiting.isdisjoint(self.reading.asking.schedule.under_way):
            yield ANSWERS
            self._take_answers()

    def wait(self, wish: Wait) -> Any:
        """Waits on this thread, for an answer or by the caller's clock."""
        if not isinstance(wish, Answers):
            return self._by_clock(wish)
        was_taking, self._is_taking = self._is_taking, True
        self._threads.wait(wish.seconds)
        self._is_taking = was_taking
        return None

    # -- changing the reading

    def change(self, do: Callable[[], T]) -> T:
        """Changes the reading under the lock, and returns the result."""
        with self.lock:
            was_changing, self.is_changing = self.is_changing, True
            result = do()
            self.is_changing = was_changing  # work that broke off earlier stays marked until reading begins anew
        return result

    @property
    def is_torn(self) -> bool:
        """Whether work broke off half way; to be asked while no work is done."""
        return self.is_changing or self._is_taking

    def heal(self) -> None:
        """Releases the lock if Ctrl-C came just before it was released."""
        with suppress(RuntimeError):
            while True:
                self.lock.release()

    def settle(self) -> None:
        """Takes note of the records that were taken."""
        self.change(self.reading.settle)

    def peek(self) -> Record | None:
        """The record that comes next, without taking it."""
        return self.change(self.reading.peek)

    def pop(self) -> Record | None:
        """The record that comes next."""
        return self.change(self.reading.pop)

    def run(self, most: int) -> Iterator[Record]:
        """The records that can come out now, at most so many; each one taken from the iterator counts as returned."""
        return self.change(lambda: self.reading.run(most))

    def mark(self) -> Mark:
        """Marks this moment, to find out what the service holds now."""
        return self.change(lambda: self.reading.mark(self.now_us))

    # -- calls

    def _ask(self) -> None:
        room = self._threads.room
        if room <= 0:
            return
        now_us = self.now_us
        wishes = self.reading.wishes(now_us, room)
        if wishes.listing is not None:
            self._threads.submit(
                Job(wishes.listing, self.reading), partial(self._source.list_shards, wishes.listing.after)
            )
        for ask in wishes.asks:
            self._fetch(ask, now_us)

    def _renew(self) -> set[str]:
        now_us, life_us = self.now_us, self._source.iterator_us
        near = [shard_id for shard_id, cursor in self._cursors.items() if cursor.is_near_expiry(now_us, life_us)]
        asks = self.reading.renewals(near)
        for ask in asks:
            self._fetch(ask, now_us)
        return {ask.shard_id for ask in asks} | self.reading.asking.schedule.under_way.intersection(near)

    def _fetch(self, ask: Ask, now_us: int) -> None:
        if ask.open_at is not None:
            logger.debug("shard %s: opened at %s", ask.shard_id, ask.open_at)
        cursor = self._cursors.get(ask.shard_id)
        self._threads.submit(Job(ask, self.reading), partial(fetch, self._source, ask, cursor, now_us))

    # -- answers

    def _take_answers(self, wait_seconds: float = 0.0) -> None:
        """Takes in the answers that are here."""
        was_taking, self._is_taking = self._is_taking, True  # until the answers that left the queue are taken in
        answers = self._threads.answers(wait_seconds)
        self.change(lambda: self._take_all(answers))
        self._is_taking = was_taking

    def _take_all(self, answers: list[Answer]) -> None:
        self.reading.settle()
        for answer in answers:
            job: Job = answer.job
            if job.reading is not self.reading:
                continue  # of before a move_to, or given up
            if isinstance(job.ask, Ask):
                self._take_fetched(job.ask, answer)
            elif isinstance(job.ask, WatchAsk):
                self._take_watched(answer)
            else:
                self._take_listed(answer)

    def _take_watched(self, answer: Answer) -> None:
        self.calls["watch"] += 1
        if answer.error is not None:
            logger.info("nothing is watched for a while: %s", answer.error)
        self._watch.end(self.reading, None if answer.error is not None else answer.result, self.now_us)

    def _take_listed(self, answer: Answer) -> None:
        self.calls["list_shards"] += 1
        if answer.error is not None:
            self.reading.listing_failed(answer.error, self.now_us)
            return
        page: ShardPage = answer.result
        self.reading.retain(self._source.retention_us)
        self.reading.listed(page._replace(service_us=self._service_us(page)), self.now_us)
        if page.next is None:
            logger.debug("listed the shards: %d are known", len(self.reading.book))
            self._drop_cursors()

    def _take_fetched(self, ask: Ask, answer: Answer) -> None:
        if answer.error is not None:
            self.reading.failed(ask.shard_id, answer.error, self.now_us)
            return
        fetched: Fetched = answer.result
        self.calls.update(fetched.calls)
        if fetched.cursor is not None and ask.open_at is not None:
            self._cursors[ask.shard_id] = fetched.cursor
            self.reading.opened(ask.shard_id, self._source.place_behind(fetched.cursor.iterator))
        if fetched.page is not None:
            self._take_page(ask.shard_id, fetched.page)
        elif fetched.error is not None:
            if isinstance(fetched.error, IteratorExpired | PositionTrimmed | ShardGone):
                self._cursors.pop(ask.shard_id, None)
            self.reading.failed(ask.shard_id, fetched.error, self.now_us)

    def _take_page(self, shard_id: str, page: Page) -> None:
        self.pages += 1
        fetched = len(page.records)
        page = self._cursors[shard_id].take(page, self.now_us)
        if page.next is None:
            logger.debug("shard %s: read to its end", shard_id)
            del self._cursors[shard_id]
        timed = page._replace(service_us=self._service_us(page))
        self.reading.paged(shard_id, timed, self.now_us, skipped=fetched - len(page.records))

    def _drop_cursors(self) -> None:
        """Drops the iterators that the reading has no more use for."""
        for shard_id in [shard_id for shard_id in self._cursors if not self.reading.is_open(shard_id)]:
            del self._cursors[shard_id]

    def _service_us(self, page: Page | ShardPage) -> int:
        """The answer's own time; if the service gives none, the caller's clock."""
        return microseconds(self._clock.now()) if page.service_us is None else page.service_us
