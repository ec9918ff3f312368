"""Where a stream starts and where an iteration ends: what a caller may name, and the name of the stream itself."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from streamiter.clock import FIRST_US, LAST_US, SECOND_US, Clock, SystemClock, microseconds
from streamiter.errors import InvalidOption, InvalidPosition, InvalidToken
from streamiter.moments import parse_moment
from streamiter.reading import Mark
from streamiter.reading.patience import Failure, Patience, retried
from streamiter.reading.resume import token_at_start
from streamiter.record import Record
from streamiter.source.base import Source
from streamiter.steps import Steps, by_clock, finish
from streamiter.token import Token, load_token
from streamiter.token.checks import shown

if TYPE_CHECKING:
    from streamiter.driving import Driver
    from streamiter.reading import Reading


CAUGHT_UP = "caught_up"
LATEST = "latest"
TRIM_HORIZON = "trim_horizon"


def parse_position(position: Any, stream: str, clock: Clock | None = None, *, grain_us: int = SECOND_US) -> Token | str:
    """A position as a token of this stream, or LATEST, which only the service can turn into one.

    `clock` tells what "2 hours ago" means; times are floored as the source floors its own, to `grain_us`.
    """
    if isinstance(position, str):
        position = read_position(position, clock)
    if position == LATEST:
        return LATEST
    if position == TRIM_HORIZON:
        return token_at_start(stream)
    if isinstance(position, Mapping):
        token = load_token(position)
        _check_stream(token, stream)
        return token
    return token_at_start(stream, _time_us(position, grain_us))


def read_position(
    text: str,
    clock: Clock | None = None,
    words: tuple[str, ...] = (TRIM_HORIZON, LATEST),
    *,
    sign: int = -1,
    takes_token: bool = True,
) -> str | dict[str, Any] | datetime:
    """The meaning of a text, in Python, on the command line and in Spark: one of the words, a time, or a token's JSON."""
    word = text.strip().lower().replace("-", "_").replace(" ", "_")
    if word in words:
        return word
    if takes_token and text.lstrip().startswith("{"):
        return _token_of(text)
    try:
        return parse_moment(text, (clock or SystemClock()).now(), sign=sign)
    except ValueError as error:
        others = [*words, *(["a token's JSON"] if takes_token else [])]
        raise InvalidPosition(f"{error}{'; or ' if others else ''}{' or '.join(others)}") from None


def _token_of(text: str) -> dict[str, Any]:
    try:
        token: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidToken(
            "it looks like a token, but is no JSON", hint="json.dumps(stream.token) gives its text"
        ) from None
    return token


def parse_end(until: Any, clock: Clock | None = None, *, grain_us: int = SECOND_US) -> int | str | None:
    """Where an iteration is to end: CAUGHT_UP, an order time, or None: never."""
    if until is None:
        return None
    if isinstance(until, str):
        try:
            until = read_position(until, clock, (CAUGHT_UP,), sign=1, takes_token=False)
        except InvalidPosition as error:
            raise InvalidOption(f"until= takes {CAUGHT_UP!r}, a time or None: {error}") from None
        if until == CAUGHT_UP:
            return CAUGHT_UP
    if not isinstance(until, datetime) and not callable(getattr(until, "timestamp", None)):
        raise InvalidOption(f"until= takes {CAUGHT_UP!r}, a time (text, datetime or arrow) or None, not {until!r}")
    return _time_us(until, grain_us)


def _time_us(position: Any, grain_us: int) -> int:
    if isinstance(position, datetime):
        moment = position if position.tzinfo is not None else position.replace(tzinfo=UTC)
        return _bounded(microseconds(moment.timestamp()), grain_us)
    timestamp = getattr(position, "timestamp", None)
    if not callable(timestamp):
        raise InvalidPosition(f"a {type(position).__name__} is no position: {_KNOWN}")
    return _bounded(microseconds(float(timestamp())), grain_us)


def _bounded(time_us: int, grain_us: int) -> int:
    """The time as the source would tell it, within what tokens can hold: a zone may put year 1 before itself."""
    bounded_us = max(FIRST_US, min(time_us, LAST_US - 1))
    return bounded_us - bounded_us % grain_us


def _check_stream(token: Token, stream: str) -> None:
    if token.stream == stream:
        return
    table, _, label = stream.partition("/stream/")
    where = "$.stream_arn" if token.closed_are_read and not token.clock else "$.stream"
    if token.stream.partition("/stream/")[0] == table and label:
        raise InvalidToken(
            f"it is of {shown(token.stream)}, but the table's stream is now {stream}: the stream was disabled and enabled "
            "again",
            where=where,
            hint="the old stream stays readable for 24 hours under its own ARN; then start the new one at 'trim_horizon'",
        )
    arn, at, _ = stream.partition("@")
    if at and token.stream.partition("@")[0] == arn:
        raise InvalidToken(
            f"it is of {shown(token.stream)}, but the stream is now {stream}: it was deleted and made again",
            where=where,
            hint="what the old one held is gone; start the new one at 'trim_horizon'",
        )
    raise InvalidToken(
        f"it is of another stream, {shown(token.stream)}; this one is {stream}",
        where=where,
        hint="name that stream, or another token",
    )


_KNOWN = "'trim_horizon', 'latest', a token (dict or its JSON), a time (text, datetime or arrow)"


@dataclass(slots=True)
class Ending:
    """Where an iteration ends."""

    before_us: int | None  # the order time that it ends before; None: at the mark
    mark: Mark | None
    reading: Reading | None = None  # that the mark is of

    def stands_before(self, record: Record | None) -> bool:
        """Whether the iteration ends before this record, which comes next. A late record still comes out."""
        return self.before_us is not None and record is not None and record.order_us >= self.before_us

    def is_over(self, driver: Driver) -> bool:
        """Whether the iteration returned all its records."""
        if self.stands_before(driver.peek()):
            return True
        reading = driver.reading
        if self.mark is None and self._is_past_by_clock(reading):
            # Nothing may ever be written after that time: then it ends with what is held once the time is over.
            self._set_mark(driver)
        elif self.mark is not None and self.reading is not reading:
            self._set_mark(driver)  # reading began anew meanwhile: work was broken off, or the caller moved it
        return self.mark is not None and reading.is_past(self.mark)

    def _set_mark(self, driver: Driver) -> None:
        self.mark, self.reading = driver.mark(), driver.reading

    def _is_past_by_clock(self, reading: Reading) -> bool:
        service_us = reading.service_us
        if self.before_us is None or service_us is None:
            return False
        return service_us >= self.before_us + reading.book.lateness_us


logger = logging.getLogger("streamiter.stream")


def look_up(source: Source, clock: Clock, patience_seconds: float) -> str:
    """As `naming`, on this thread."""
    return finish(naming(source, clock, patience_seconds), by_clock(clock))


def naming(source: Source, clock: Clock, patience_seconds: float) -> Steps[str]:
    """The stream's name. Looking it up may take calls; calls that fail are made again, as everywhere."""

    def tell(failure: Failure) -> None:
        if failure.pause_us is None:
            return
        logger.info("the stream cannot be looked up yet; asked again in %.1f s", failure.pause_us / SECOND_US)
        if failure.is_worth_a_warning:  # the caller's constructor waits: the caller is told why
            told = "the stream cannot be looked up for %.0f s now; an error is raised after %.0f s; the last one: %s"
            logger.warning(told, failure.tried_us / SECOND_US, patience_seconds, failure.error)

    return retried(lambda: source.name, clock, Patience(microseconds(patience_seconds), tell))
