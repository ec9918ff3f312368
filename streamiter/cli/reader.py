"""The reader: a command's stream: where it starts, the clock on which it waits, and where its gaps are reported."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

from streamiter.cli.moments import shown
from streamiter.cli.setting import StreamAddress, setting
from streamiter.cli.terminal.outputs import complain
from streamiter.clock import SECOND_US, Clock, SystemClock
from streamiter.reading.patience import Patience, retrying
from streamiter.source import Source
from streamiter.stream import Stream

FIND_PATIENCE_US = 5 * SECOND_US  # to find the stream: a wrong endpoint is not to be waited out for a minute


class WaitingClock(SystemClock):
    """A clock that tells when a stream is about to wait: everything due is done, there is time for screens and files."""

    def __init__(self, clock: Clock, on_wait: Callable[[], None]) -> None:
        super().__init__()
        self._clock = clock
        self._on_wait = on_wait

    def now(self) -> float:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        self._on_wait()
        self._clock.sleep(seconds)


def find_source(place: StreamAddress) -> Source:
    """The source, with its stream looked up; an error soon, if the service does not answer."""
    source = place.source()
    retrying(lambda: source.name, setting().clock, Patience(FIND_PATIENCE_US))
    return source


def open_stream(
    source: Source,
    start: str | datetime | dict[str, Any],
    *,
    on_wait: Callable[[], None],
    skips_gaps: bool,
    notice: Callable[[str], None] | None = None,
    **options: Any,
) -> Stream[Any]:
    """A stream that calls `on_wait` before each pause. Accepted gaps go to `notice`."""
    if notice is not None:
        _route_warnings(notice)
    clock = WaitingClock(setting().clock, on_wait)
    if isinstance(start, datetime) and start.timestamp() > clock.now():
        complain(f"streamiter: --from is in the future: nothing comes before {shown(start)}")
    on_gap: Literal["raise", "skip"] = "skip" if skips_gaps else "raise"
    return Stream(source, start, on_gap=on_gap, clock=clock, **options)


def why_ended(stream: Stream[Any]) -> str | None:
    """Why a stream that would have gone on ended; None if the caller stopped it."""
    if not stream.ended:
        return None
    return (
        "the stream was disabled, and all that it held is read; if the table has a new stream by now, its name means that "
        "one: streamiter doctor shows it"
    )


class _Notices(logging.Handler):
    def __init__(self, notice: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._notice = notice

    def emit(self, record: logging.LogRecord) -> None:
        self._notice(record.getMessage())


def _route_warnings(notice: Callable[[str], None]) -> None:
    logger = logging.getLogger("streamiter")
    for handler in [handler for handler in logger.handlers if isinstance(handler, _Notices)]:
        logger.removeHandler(handler)
    logger.addHandler(_Notices(notice))
