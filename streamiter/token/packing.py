"""Packing: a token as a small dict, which is what its user saves: at most 200 bytes of JSON a lane.

A lane's finished parents are counted in. For example:

    {"streamiter": 2, "stream": "arn:...", "clock": 42, "prefix": "shardId-000000017", "times": [1700000000000000, 1000000],
     "high": [7, 0],
     "lanes": [["00000000010-1a2b3c4d", 1, [1], "100000000000000000017", 7]],
     "finished": [["00000000000-5e6f7a8b", 0, ["99999985600-9c0d1e2f"], 3, 2]]}

A lane is [shard, rank, parents, place, floor, time, opened, rest], and a finished one [shard, rank, parents, ended, floor,
rest]: the fields of `TokenLane`. What is not there at the end of a row has its default. To keep it small:

- Every shard id is written without the `prefix` that all of them have.
- A parent that is a lane itself is its number: the lanes count from 0, and the finished ones count on from there.
- `times` is [zero, unit]: every time is so many units of microseconds after zero.
- A rank is its depth, or [depth, greatest id] where that is not the shard's own id.
- A place is its sequence number, or [number, since] where more records came since it.
- An unresolved floor stands in brackets: ancestors may raise it.
- `high` is [time, shard, place, rank]; the place and the rank are left out where they are those of the lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from statistics import median_low
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamiter.token.values import Token, TokenLane

VERSION = 2
UNITS_US = (1_000_000, 1_000, 1)
TIMES = ("floor", "time", "opened", "ended")  # the fields of a lane that are times
LANE_REST = ("at", "latest", "childless", "gap")  # what a lane's rest may hold, ...
FINISHED_REST = ("place", "time", "opened", *LANE_REST)  # ... and that of a finished one
_PREFIX_COSTS = len('"prefix": "", ')


def pack(token: Token) -> dict[str, Any]:
    """The token as a JSON-friendly dict; the same token always gives the same text."""
    packed: dict[str, Any] = {"streamiter": VERSION, "stream": token.stream}
    for name in ("start", "clock", "retention", "fresh", "closed_are_read"):
        value = getattr(token, name)
        if value:
            packed[name] = value
    if token.start is not None:
        packed["start"] = token.start
    if token.lanes or token.high:
        _Packing(token).write(packed)
    return packed


class _Packing:
    """What the rows of one token have in common: the prefix of its ids, its lanes' numbers, zero and unit of its times."""

    def __init__(self, token: Token) -> None:
        self._token = token
        self._open = [lane for lane in token.lanes if lane.ended is None]
        self._finished = [lane for lane in token.lanes if lane.ended is not None]
        self._numbers = {lane.shard: number for number, lane in enumerate([*self._open, *self._finished])}
        self._prefix = _prefix(set(_names(token)))
        self._zero_us, self._unit_us = _scale(sorted(_times(token)))

    def write(self, packed: dict[str, Any]) -> None:
        """Adds all that they have in common, and the rows."""
        if self._prefix:
            packed["prefix"] = self._prefix
        if self._unit_us:
            packed["times"] = [self._zero_us, self._unit_us]
        if self._token.high is not None:
            packed["high"] = self._high(*self._token.high)
        if self._open:
            packed["lanes"] = [_trimmed(self._lane(lane)) for lane in self._open]
        if self._finished:
            packed["finished"] = [_trimmed(self._finished_lane(lane)) for lane in self._finished]

    def _lane(self, lane: TokenLane) -> list[Any]:
        return [
            *self._named(lane),
            None if lane.place is None else _place(*lane.place),
            self._floor(lane),
            self._time(lane.time),
            self._time(lane.opened),
            self._rest(lane, LANE_REST),
        ]

    def _finished_lane(self, lane: TokenLane) -> list[Any]:
        return [*self._named(lane), self._time(lane.ended), self._floor(lane), self._rest(lane, FINISHED_REST)]

    def _named(self, lane: TokenLane) -> tuple[str, Any, list[int | str]]:
        rank = None if lane.depth is None else self._rank(lane.depth, lane.greatest or lane.shard, lane.shard)
        return lane.shard[len(self._prefix) :], rank, [self._shard(parent) for parent in lane.parents]

    def _shard(self, shard_id: str) -> int | str:
        number = self._numbers.get(shard_id)
        return shard_id[len(self._prefix) :] if number is None else number

    def _rank(self, depth: int, greatest: str, shard_id: str) -> Any:
        return depth if greatest == shard_id else [depth, self._shard(greatest)]

    def _floor(self, lane: TokenLane) -> Any:
        floor = self._time(lane.floor)
        if lane.unresolved:
            return [] if floor is None else [floor]
        return floor

    def _time(self, time_us: int | None) -> int | None:
        return None if time_us is None else (time_us - self._zero_us) // self._unit_us

    def _rest(self, lane: TokenLane, names: tuple[str, ...]) -> dict[str, Any]:
        told = ((name, getattr(lane, name)) for name in names)
        rest = {name: value for name, value in told if value is not None and value is not False}
        for name in TIMES:
            if name in rest:
                rest[name] = self._time(rest[name])
        if "place" in rest:
            rest["place"] = _place(*rest["place"])
        return rest

    def _high(self, time_us: int, greatest: str, depth: int, shard_id: str, number: str, since: int) -> list[Any]:
        number_of_lane = self._numbers.get(shard_id)
        rank = self._rank(depth, greatest, shard_id)
        high = [self._time(time_us), self._shard(shard_id)]
        if number_of_lane is not None:
            lane = [*self._open, *self._finished][number_of_lane]
            if (lane.depth, lane.greatest or shard_id) == (depth, greatest):
                return high if lane.place == (number, since) else [*high, _place(number, since)]
        return [*high, _place(number, since), rank]


def _place(number: str, since: int) -> Any:
    return [number, since] if since else number


def _trimmed(row: list[Any]) -> list[Any]:
    """The row without the defaults at its end."""
    while row[-1] is None or row[-1] == {}:
        row.pop()
    return row


def _names(token: Token) -> Iterator[str]:
    """All shard ids of the token."""
    for lane in token.lanes:
        yield lane.shard
        yield from lane.parents
        if lane.greatest is not None:
            yield lane.greatest
    if token.high is not None:
        yield token.high[1]
        yield token.high[3]


def _prefix(names: set[str]) -> str:
    """What all ids begin with, where it saves room to write it once. Each keeps at least one character of its own."""
    first, last = min(names), max(names)
    shared = 0
    while shared < min(len(first), len(last)) - 1 and first[shared] == last[shared]:
        shared += 1
    shared = min(shared, *(len(name) - 1 for name in names))
    return first[:shared] if shared * (len(names) - 1) > _PREFIX_COSTS else ""


def _times(token: Token) -> Iterator[int]:
    """All times that are counted from zero."""
    for lane in token.lanes:
        for name in TIMES:
            time_us = getattr(lane, name)
            if time_us is not None:
                yield time_us
    if token.high is not None:
        yield token.high[0]


def _scale(times: list[int]) -> tuple[int, int]:
    """Zero and unit: the middle of all times, and the greatest unit that leaves no rest; (0, 0) where there are none."""
    if not times:
        return 0, 0
    common = gcd(*times)
    unit_us = next(unit for unit in UNITS_US if common % unit == 0)
    return median_low(times), unit_us
