"""Notices: what `on_event` is told; parts note events anywhere, and they are told between two records."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from threading import get_ident
from typing import Any

from streamiter.clock import SECOND_US, Clock
from streamiter.driving import Driver
from streamiter.errors import RecordsExpired, StreamiterError
from streamiter.reading.ahead import Ahead
from streamiter.reading.patience import Failure
from streamiter.reading.patience import named as named_call
from streamiter.record import Record
from streamiter.stream.events import CallFailed, Event, GapAccepted, GapFound, LateRecord, Progress, RecordAhead
from streamiter.stream.stats import NOTHING_YET, Stats

logger = logging.getLogger("streamiter.stream")

Named = tuple[str, str, str]  # shard, position and reason of a gap

PROGRESS_SECONDS = 5


class Listener:
    """The caller's `on_event`, called on the caller's thread, between records.

    The listener logs an Exception of the callback, and goes on: a callback that watches must not stop the work. Ctrl-C passes
    through. While the callback runs, no other work is under way, so no record is lost, and only the event being told.
    """

    def __init__(
        self, on_event: Callable[[Event], Any] | None, name: str, clock: Clock, *, patience_seconds: float = 60.0
    ) -> None:
        self._on_event = on_event
        self._name = name
        self._clock = clock
        self._patience_seconds = patience_seconds
        self._waiting: deque[Event] = deque()
        self._before = NOTHING_YET
        self._next_progress_us: int | None = None
        self._is_telling = False
        self._teller = 0  # the thread that tells, or told last
        self._has_raised = False
        self._told_gap: Named | None = None  # what was told last: the same gap is met at every next
        self._told_late: Record | None = None
        self._told_ahead: tuple[str, str] | None = None

    @property
    def listens(self) -> bool:
        """Whether there is an `on_event` to tell."""
        return self._on_event is not None

    @property
    def tells_late(self) -> bool:
        """Whether to tell of late records one by one, which costs something if there are many."""
        return self._on_event is not None or logger.isEnabledFor(logging.INFO)

    @property
    def is_telling_here(self) -> bool:
        """Whether the callback runs at this moment, on this thread."""
        return self._is_telling and self._teller == get_ident()

    def check_not_telling(self) -> None:
        """Refuses calls that would read or move the stream from inside `on_event`."""
        if self.is_telling_here:
            raise StreamiterError(
                "on_event= may look at the stream (stats, token) and close it, not read from or move it"
            )

    def note(self, kind: Callable[..., Event], *fields: Any) -> None:
        """Keeps an event, to be told at the next occasion."""
        if self._on_event is not None:
            self._waiting.append(kind(self._name, *fields))

    def tell(self) -> None:
        """Tells all events noted so far."""
        if self._on_event is None or self._is_telling:
            return
        while self._waiting:
            event = self._waiting.popleft()
            self._teller = get_ident()
            self._is_telling = True
            try:
                self._on_event(event)
            except Exception as error:
                kinds = type(error).__name__, type(event).__name__
                logger.error("on_event raised %s at %s; reading goes on", *kinds, exc_info=not self._has_raised)
                self._has_raised = True  # one traceback is enough
            finally:
                self._is_telling = False

    # -- gaps and late records

    def gap_found(self, gap: RecordsExpired) -> None:
        """The gap comes next: tells of it once, however often `next` meets it."""
        if self._told_gap != named(gap):
            self._told_gap = named(gap)
            logger.info("gap found: %s", gap)
            self.note(GapFound, *named(gap))
        self.tell()

    def gap_accepted(self, gap: RecordsExpired, level: int) -> None:
        """The reader went past the gap."""
        self._told_gap = None
        logger.log(level, "gap accepted: %s", gap.what)
        self.note(GapAccepted, *named(gap))

    def late(self, record: Record, seconds: float) -> None:
        """The record comes out next, and is late: tells of it once, also if it is put back and comes again."""
        if self._told_late is not record:  # not by its number: packed records share theirs
            self._told_late = record
            logger.info(
                "late: record %s of shard %s, %.0f s after its time", record.sequence_number, record.shard_id, seconds
            )
            self.note(LateRecord, record.shard_id, record.sequence_number, seconds)
            self.tell()

    def ahead(self, ahead: Ahead) -> None:
        """The record comes first, and waits for its time, which is far ahead: tells of it once."""
        named = ahead.shard_id, ahead.sequence_number
        if self._told_ahead != named:
            self._told_ahead = named
            seconds = ahead.ahead_us / SECOND_US
            logger.warning(
                "record %s of shard %s is created %.0f s ahead of the service's clock: it waits until then, and what follows "
                "it in its shard too; skip() goes past it, lateness=None waits for nothing",
                *(ahead.sequence_number, ahead.shard_id, seconds),
            )
            self.note(RecordAhead, *named, seconds)
        self.tell()

    def moved(self) -> None:
        """Reading goes on elsewhere: a gap there is another gap, and is told of."""
        self._told_gap = self._told_late = self._told_ahead = None

    # -- calls that fail

    def retry(self, failure: Failure) -> None:
        """A call failed and is made again, or answers again."""
        name, seconds = named_call(failure.shard_id), failure.lasts_us / SECOND_US
        if failure.pause_us is None:
            logger.info("%s: answers again, after %d calls that failed in %.1f s", name, failure.times, seconds)
            return
        # The first failure in a row says what is wrong; the following ones only say that it still is.
        level = logging.INFO if failure.times == 1 else logging.DEBUG
        pause_seconds = failure.pause_us / SECOND_US
        logger.log(level, "%s: %s; asked again in %.1f s", name, failure.error, pause_seconds)
        if failure.is_worth_a_warning:
            told = "%s: nothing but errors for %.0f s; an error is raised after %.0f s of them; the last one: %s"
            logger.warning(told, name, failure.tried_us / SECOND_US, self._patience_seconds, failure.error)
        kind, reason = type(failure.error).__name__, str(failure.error)
        self.note(CallFailed, failure.shard_id, kind, reason, failure.times, pause_seconds)

    # -- progress

    def is_progress_due(self, now_us: int) -> bool:
        """Whether it is time for the next Progress; the first one comes after a while, not at once."""
        if self._on_event is None:
            return False
        if self._next_progress_us is None:
            self._next_progress_us = now_us + PROGRESS_SECONDS * SECOND_US
        return now_us >= self._next_progress_us

    def progress(self, stats: Stats, now_us: int) -> None:
        """Tells how far reading came."""
        self._next_progress_us = now_us + PROGRESS_SECONDS * SECOND_US
        self.note(Progress, stats, self._before, self._clock.now())
        self._before = stats
        self.tell()

    def last_progress(self, stats: Stats, now_us: int) -> None:
        """Reading ended: tells all that was not told yet."""
        self.tell()
        if self._on_event is not None and not self._is_telling and stats != self._before:
            self.progress(stats, now_us)


def named(gap: RecordsExpired) -> Named:
    """The gap's identity: shard, position and reason."""
    return gap.shard_id, str(gap.position), gap.reason


