"""Offsets: tokens as Spark keeps them in its checkpoints, as JSON that is the same text for the same place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streamiter.errors import InvalidPosition
from streamiter.reading.resume import token_at_start
from streamiter.source.base import Source
from streamiter.spark.options import LATEST, TRIM_HORIZON, Options
from streamiter.stream.starting import parse_position
from streamiter.token import Token

# "latest" is no place: Spark asks for a query's first offset several times, and once more after a crash. So a query's first
# batch is empty: it goes from here to the token of that moment, which from then on stands in the checkpoint.
AT_LATEST: dict[str, Any] = {"position": LATEST}


def first_offset(options: Options, source: Source) -> dict[str, Any]:
    """The offset that a query begins with; the same however often it is asked for."""
    if options.starting_position == LATEST:
        return dict(AT_LATEST)
    return offset_of(start_token(options, source))


def start_token(options: Options, source: Source) -> Token:
    """The token that `startingPosition` stands for, where it stands for one."""
    return position_token(options.starting_position, source)


def position_token(position: str, source: Source) -> Token:
    """A position of the options as a token of this stream."""
    if position == TRIM_HORIZON:
        return token_at_start(source.name)
    if position.startswith("{"):
        return token_of(json.loads(position), source)
    if position.isdigit():
        return token_at_start(source.name, int(position))
    raise InvalidPosition(f"{position} is not a place that a query can start from")


def token_of(offset: Mapping[str, Any], source: Source) -> Token:
    """The token of an offset, checked to be of this stream."""
    token = parse_position(offset, source.name)
    assert isinstance(token, Token)
    if any(lane.latest for lane in token.lanes):
        raise InvalidPosition(
            "this token of Bloop's starts at the end of what was there when it is first used; let a Stream use it, and take "
            "that one's token"
        )
    return token


def offset_of(token: Token) -> dict[str, Any]:
    """A token as an offset: Spark compares the text, so its keys are sorted."""
    offset: dict[str, Any] = json.loads(json.dumps(token.to_dict(), sort_keys=True))
    return offset
