"""Fetching: one shard's pages, one after the other; faults are waited out.

A thread asks for the next page as soon as one is here, so that calls, and the work on what they brought, go on side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.errors import IteratorExpired, SourceError, TransientError
from streamiter.position import Position
from streamiter.source.base import Page, Source
from streamiter.source.cursor import Cursor, open_cursor
from streamiter.spark.ahead import Ahead
from streamiter.stream.faults import pause_after
from streamiter.stream.schedule import UNPAUSED_EMPTIES

PATIENCE_US = 60 * SECOND_US
EMPTY_PAUSE_SECONDS = 0.25
PAGES_AHEAD = 2  # of the one that is worked on: one that waits, and one that is on its way


def pages(
    source: Source, shard_id: str, place: Callable[[], Position], clock: Clock, *, patience_us: int = PATIENCE_US
) -> Generator[Page]:
    """The pages of a shard, until its end. `place` says where to open it: at first, and after all that was yielded.

    Close it where it is not read to its end: it has a thread.
    """
    fetching = _Fetching(source, shard_id, place, clock, patience_us)
    while not fetching.is_over:
        yield from fetching.go_on()


class _Fetching:
    def __init__(
        self, source: Source, shard_id: str, place: Callable[[], Position], clock: Clock, patience_us: int
    ) -> None:
        self.is_over = False
        self._source = source
        self._shard_id = shard_id
        self._place = place
        self._clock = clock
        self._patience_us = patience_us
        self._cursor: Cursor | None = None  # behind what was yielded; None: the shard is to be opened
        self._empties = 0
        self._failing_since_us: int | None = None
        self._failures = 0

    def go_on(self) -> Generator[Page]:
        """Pages until the shard's end, or until something must be waited for before more are asked for."""
        with Ahead(self._calls(self._cursor), PAGES_AHEAD) as calls:
            while (page := self._take(calls)) is not None:
                due_us = microseconds(self._clock.monotonic()) + page.rest_us
                yield page
                if page.next is None:
                    self.is_over = True
                    return
                self._rest(page, due_us)

    def _calls(self, cursor: Cursor | None) -> Iterator[tuple[Cursor, Page]]:
        """Call after call, on the thread; where the service's rates want a rest, that was the last one."""
        if cursor is None:
            cursor = open_cursor(self._source, self._shard_id, self._place(), 0)
        following = cursor.iterator
        while True:
            page = self._source.fetch(following, self._source.page_limit)
            yield cursor, page
            if page.next is None or page.rest_us:
                return
            following = page.next

    def _take(self, calls: Ahead[tuple[Cursor, Page]]) -> Page | None:
        """The next page; None where calls are to begin anew."""
        try:
            told = next(calls, None)
        except IteratorExpired as error:
            self._cursor = None
            self._wait_out(error, 0)
            return None
        except TransientError as error:
            self._failures += 1
            self._wait_out(error, pause_after(error, self._failures))
            return None
        if told is None:
            return None
        self._failing_since_us, self._failures = None, 0
        self._cursor, page = told
        return self._cursor.take(page, 0)

    def _wait_out(self, error: SourceError, pause_us: int) -> None:
        now_us = microseconds(self._clock.monotonic())
        if self._failing_since_us is None:
            self._failing_since_us = now_us
        self._clock.sleep(pause_us / SECOND_US)
        if now_us - self._failing_since_us >= self._patience_us:
            raise type(error)(
                f"shard {self._shard_id} gave nothing but errors for {self._patience_us / SECOND_US:.0f} s; nothing is "
                f"lost, the query can be started again; the last error: {error}"
            )

    def _rest(self, page: Page, due_us: int) -> None:
        """Leaves the shard alone, as the service's rates want it, or where its end does not show yet."""
        if page.rest_us:
            self._clock.sleep(max(0, due_us - microseconds(self._clock.monotonic())) / SECOND_US)
        self._empties = 0 if page.records else self._empties + 1
        if self._empties > UNPAUSED_EMPTIES:
            self._clock.sleep(EMPTY_PAUSE_SECONDS)
