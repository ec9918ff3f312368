"""The driver: turns the reading's wishes into calls, and their answers into events.

Calls are made side by side by daemon threads; everything else, and the clock, belongs to the caller's thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.errors import StreamiterError
from streamiter.shard import Shard
from streamiter.source.base import Source
from streamiter.stream.callers import Answer, Callers
from streamiter.stream.faults import Faults
from streamiter.stream.fetch import Asked
from streamiter.stream.fetches import Fetches
from streamiter.stream.listener import Listener
from streamiter.stream.lister import Listing
from streamiter.stream.listings import Listings
from streamiter.stream.reading import Reading

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
        self.is_torn = False  # work on the reading broke off half way: only its token can be relied on
        self.calls: Counter[str] = Counter()
        self.faults = Faults(listener, microseconds(patience))
        self._source = source
        self._clock = clock
        self._concurrency = concurrency
        self._callers = Callers(concurrency)
        self._fatal: BaseException | None = None
        self._told_serial = 0  # what was asked up to here, when a refusal was last raised
        self._is_closed = False
        self._listings = Listings(source, clock, self.faults, self.calls)
        self._fetches = Fetches(source, clock, self.faults, self.calls, prefetch_bytes=prefetch_bytes)

    @property
    def pages(self) -> int:
        """How many pages came so far."""
        return self._fetches.pages

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
        self.is_torn = False
        self.faults.clear()
        self._fatal = None
        self._told_serial = 0
        self._listings.clear()
        self._fetches.clear()

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
        with self._in_one_piece():
            self.reading.settle()
            self._take_answers()
            if self._is_closed:
                return False
            self._ask()
            if wait and self.is_asking:
                self._take_answers(WAIT_SECONDS)
                self._ask()
        return self.is_asking

    @property
    def _has_calls_due(self) -> bool:
        """Whether a call may be due; that there is room for what it would bring is not looked at."""
        return self._callers.room > 0 and self.next_due_us <= self.now_us

    @property
    def is_asking(self) -> bool:
        """Whether a call for the present reading is under way."""
        return not self._is_closed and (self._fetches.is_asked or self._listings.is_asked)

    def raise_fault(self) -> None:
        """Raises what must not be waited out any longer: a final refusal, or a fault that outlasted the patience."""
        if self._fatal is not None:
            error, self._fatal = self._fatal, None
            self._told_serial = self.reading.schedule.serial
            raise error
        self.faults.raise_overdue()

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
        with self._in_one_piece():
            self.reading.settle()
            self._take_answers()
            waiting = self._fetches.renew(self.reading, self._callers, now_us)
            while not self._is_closed and not waiting.isdisjoint(self._fetches.under_way):
                self._take_answers(WAIT_SECONDS)

    @contextmanager
    def _in_one_piece(self) -> Iterator[None]:
        """What breaks off inside leaves the reading torn: Ctrl-C, a signal's handler that raises, the caller's own clock.

        An answer may be lost then that has left the queue, or a call be noted that was never made.
        """
        try:
            yield
        except BaseException:
            self.is_torn = True
            raise

    def _take_answers(self, wait_seconds: float = 0.0, *, but: object = None) -> Answer | None:
        """Takes in what is here, but for the answer to one job, which it gives."""
        kept: Answer | None = None
        for answer in self._callers.answers(wait_seconds):
            if but is not None and answer.job is but:
                kept = answer
            else:
                self._take(answer)
        return kept

    def _ask(self) -> None:
        now_us = self.now_us
        self._listings.ask(self.reading, self._callers, now_us)
        self._fetches.ask(self.reading, self._callers, now_us)

    def _take(self, answer: Answer) -> None:
        job = answer.job
        refusal: BaseException | None = None
        if isinstance(job, Listing):
            refusal = self._listings.take(answer, self.reading)
        elif isinstance(job, Asked) and job.reading is self.reading:  # else of before a move_to, or given up
            refusal = self._fetches.take(job, answer)
            if job.serial <= self._told_serial:
                refusal = None  # One refusal is told once, not again for each call that was under way with it.
        self._fatal = self._fatal or refusal

    # -- listing

    def list_now(self) -> tuple[list[Shard], int]:
        """Lists the shards at once and waits for it: rows, and when it began."""
        return self._listings.list_now(self._call)

    def _call(self, call: Callable[[], Any]) -> Any:
        """Makes one call and waits for it; other answers are taken in meanwhile."""
        job = object()
        self._callers.submit(job, call)
        mine: Answer | None = None
        while mine is None:
            if self._is_closed:
                raise StreamiterError("the stream was closed meanwhile")
            with self._in_one_piece():
                mine = self._take_answers(WAIT_SECONDS, but=job)
        if mine.error is not None:
            raise mine.error
        return mine.result
