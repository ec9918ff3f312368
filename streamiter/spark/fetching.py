"""Fetching: one shard's pages, one after the other, each asked for while the one before is worked on; faults are waited out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.errors import IteratorExpired, SourceError, TransientError
from streamiter.position import Position
from streamiter.source.base import Page, Source
from streamiter.source.cursor import Cursor, open_cursor
from streamiter.stream.callers import Callers
from streamiter.stream.faults import pause_after
from streamiter.stream.schedule import UNPAUSED_EMPTIES

PATIENCE_US = 60 * SECOND_US
EMPTY_PAUSE_SECONDS = 0.25


def pages(
    source: Source, shard_id: str, place: Callable[[], Position], clock: Clock, *, patience_us: int = PATIENCE_US
) -> Iterator[Page]:
    """The pages of a shard, until its end. `place` says where to open it: at first, and after all that was yielded."""
    with closing(Callers(1)) as callers:
        yield from _Fetching(source, shard_id, place, clock, callers, patience_us).pages()


class _Fetching:
    def __init__(
        self,
        source: Source,
        shard_id: str,
        place: Callable[[], Position],
        clock: Clock,
        callers: Callers,
        patience_us: int,
    ) -> None:
        self._source = source
        self._shard_id = shard_id
        self._place = place
        self._clock = clock
        self._callers = callers
        self._patience_us = patience_us
        self._cursor: Cursor | None = None

    def pages(self) -> Iterator[Page]:
        empties = 0
        self._ask()
        while True:
            page = self._answer()
            rest_us = microseconds(self._clock.monotonic()) + page.rest_us
            if page.next is not None and not page.rest_us:
                self._ask()
            yield page
            if page.next is None:
                return
            if page.rest_us:  # as the service's rates want it
                self._clock.sleep(max(0, rest_us - microseconds(self._clock.monotonic())) / SECOND_US)
                self._ask()
            empties = 0 if page.records else empties + 1
            if empties > UNPAUSED_EMPTIES:
                self._clock.sleep(EMPTY_PAUSE_SECONDS)  # Its end does not show yet.

    def _ask(self) -> None:
        call = partial(_fetch, self._source, self._shard_id, self._cursor, self._place)
        self._callers.submit(None, call)

    def _answer(self) -> Page:
        """The page that was asked for; asks again while its call fails in a way that may pass."""
        since_us: int | None = None
        times = 0
        while True:
            (answer,) = self._wait()
            error = answer.error
            if error is None:
                cursor, page = answer.result
                self._cursor = cursor
                taken: Page = cursor.take(page, 0)
                return taken
            now_us = microseconds(self._clock.monotonic())
            since_us = now_us if since_us is None else since_us
            if isinstance(error, IteratorExpired):
                self._cursor = None
            elif not isinstance(error, TransientError):
                raise error
            else:
                times += 1
                self._clock.sleep(pause_after(error, times) / SECOND_US)
            if now_us - since_us >= self._patience_us:
                kind = type(error) if isinstance(error, SourceError) else SourceError
                raise kind(
                    f"shard {self._shard_id} gave nothing but errors for {self._patience_us / SECOND_US:.0f} s; nothing is "
                    f"lost, the query can be started again; the last error: {error}"
                )
            self._ask()

    def _wait(self) -> list[Any]:
        while not (answers := self._callers.answers(1.0)):
            pass
        return answers


def _fetch(source: Source, shard_id: str, cursor: Cursor | None, place: Callable[[], Position]) -> tuple[Cursor, Page]:
    if cursor is None:
        cursor = open_cursor(source, shard_id, place(), 0)
    return cursor, source.fetch(cursor.iterator, source.page_limit)
