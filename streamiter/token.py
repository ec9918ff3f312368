"""Tokens: where reading of a whole stream stands, as a small JSON-friendly dict.

    {"streamiter": 1, "stream": "arn:...", "clock": 42, "high": [time, greatest, depth, shard, number, since],
     "lanes": [{"shard": "S1", "parents": ["S0"], "depth": 1, "place": ["100000000017", 0], "floor": 1700000000000000}]}

The lanes are the shards being read, their finished parents, and finished shards without children. A shard that is
listed and is neither among the lanes nor an ancestor of one is unread (law 8). Times are microseconds of service time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from streamiter.clock import FIRST_US, LAST_US
from streamiter.errors import InvalidToken
from streamiter.position import After, AtNumber, AtTime, Horizon, Place, Position
from streamiter.shard import Rank

VERSION = 1
DAY_US = 86_400_000_000
LONGEST_NUMBER = 99  # order keys tell the length of a number in two digits


class TokenLane(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One shard in a token."""

    shard: str
    parents: tuple[str, ...] = ()
    depth: int | None = None  # of its rank; None: as the listing says
    greatest: str | None = None  # the greatest id of its rank, where that is not its own
    place: tuple[str, int] | None = None  # of the last record returned
    floor: int | None = None  # order time of the last record returned of this shard, or of its ancestors
    unresolved: bool = False  # the ancestors still listed may raise the floor: only Spark leaves it so
    opened: int | None = None  # when its start was chosen
    time: int | None = None  # where it starts when nothing was read; it follows the tip of an idle shard
    at: str | None = None  # a sequence number to start at: from Bloop's tokens alone
    latest: bool = False  # starts at the end of its first listing: from Bloop's tokens alone
    ended: int | None = None  # when its end was seen
    childless: bool = False  # ended, and listing after listing showed no child
    gap: bool = False  # ended, and children of it may have come and gone: a gap that was not accepted

    @property
    def rank(self) -> Rank | None:
        """Where it stands when order times tie; None where only the listing can say."""
        return None if self.depth is None else Rank(self.greatest or self.shard, self.depth, self.shard)

    @property
    def position(self) -> Position:
        """Where reading of the shard goes on."""
        if self.place is not None:
            return After(Place.of(*self.place))
        if self.at is not None:
            return AtNumber(self.at)
        if self.time is not None:
            return AtTime(self.time, self.opened)
        return Horizon(self.opened)


