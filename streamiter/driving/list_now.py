"""Listing at once: all the shards of a stream, before there is a reading of them, or beside one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.driving.threads import Threads
from streamiter.errors import StreamiterError, TransientError
from streamiter.reading.listing import Pace, Pages
from streamiter.reading.patience import Patience, retried
from streamiter.shard import Shard
from streamiter.source.base import Source
from streamiter.steps import ANSWERS, Call, Pause, Steps, Wait, by_clock, finish

T = TypeVar("T")


class Listed(NamedTuple):
    """All the shards, and when listing them began, by the service's clock."""

    shards: list[Shard]
    service_us: int
    calls: int
    is_final: bool  # the stream is disabled


def list_now(
    source: Source, clock: Clock, pace: Pace, patience: Patience, is_closed: Callable[[], bool] = lambda: False
) -> Listed:
    """As `listing`, on this thread."""
    return finish_aside(listing(source, clock, pace, patience), clock, is_closed)


def finish_aside(steps: Steps[T], clock: Clock, is_closed: Callable[[], bool] = lambda: False) -> T:
    """Does steps before there is a driver. Their calls have a thread of their own, so that Ctrl-C ends it at once."""
    threads, by_thread = Threads(1), by_clock(clock)

    def wait(wish: Wait) -> Any:
        return _call(threads, wish.make, is_closed) if isinstance(wish, Call) else by_thread(wish)

    try:
        return finish(steps, wait)
    finally:
        threads.close(0.0 if threads.under_way else 0.5)


def _call(threads: Threads, call: Callable[[], Any], is_closed: Callable[[], bool]) -> Any:
    """Makes one call and waits for it."""
    threads.submit(None, call)
    while not is_closed():
        for answer in threads.answers(ANSWERS.seconds):
            if answer.error is not None:
                raise answer.error
            return answer.result
    raise StreamiterError("the stream was closed meanwhile")


def listing(source: Source, clock: Clock, pace: Pace, patience: Patience) -> Steps[Listed]:
    """Lists the shards, page by page, as fast as the service allows; calls that fail are made again while patience lasts."""
    pages, calls = Pages(), 0
    began_us: int | None = None
    while not pages.is_over:
        rest_us = pace.free_us - microseconds(clock.monotonic())
        if rest_us > 0:
            yield Pause(rest_us / SECOND_US)
        pace.count(microseconds(clock.monotonic()))
        try:
            page = yield from retried(partial(source.list_shards, pages.after), clock, patience)
        except TransientError as error:
            raise patience.give_up(None) from error
        calls += 1
        if began_us is None:
            began_us = microseconds(clock.now()) if page.service_us is None else page.service_us
        pages.take(page)
    assert began_us is not None
    return Listed(pages.rows, began_us, calls, page.is_final)