class Notices:
    """Tells a listener how a driver's reading goes. Without an order (`is_ordered=False`) no record is late."""

    def __init__(self, listener: Listener, driver: Driver, stats: Callable[[], Stats], *, is_ordered: bool) -> None:
        self._listener = listener
        self._driver = driver
        self._stats = stats
        self._is_ordered = is_ordered

    @property
    def is_telling_here(self) -> bool:
        """Whether `on_event` runs at this moment, on this thread."""
        return self._listener.is_telling_here

    def check_not_telling(self) -> None:
        """Refuses what would turn the stream while `on_event` is being told of it."""
        self._listener.check_not_telling()

    def tell(self) -> bool:
        """Tells the noted events, and of the next record if it is late; returns whether late records are told of."""
        self.tell_noted()
        if not self._is_ordered or not self._listener.tells_late:
            return False
        record = self._driver.peek()
        if record is not None and record.late:
            self._listener.late(record, self._driver.reading.age_us(record) / SECOND_US)
        return True

    def tell_ahead(self) -> None:
        """No record comes out: if one waits for a time far ahead, tells of it."""
        driver = self._driver
        ahead = driver.change(lambda: driver.reading.ahead)
        if ahead is not None:
            self._listener.ahead(ahead)

    def tell_noted(self) -> None:
        """Tells the noted events, and how far reading has come if it is time for that."""
        if self._listener.listens:
            self._listener.tell()
            if self._listener.is_progress_due(self._driver.now_us):
                self._listener.progress(self._stats(), self._driver.now_us)

    def tell_last(self) -> None:
        """Reading ended: tells how far it came."""
        if self._listener.listens:
            self._listener.last_progress(self._stats(), self._driver.now_us)
