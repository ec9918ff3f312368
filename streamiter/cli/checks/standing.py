"""Standing: where a token stands in each shard of a lineage; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streamiter.lineage import Lineage
from streamiter.position import Position
from streamiter.reading.resume import Standings, standing
from streamiter.token import Token

Kind = Literal["read", "here", "start", "unread", "gone"]


@dataclass(frozen=True)
class Standing:
    """A shard, as a token sees it."""

    kind: Kind  # read whole; read up to a place; about to be read from its start; not reached; named, but not listed
    read_us: int | None = None  # order time of the last record read of it, or before it
    position: Position | None = None  # where reading goes on


def standings(token: Token, lineage: Lineage) -> dict[str, Standing]:
    """Where the token stands in each listed shard, and in those that it names besides."""
    told = standing(token, lineage)
    named = {**told.finished, **told.lanes}
    gone = {shard_id: Standing("gone", lane.floor) for shard_id, lane in named.items() if shard_id not in lineage}
    return {shard_id: _of(shard_id, told) for shard_id in lineage} | gone


def _of(shard_id: str, told: Standings) -> Standing:
    lane = told.lanes.get(shard_id)
    if lane is not None:
        kind: Kind = "start" if lane.place is None and lane.at is None else "here"
        return Standing(kind, lane.floor, lane.position)
    if told.is_read(shard_id):
        return Standing("read", told.finished[shard_id].floor if shard_id in told.finished else None)
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
