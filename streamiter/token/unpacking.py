"""Unpacking: the dict that `packing` describes, as a token again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from streamiter.token.checks import check_time, check_token, converted, damaged
from streamiter.token.packing import UNITS_US, VERSION
from streamiter.token.values import Token, TokenLane

_Shard = int | str  # the number of a lane, or an id without the prefix
_Rank = int | tuple[int, _Shard] | None
_Place = str | tuple[str, int] | None
_Floor = int | tuple[int, ...] | None


class _Rest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    place: _Place = None
    time: int | None = None
    opened: int | None = None
    at: str | None = None
    latest: bool = False
    childless: bool = False
    gap: bool = False


class _Lane(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    shard: str
    rank: _Rank
    parents: tuple[_Shard, ...]
    place: _Place = None
    floor: _Floor = None
    time: int | None = None
    opened: int | None = None
    rest: _Rest = _Rest()


class _Finished(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    shard: str
    rank: _Rank
    parents: tuple[_Shard, ...]
    ended: int
    floor: _Floor = None
    rest: _Rest = _Rest()


class _High(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    time: int
    shard: _Shard
    place: _Place = None
    rank: _Rank = None


class _Packed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    streamiter: int
    stream: str
    start: int | None = None
    clock: int = 0
    prefix: str = ""
    times: tuple[int, int] = (0, 1)
    high: _High | None = None
    lanes: tuple[_Lane, ...] = ()
    finished: tuple[_Finished, ...] = ()
    retention: int | None = None
    fresh: bool = False
    closed_are_read: bool = False


def unpack(token: Mapping[str, Any]) -> Token:
    """The token in a dict of version 2; InvalidToken says what is wrong with it, and where."""
    return _Unpacking(converted(token, _Packed)).token()


class _Unpacking:
    """What the rows of one token have in common."""

    def __init__(self, packed: _Packed) -> None:
        self._packed = packed
        rows: tuple[_Lane | _Finished, ...] = (*packed.lanes, *packed.finished)
        self._shards = [packed.prefix + row.shard for row in rows]
        zero_us, unit_us = packed.times
        check_time(zero_us, "$.times[0]")
        if unit_us not in UNITS_US:
            raise damaged(f"a unit of times is {', '.join(map(str, UNITS_US))} microseconds", "$.times[1]")

    def token(self) -> Token:
        """The token, whole and checked."""
        packed = self._packed
        lanes = dict(self._lanes())
        token = Token(
            VERSION,
            packed.stream,
            start=packed.start,
            lanes=tuple(lanes.values()),
            clock=packed.clock,
            high=None if packed.high is None else self._high(packed.high, list(lanes.values())),
            retention=packed.retention,
            fresh=packed.fresh,
            closed_are_read=packed.closed_are_read,
        )
        rows = list(lanes)
        check_token(token, lambda index, name: f"{rows[index]}{_COLUMNS[rows[index][2]].get(name, '[-1].' + name)}")
        return msgspec.structs.replace(token, lanes=tuple(sorted(token.lanes, key=lambda lane: lane.shard)))

    def _lanes(self) -> Iterator[tuple[str, TokenLane]]:
        for index, row in enumerate(self._packed.lanes):
            where = f"$.lanes[{index}]"
            rest = row.rest
            for name in ("place", "time", "opened"):
                if getattr(rest, name) is not None:
                    raise damaged(f"a lane's {name} stands in a column of its own", f"{where}[-1].{name}")
            yield where, self._lane(where, row, row.place, row.time, row.opened, None)
        for index, done in enumerate(self._packed.finished):
            rest = done.rest
            where = f"$.finished[{index}]"
            yield where, self._lane(where, done, rest.place, rest.time, rest.opened, done.ended)

    def _lane(
        self,
        where: str,
        row: _Lane | _Finished,
        place: _Place,
        time: int | None,
        opened: int | None,
        ended: int | None,
    ) -> TokenLane:
        depth, greatest = self._rank(row.rank, self._packed.prefix + row.shard, f"{where}[1]")
        floor, is_unresolved = self._floor(row.floor, f"{where}[4]")
        return TokenLane(
            self._packed.prefix + row.shard,
            tuple(self._shard(parent, f"{where}[2]") for parent in row.parents),
            depth,
            greatest,
            None if place is None else _place(place),
            floor,
            is_unresolved,
            self._time(opened),
            self._time(time),
            row.rest.at,
            row.rest.latest,
            self._time(ended),
            row.rest.childless,
            row.rest.gap,
        )

    def _shard(self, shard: _Shard, where: str) -> str:
        if isinstance(shard, str):
            return self._packed.prefix + shard
        if not 0 <= shard < len(self._shards):
            raise damaged("no lane has that number", where)
        return self._shards[shard]

    def _rank(self, rank: _Rank, own: str, where: str) -> tuple[int | None, str | None]:
        if isinstance(rank, tuple):
            greatest = self._shard(rank[1], where)
            return rank[0], None if greatest == own else greatest
        return rank, None

    def _floor(self, floor: _Floor, where: str) -> tuple[int | None, bool]:
        if not isinstance(floor, tuple):
            return self._time(floor), False
        if len(floor) > 1:
            raise damaged("a floor is one time", where)
        return self._time(floor[0] if floor else None), True

    def _time(self, time: int | None) -> int | None:
        zero_us, unit_us = self._packed.times
        return None if time is None else zero_us + time * unit_us

    def _high(self, high: _High, lanes: list[TokenLane]) -> tuple[int, str, int, str, str, int]:
        shard_id = self._shard(high.shard, "$.high[1]")
        depth, greatest = self._rank(high.rank, shard_id, "$.high[3]")
        place = None if high.place is None else _place(high.place)
        lane = lanes[high.shard] if isinstance(high.shard, int) else None
        if lane is not None:
            place = place or lane.place
            if depth is None:
                depth, greatest = lane.depth, lane.greatest
        if depth is None:
            raise damaged("the rank is missing", "$.high[3]")
        if place is None:
            raise damaged("the place is missing", "$.high[2]")
        zero_us, unit_us = self._packed.times
        return zero_us + high.time * unit_us, greatest or shard_id, depth, shard_id, *place


_COLUMNS = {  # by the first letter of what a row is one of: where its fields stand
    "l": {"shard": "[0]", "depth": "[1]", "greatest": "[1][1]", "parents": "[2]", "place": "[3]", "floor": "[4]"}
    | {"time": "[5]", "opened": "[6]"},
    "f": {"shard": "[0]", "depth": "[1]", "greatest": "[1][1]", "parents": "[2]", "ended": "[3]", "floor": "[4]"},
}


def _place(place: str | tuple[str, int]) -> tuple[str, int]:
    return (place, 0) if isinstance(place, str) else place
