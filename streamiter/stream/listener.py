"""The listener: events on their way to `on_event`, noted anywhere, told only where the stream's state is whole."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from streamiter.clock import SECOND_US, Clock
from streamiter.errors import InvalidOption, RecordsExpired, StreamiterError
from streamiter.record import Record
from streamiter.stream.events import Event, GapAccepted, GapFound, LateRecord, Progress
from streamiter.stream.stats import Stats

logger = logging.getLogger("streamiter.stream")

PROGRESS_SECONDS = 5
NOTHING_YET = Stats(
    calls={}, pages=0, records=0, late=0, gaps=0, gone=0, poison=0, duplicates=0, retries=0, throttles=0,
    held_by=None, lag={}, waiting=0, waiting_bytes=0, open_shards=0,
)  # fmt: skip


class Listener:
    """The caller's `on_event`, called on the caller's thread, between records.

    An Exception of the callback is logged and goes no further: whoever watches must not stop the work. What is no
    Exception (Ctrl-C) passes through; since nothing is under way where events are told, no record and no event but the
    one being told is lost.
    """

    def __init__(self, on_event: Callable[[Event], Any] | None, name: str, clock: Clock) -> None:
        if on_event is not None and not callable(on_event):
            raise InvalidOption(f"on_event= takes a function of one event, not a {type(on_event).__name__}")
        self._on_event = on_event
        self._name = name
        self._clock = clock
        self._waiting: deque[Event] = deque()
        self._before = NOTHING_YET
        self._next_progress_us: int | None = None
        self._is_telling = False
        self._has_raised = False
        self._told_gap: tuple[str, str, str] | None = None  # what was told last: the same gap is met at every next
        self._told_late: Record | None = None

    @property
    def listens(self) -> bool:
        """Whether there is anybody to tell."""
        return self._on_event is not None

    @property
    def tells_late(self) -> bool:
        """Whether late records are to be told one by one, which costs something where there are many."""
        return self._on_event is not None or logger.isEnabledFor(logging.INFO)

    def check_not_telling(self) -> None:
        """Refuses what would turn the stream while it is being told of."""
        if self._is_telling:
            raise StreamiterError(
                "on_event= may look at the stream (stats, token) and close it, not read from or move it"
            )

    def note(self, kind: Callable[..., Event], *fields: Any) -> None:
        """An event that is to be told at the next occasion."""
        if self._on_event is not None:
            self._waiting.append(kind(self._name, *fields))

    def tell(self) -> None:
        """Tells all that was noted."""
        if self._on_event is None or self._is_telling:
            return
        while self._waiting:
            event = self._waiting.popleft()
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
        """The gap comes next: told once, however often it is met."""
        if self._told_gap != _named(gap):
            self._told_gap = _named(gap)
            logger.info("gap found: %s", gap)
            self.note(GapFound, *_named(gap))
        self.tell()

    def gap_accepted(self, gap: RecordsExpired, level: int) -> None:
        """The gap was gone past."""
        self._told_gap = None
        logger.log(level, "gap accepted: %s", gap.what)
        self.note(GapAccepted, *_named(gap))

    def late(self, record: Record, seconds: float) -> None:
        """The record comes out next, and is late: told once, also where it is put back and comes again."""
        if self._told_late is not record:  # not by its number: packed records share theirs
            self._told_late = record
            logger.info(
                "late: record %s of shard %s, %.0f s after its time", record.sequence_number, record.shard_id, seconds
            )
            self.note(LateRecord, record.shard_id, record.sequence_number, seconds)
            self.tell()

    def moved(self) -> None:
        """Reading goes on elsewhere: a gap met there is another one."""
        self._told_gap = self._told_late = None

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
        """Reading ended: what was not told yet."""
        self.tell()
        if self._on_event is not None and not self._is_telling and stats != self._before:
            self.progress(stats, now_us)


def _named(gap: RecordsExpired) -> tuple[str, str, str]:
    return gap.shard_id, str(gap.position), gap.reason
