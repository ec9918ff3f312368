"""Checks: what a token must be like, and what is wrong with one that is not, in words and by its place in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from streamiter.clock import FIRST_US, LAST_US
from streamiter.errors import InvalidToken
from streamiter.position import MOST_DIGITS, is_number
from streamiter.shard import is_shard_id, is_text
from streamiter.token.values import Token, TokenLane

MOST_COUNTED = 10**18
MOST_SHOWN = 150  # characters of a token that a message quotes

Where = Callable[[int, str], str]  # where a field of a lane stands, by the lane's index and the field's name


def damaged(what: str, where: str) -> InvalidToken:
    """The error for a token that is not as it was saved."""
    hint = "it is not as it was saved: take a copy that is whole, or start anew at 'trim_horizon', 'latest' or a time"
    return InvalidToken(what, where=where, hint=hint)


def shown(text: str) -> str:
    """Text of a token's as a message may quote it: not long, and with nothing that a terminal would obey."""
    kept = "".join(character if character.isprintable() else "?" for character in text[:MOST_SHOWN])
    return kept + ("..." if len(text) > MOST_SHOWN else "")


def check_token(token: Token, where: Where) -> None:
    """Raises InvalidToken where a field of a token that has the right types holds what cannot be."""
    if not is_text(token.stream):
        raise damaged("the name of a stream must be text", "$.stream")
    seen: set[str] = set()
    for index, lane in enumerate(token.lanes):
        _check_lane(lane, partial(where, index))
        if lane.shard in seen:
            raise damaged("two lanes name the same shard", where(index, "shard"))
        seen.add(lane.shard)
    check_time(token.start, "$.start")
    if token.retention is not None and token.retention <= 0:
        raise damaged("a retention must be longer than nothing", "$.retention")
    check_count(token.retention or 0, "$.retention")
    check_count(token.clock, "$.clock")
    if token.high is not None:
        _check_high(*token.high)


def _check_lane(lane: TokenLane, where: Callable[[str], str]) -> None:
    check_shard(lane.shard, where("shard"))
    if lane.shard in lane.parents or not all(map(is_shard_id, lane.parents)):
        raise damaged("a parent must be another shard's id", where("parents"))
    if lane.greatest is not None:
        check_shard(lane.greatest, where("greatest"))
    if lane.depth is not None:
        check_count(lane.depth, where("depth"))
    if lane.place is not None:
        check_number(lane.place[0], f"{where('place')}[0]")
        check_count(lane.place[1], f"{where('place')}[1]")
    if lane.at is not None:
        check_number(lane.at, where("at"))
    for name in ("floor", "opened", "time", "ended"):
        check_time(getattr(lane, name), where(name))


def _check_high(time_us: int, greatest: str, depth: int, shard_id: str, number: str, since: int) -> None:
    check_time(time_us, "$.high[0]")
    for index, name in ((1, greatest), (3, shard_id)):
        check_shard(name, f"$.high[{index}]")
    for index, count in ((2, depth), (5, since)):
        check_count(count, f"$.high[{index}]")
    check_number(number, "$.high[4]")


def check_shard(shard_id: str, where: str) -> None:
    """A shard id: a word."""
    if not is_shard_id(shard_id):
        raise damaged("a shard id must be a word without blanks", where)


def check_time(time_us: int | None, where: str) -> None:
    """A time: one that a calendar has."""
    if time_us is not None and not FIRST_US <= time_us < LAST_US:
        raise damaged("a time counts microseconds since 1970, to the year 9999 at most", where)


def check_count(count: int, where: str) -> None:
    """A count: from 0 up, and no more than a stream can have had."""
    if not 0 <= count < MOST_COUNTED:
        raise damaged("a count is a whole number from 0 up, of at most 18 digits", where)


def check_number(number: str, where: str) -> None:
    """A sequence number: digits."""
    if not is_number(number):
        raise damaged(f"a sequence number is written in digits alone, in {MOST_DIGITS} at most", where)


# -- types


def converted(token: Mapping[str, Any], kind: type[Any]) -> Any:
    """The token's dict as a struct of this kind; InvalidToken says which field has the wrong type."""
    try:
        return msgspec.convert(token, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `")
        raise damaged(_in_our_words(what), where.rpartition("`")[0].removeprefix("key` in `") or "$") from None
    except (ValueError, TypeError, RecursionError):  # text that is no text, a dict that is none
        raise damaged("it holds what JSON cannot hold", "$") from None


def _in_our_words(what: str) -> str:
    """What msgspec says is wrong, as a person would."""
    lack, unknown, kind = _LACK.fullmatch(what), _UNKNOWN.fullmatch(what), _KIND.fullmatch(what)
    if lack:
        return f"`{shown(lack[1])}` is missing"
    if unknown:
        return f"no token has a `{shown(unknown[1])}` there"
    if kind is None:
        return "what stands there does not belong there"
    wanted = " or ".join(dict.fromkeys(_KINDS.get(name, name) for name in kind[1].split(" | ")))
    if kind[3] is not None:
        return f"{wanted} of {kind[2] or ''}{kind[3]} belongs there, this one has {kind[4]}"
    return f"{wanted} belongs there" + (f", not {_KINDS.get(kind[4], 'what is there')}" if kind[4] else "")


_LACK = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_KIND = re.compile(r"Expected `([^`]*)`(?: of (at (?:least|most) )?length (\d+))?(?:, got `?(\w+)`?)?")
_KINDS = {
    "str": "a text", "int": "a whole number", "float": "a number with a fraction", "bool": "true or false",
    "array": "an array", "object": "an object", "null": "nothing",
}  # fmt: skip