class Token(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The resume state of a whole stream: everything after the last record returned."""

    streamiter: int
    stream: str
    start: int | None = None  # where unread shards start: a time, or None for their horizon
    lanes: tuple[TokenLane, ...] = ()
    clock: int = 0
    high: tuple[int, str, int, str, str, int] | None = None  # the greatest key returned: what sorts below it is late
    retention: int | None = (
        None  # how long the service held records, where not a day: after that the unread may be lost
    )
    fresh: bool = False  # nothing was listed yet when it was taken
    closed_are_read: bool = False  # closed shards that nothing connects count as read: from Bloop's tokens alone

    def to_dict(self) -> dict[str, Any]:
        """The token as its user sees it."""
        token: dict[str, Any] = msgspec.to_builtins(self)
        for lane in token.get("lanes", ()):
            for name in ("parents", "place"):
                if name in lane:
                    lane[name] = list(lane[name])
        for name in ("lanes", "high"):
            if name in token:
                token[name] = list(token[name])
        return token


def load_token(token: object) -> Token:
    """The token in a dict of ours or of Bloop's; InvalidToken says what is wrong with it, and where."""
    if not isinstance(token, Mapping):
        raise InvalidToken(
            f"a token is a dict, this is {_a(token)}", hint="was it saved as JSON? json.loads gives the dict"
        )
    if "streamiter" in token:
        return _load_ours(token)
    if "stream_arn" in token:
        return _load_bloop(token)
    raise _damaged("it has neither 'streamiter' (a token of ours) nor 'stream_arn' (one of Bloop's)", "$")


def high_key(token: Token) -> tuple[int, Rank, Place] | None:
    """The greatest key returned so far, as the merge compares it."""
    if token.high is None:
        return None
    time_us, greatest, depth, shard_id, number, since = token.high
    return time_us, Rank(greatest, depth, shard_id), Place(int(number), since)


def _load_ours(token: Mapping[str, Any]) -> Token:
    version = token["streamiter"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _damaged("the version is not a number from 1 up", "$.streamiter")
    if version > VERSION:
        raise InvalidToken(
            f"it was written by a newer streamiter (version {version}, this one reads up to {VERSION})",
            where="$.streamiter",
            hint="upgrade streamiter here too",
        )
    loaded: Token = _convert(token, Token)
    _check_token(loaded)
    return loaded


def _check_token(token: Token) -> None:
    seen: set[str] = set()
    for index, lane in enumerate(token.lanes):
        where = f"$.lanes[{index}]"
        if not _is_shard_id(lane.shard):
            raise _damaged("a shard id must be a word without blanks", f"{where}.shard")
        if lane.shard in seen:
            raise _damaged("two lanes name the same shard", f"{where}.shard")
        seen.add(lane.shard)
        if lane.shard in lane.parents or not all(map(_is_shard_id, lane.parents)):
            raise _damaged("a parent must be another shard's id", f"{where}.parents")
        if lane.greatest is not None and not _is_shard_id(lane.greatest):
            raise _damaged("a shard id must be a word without blanks", f"{where}.greatest")
        if lane.depth is not None and lane.depth < 0:
            raise _damaged("a depth cannot be negative", f"{where}.depth")
        if lane.place is not None:
            _check_number(lane.place[0], f"{where}.place[0]")
            if lane.place[1] < 0:
                raise _damaged("a count of records cannot be negative", f"{where}.place[1]")
        if lane.at is not None:
            _check_number(lane.at, f"{where}.at")
        for name in ("floor", "opened", "time", "ended"):
            _check_time(getattr(lane, name), f"{where}.{name}")
    _check_time(token.start, "$.start")
    if token.retention is not None and token.retention <= 0:
        raise _damaged("a retention must be longer than nothing", "$.retention")
    if token.clock < 0:
        raise _damaged("a count of records cannot be negative", "$.clock")
    if token.high is not None:
        _check_high(*token.high)


def _check_time(time_us: int | None, where: str) -> None:
    if time_us is not None and not FIRST_US <= time_us < LAST_US:
        raise _damaged("a time counts microseconds since 1970, to the year 9999 at most", where)


def _check_high(time_us: int, greatest: str, depth: int, shard_id: str, number: str, since: int) -> None:
    _check_time(time_us, "$.high[0]")
    for index, name in ((1, greatest), (3, shard_id)):
        if not _is_shard_id(name):
            raise _damaged("a shard id must be a word without blanks", f"$.high[{index}]")
    for index, count in ((2, depth), (5, since)):
        if count < 0:
            raise _damaged("a count cannot be negative", f"$.high[{index}]")
    _check_number(number, "$.high[4]")


def _check_number(number: str, where: str) -> None:
    if not (number.isascii() and number.isdigit()):
        raise _damaged("a sequence number is written in digits alone", where)
    if len(number) > LONGEST_NUMBER:
        raise _damaged(f"a sequence number has at most {LONGEST_NUMBER} digits", where)


def _is_shard_id(shard_id: str) -> bool:
    return bool(shard_id) and all(character > " " for character in shard_id)


class _BloopShard(msgspec.Struct, frozen=True):
    shard_id: str
    parent: str | None = None
    iterator_type: str | None = None
    sequence_number: str | None = None


class _BloopToken(msgspec.Struct, frozen=True):
    stream_arn: str
    active: tuple[str, ...]
    shards: tuple[_BloopShard, ...]


def _load_bloop(token: Mapping[str, Any]) -> Token:
    bloop = _convert(token, _BloopToken)
    shards = {shard.shard_id: (index, shard) for index, shard in enumerate(bloop.shards)}
    for index, shard_id in enumerate(bloop.active):
        if shard_id not in shards:
            raise _damaged("an active shard is missing from the shards", f"$.active[{index}]")
    lanes = []
    # Shards that are not active need no lane: ancestors of active ones were read, descendants of active ones were not.
    for shard_id in dict.fromkeys(bloop.active):
        index, shard = shards[shard_id]
        parents = (shard.parent,) if shard.parent else ()
        where = f"$.shards[{index}]"
        if shard_id in parents or not all(map(_is_shard_id, (shard_id, *parents))):
            raise _damaged("a shard id must be a word without blanks, a parent's id another one", where)
        lanes.append(_bloop_lane(shard, parents, where))
    return Token(VERSION, bloop.stream_arn, lanes=tuple(lanes), closed_are_read=True)


def _bloop_lane(shard: _BloopShard, parents: tuple[str, ...], where: str) -> TokenLane:
    kind = shard.iterator_type
    if kind in ("after_sequence", "at_sequence"):
        if shard.sequence_number is None:
            raise _damaged(f"{kind} without a sequence number", f"{where}.sequence_number")
        _check_number(shard.sequence_number, f"{where}.sequence_number")
        if kind == "at_sequence":
            return TokenLane(shard.shard_id, parents, at=shard.sequence_number)
        return TokenLane(shard.shard_id, parents, place=(shard.sequence_number, 0))
    if kind in (None, "trim_horizon"):
        return TokenLane(shard.shard_id, parents)
    if kind == "latest":
        return TokenLane(shard.shard_id, parents, latest=True)
    raise _damaged(f"no iterator is of type {kind!r}", f"{where}.iterator_type")


def _convert(token: Mapping[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(token, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `")
        raise _damaged(_in_our_words(what), where.rpartition("`")[0].removeprefix("key` in `") or "$") from None


def _in_our_words(what: str) -> str:
    """What msgspec says is wrong, as a person would."""
    lack, unknown, kind = _LACK.fullmatch(what), _UNKNOWN.fullmatch(what), _KIND.fullmatch(what)
    if lack:
        return f"`{lack[1]}` is missing"
    if unknown:
        return f"no token has a `{unknown[1]}` there"
    if kind is None:
        return what
    wanted = " or ".join(_KINDS.get(name, name) for name in kind[1].split(" | "))
    if kind[2] is not None:
        return f"{wanted} of {kind[2]} belongs there, this one has {kind[3]}"
    return f"{wanted} belongs there" + (f", not {_KINDS.get(kind[3], f'a {kind[3]}')}" if kind[3] else "")


_LACK = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_KIND = re.compile(r"Expected `([^`]*)`(?: of length (\d+))?(?:, got `?(\w+)`?)?")
_KINDS = {
    "str": "a text", "int": "a whole number", "float": "a number with a fraction", "bool": "true or false",
    "array": "an array", "object": "an object", "null": "nothing",
}  # fmt: skip


def _damaged(what: str, where: str) -> InvalidToken:
    hint = "it is not as it was saved: take a copy that is whole, or start anew at 'trim_horizon', 'latest' or a time"
    return InvalidToken(what, where=where, hint=hint)


def _a(value: object) -> str:
    return f"a {type(value).__name__}"
