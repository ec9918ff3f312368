"""Standing: where a token stands in each shard of a lineage; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streamiter.lineage import Lineage
from streamiter.position import Position
from streamiter.token import Token, TokenLane

Kind = Literal["read", "here", "start", "unread", "gone"]


@dataclass(frozen=True)
class Standing:
    """A shard, as a token sees it."""

    kind: Kind  # read whole; read up to a place; about to be read from its start; not reached; named, but not listed
    read_us: int | None = None  # order time of the last record read of it, or before it
    position: Position | None = None  # where reading goes on


def standings(token: Token, lineage: Lineage) -> dict[str, Standing]:
    """Where the token stands in each listed shard, and in those that it names besides."""
    lanes = {lane.shard: lane for lane in token.lanes}
    passed = lineage.ancestors(*lanes)
    found = {shard_id: _standing(shard_id, lanes, passed, token, lineage) for shard_id in lineage}
    return found | {
        shard_id: Standing("gone", lane.floor) for shard_id, lane in lanes.items() if shard_id not in lineage
    }


def _standing(shard_id: str, lanes: dict[str, TokenLane], passed: set[str], token: Token, lineage: Lineage) -> Standing:
    lane = lanes.get(shard_id)
    if lane is not None and lane.ended is None:
        kind: Kind = "here" if lane.place is not None or lane.at is not None else "start"
        return Standing(kind, lane.floor, lane.position)
    if lane is not None or shard_id in passed:
        return Standing("read", None if lane is None else lane.floor)
    if token.closed_are_read and lineage[shard_id].closed:
        return Standing("read")
    return Standing("unread")


def arn_of(stream: str) -> str:
    """A source's name without what only tokens need: when a Kinesis stream was made."""
    return stream.partition("@")[0]


def title_of(stream: str) -> str:
    """What a person calls a stream: its table, or, in Kinesis, its own name."""
    arn = arn_of(stream)
    for place in (":table/", ":stream/"):
        if place in arn:
            return arn.partition(place)[2].partition("/")[0]
    return arn


def short_names(shard_ids: list[str]) -> dict[str, str]:
    """Names that a person can tell apart: the end of an id that the service made, where that is enough."""
    ends = {shard_id: _end(shard_id) for shard_id in shard_ids}
    counts: dict[str, int] = {}
    for end in ends.values():
        counts[end] = counts.get(end, 0) + 1
    return {shard_id: end if counts[end] == 1 else shard_id for shard_id, end in ends.items()}


def _end(shard_id: str) -> str:
    if not shard_id.startswith("shardId-"):
        return shard_id
    parts = shard_id.removeprefix("shardId-").split("-")
    return parts[-1] if len(parts) > 1 else parts[0].lstrip("0") or "0"
