"""The reader: a command's stream: where it starts, the clock on which it waits, and the gaps that it is told of."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from streamiter.cli.moments import shown
from streamiter.cli.outputs import complain
from streamiter.cli.setting import Place, setting
from streamiter.clock import Clock, SystemClock
from streamiter.errors import TransientError
from streamiter.source import Source
from streamiter.stream import Stream

FIND_PATIENCE = 5.0  # seconds to find the stream: a wrong endpoint is not to be waited out for a minute


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


def find_source(place: Place) -> Source:
    """The source, its stream looked up; soon an error where nobody answers."""
    source = place.source()
    clock = setting().clock
    since, pause = clock.monotonic(), 0.25
    while True:
        try:
            source.name  # noqa: B018 - looking it up calls out
        except TransientError:
            if clock.monotonic() - since >= FIND_PATIENCE:
                raise
            clock.sleep(pause)
            pause *= 2
        else:
            return source


def open_stream(
    source: Source,
    start: str | datetime | dict[str, Any],
    *,
    on_wait: Callable[[], None],
    skips_gaps: bool,
    notice: Callable[[str], None] | None = None,
    **options: Any,
) -> Stream:
    """A stream that calls `on_wait` before each pause. Accepted gaps go to `notice`."""
    if notice is not None:
        _route_warnings(notice)
    clock = WaitingClock(setting().clock, on_wait)
    if isinstance(start, datetime) and start.timestamp() > clock.now():
        complain(f"streamiter: --from is yet to come: nothing before {shown(start)} is told")
    return Stream(source, start, on_gap="skip" if skips_gaps else "raise", clock=clock, **options)


def why_ended(stream: Stream) -> str | None:
    """Why what would have gone on came to its end; None where somebody stopped it."""
    if not stream.ended:
        return None
    return (
        "the stream was disabled, and what it held is read to the end; enabling it again makes a new one, with the table's "
        "name: streamiter doctor tells how it stands"
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
