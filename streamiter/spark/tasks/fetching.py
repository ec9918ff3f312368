"""Fetching: one shard's pages, one after the other; after a fault the call is made again.

A thread asks for the next page as soon as one is here. So the task works on a page while the service prepares the next ones.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.errors import IteratorExpired, SourceError, TransientError
from streamiter.position import Position
from streamiter.reading.patience import Patience
from streamiter.reading.schedule import UNPAUSED_EMPTIES
from streamiter.source.base import Page, Source
from streamiter.source.cursor import Cursor, open_cursor
from streamiter.spark.tasks.ahead import Ahead

PATIENCE_US = 60 * SECOND_US
EMPTY_PAUSE_SECONDS = 0.25
PAGES_AHEAD = 2  # of the one that is worked on: one that waits, and one that is on its way


class Trying:
    """Calls for one shard, made again and again while they fail: how long each waits, and when the task gives up."""

    def __init__(self, shard_id: str, clock: Clock) -> None:
        self._shard_id = shard_id
        self._clock = clock
        self._patience = Patience(PATIENCE_US)

    def wait_out(self, error: SourceError) -> None:
        """Waits before the call is made again; raises where nothing but errors came for too long."""
        now_us = microseconds(self._clock.monotonic())
        again_us = self._patience.failed(self._shard_id, error, now_us)
        overdue = self._patience.overdue("the query can be started again")
        if overdue is not None:
            raise overdue
        self._clock.sleep((again_us - now_us) / SECOND_US)

    def recovered(self) -> None:
        """A call was answered."""
        self._patience.recovered(self._shard_id, microseconds(self._clock.monotonic()))


def pages(
    source: Source, shard_id: str, place: Callable[[], Position], clock: Clock, trying: Trying | None = None
) -> Generator[Page]:
    """The pages of a shard, until its end. `place` says where to open it: at first, and after all that was yielded.

    Close it where it is not read to its end: it has a thread. `trying` outlasts this call where its caller tries again.
    """
    fetching = _Fetching(source, shard_id, place, clock, trying or Trying(shard_id, clock))
    while not fetching.is_over:
        yield from fetching.go_on()


class _Fetching:
    def __init__(
        self, source: Source, shard_id: str, place: Callable[[], Position], clock: Clock, trying: Trying
    ) -> None:
        self.is_over = False
        self._source = source
        self._shard_id = shard_id
        self._place = place
        self._clock = clock
        self._trying = trying
        self._cursor: Cursor | None = None  # behind what was yielded; None: the shard is to be opened
        self._empties = 0

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
            if self._cursor is None:  # It was just handed out: another one would be no better at once.
                self._trying.wait_out(error)
            self._cursor = None
            return None
        except TransientError as error:
            self._trying.wait_out(error)
            return None
        if told is None:
            return None
        self._trying.recovered()
        self._cursor, page = told
        return self._cursor.take(page, 0)

    def _rest(self, page: Page, due_us: int) -> None:
        """Leaves the shard alone, as the service's rates want it, or where its end does not show yet."""
        if page.rest_us:
            self._clock.sleep(max(0, due_us - microseconds(self._clock.monotonic())) / SECOND_US)
        self._empties = 0 if page.records else self._empties + 1
        if self._empties > UNPAUSED_EMPTIES:
            self._clock.sleep(EMPTY_PAUSE_SECONDS)
