"""Where to start and where to end: what a user may name as a position, as a token or a time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from streamiter.clock import floor_second, microseconds
from streamiter.errors import InvalidOption, InvalidPosition, InvalidToken
from streamiter.stream.resume import token_at_start
from streamiter.token import Token, load_token

CAUGHT_UP = "caught_up"
LATEST = "latest"
TRIM_HORIZON = "trim_horizon"


def parse_position(position: Any, stream: str) -> Token | str:
    """A position as a token of this stream, or LATEST, which only the service can turn into one."""
    if isinstance(position, Mapping):
        token = load_token(position)
        _check_stream(token, stream)
        return token
    if isinstance(position, str):
        if position.lower() == TRIM_HORIZON:
            return token_at_start(stream)
        if position.lower() == LATEST:
            return LATEST
        raise InvalidPosition(f"{position!r} is no position: {_KNOWN}")
    return token_at_start(stream, _time_us(position))


def parse_end(until: Any) -> int | str | None:
    """Where an iteration is to end: CAUGHT_UP, an order time, or None: never."""
    if until is None or (isinstance(until, str) and until == CAUGHT_UP):
        return until
    if not isinstance(until, datetime) and not callable(getattr(until, "timestamp", None)):
        raise InvalidOption(f"until= takes {CAUGHT_UP!r}, a datetime, an arrow or None, not {until!r}")
    return _time_us(until)


def _time_us(position: Any) -> int:
    if isinstance(position, datetime):
        moment = position if position.tzinfo is not None else position.replace(tzinfo=UTC)
        return floor_second(microseconds(moment.timestamp()))
    timestamp = getattr(position, "timestamp", None)
    if not callable(timestamp):
        raise InvalidPosition(f"a {type(position).__name__} is no position: {_KNOWN}")
    return floor_second(microseconds(float(timestamp())))


def _check_stream(token: Token, stream: str) -> None:
    if token.stream == stream:
        return
    table, _, label = stream.partition("/stream/")
    where = "$.stream_arn" if token.closed_are_read and not token.clock else "$.stream"
    if token.stream.partition("/stream/")[0] == table and label:
        raise InvalidToken(
            f"it is of {token.stream}, but the table's stream is now {stream}: the stream was disabled and enabled again",
            where=where,
            hint="the old stream stays readable for 24 hours under its own ARN; then start the new one at 'trim_horizon'",
        )
    arn, at, _ = stream.partition("@")
    if at and token.stream.partition("@")[0] == arn:
        raise InvalidToken(
            f"it is of {token.stream}, but the stream is now {stream}: it was deleted and made again",
            where=where,
            hint="what the old one held is gone; start the new one at 'trim_horizon'",
        )
    raise InvalidToken(
        f"it is of another stream, {token.stream}; this one is {stream}",
        where=where,
        hint="name that stream, or another token",
    )


_KNOWN = "'trim_horizon', 'latest', a token (dict), a datetime or an arrow"
