"""Resuming: a reading's state as a token, and lanes out of a token; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import astuple

from streamiter.clock import floor_second
from streamiter.lineage import Lineage
from streamiter.merge import Lane, Merge
from streamiter.position import AtNumber
from streamiter.shard import Rank, Shard
from streamiter.token import DAY_US, VERSION, Token, TokenLane


def token_at_start(stream: str, start_us: int | None = None) -> Token:
    """The token of a stream of which nothing was listed yet: from its horizon, or from a time."""
    return Token(VERSION, stream, start=start_us, fresh=True)


def token_at_latest(
    stream: str, shards: Iterable[Shard], service_us: int, lateness_us: int | None, retention_us: int = DAY_US
) -> Token:
    """The token at the end of what these shards hold: each leaf is to be read from a moment just before now."""
    lineage = Lineage(shards)
    start_us = latest_us(service_us, lateness_us)
    lanes = []
    for shard_id in lineage.leaves():
        rank = lineage.rank(shard_id)
        parents = lineage[shard_id].parents
        lanes.append(TokenLane(shard_id, parents, **_rank(rank), time=start_us, opened=service_us))
    return Token(
        VERSION, stream, start=start_us, lanes=tuple(lanes), retention=token_retention(retention_us), fresh=not lanes
    )


def token_retention(retention_us: int) -> int | None:
    """As a token tells it: not at all where it is a day, as DynamoDB's always is."""
    return None if retention_us == DAY_US else retention_us


def latest_us(service_us: int, lateness_us: int | None) -> int:
    """The moment that "latest" stands for: a little before now, since writes come to be readable late."""
    return floor_second(service_us - (lateness_us or 0))


def restore_lane(entry: TokenLane, start_us: int | None, lateness_us: int) -> Lane:
    """The lane that a token's entry describes."""
    rank = entry.rank or Rank(entry.shard, 0, entry.shard)
    is_unread = entry.floor is None and entry.place is None
    lane = Lane(
        entry.shard,
        rank,
        entry.position,
        floor_us=entry.floor,
        skip_before_us=start_us if is_unread else None,
        lateness_us=lateness_us,
    )
    lane.idle_us = entry.time
    lane.ended_us = entry.ended
    lane.was_finished = entry.ended is not None
    lane.childless = entry.childless
    lane.latest = entry.latest
    lane.unresolved = entry.unresolved
    return lane


def take_token(stream: str, base: Token, lanes: Mapping[str, Lane], lineage: Lineage, merge: Merge) -> Token:
    """The token after the last record returned.

    It names the lanes that records may still come from, their finished parents (a sibling may turn up late, and needs
    their floor), and what is finished without a child among them. The rest follows from the lineage.
    """
    open_ids = [shard_id for shard_id, lane in lanes.items() if not lane.is_drained]
    # Below a shard that is not returned whole, all is just unread, also what was read to its end already; but for what
    # was returned before that shard turned up, or, in a token of Bloop's, before it was done.
    below = lineage.descendants(*open_ids)
    counted = [shard_id for shard_id, lane in lanes.items() if shard_id not in below or lane.was_returned]
    named = [shard_id for shard_id in counted if not lanes[shard_id].is_drained]
    finished = [shard_id for shard_id in counted if lanes[shard_id].is_drained]
    passed = lineage.ancestors(*counted)
    needed = {parent for shard_id in named for parent in lineage.parents(shard_id)}
    # One of two parents may be done long before the other: their child is unread, and will need the floors of both.
    known = {*counted, *passed}
    needed |= {shard_id for shard_id in finished if not known.issuperset(lineage.children(shard_id))}
    needed |= {shard_id for shard_id in finished if lanes[shard_id].gap is not None}
    finished = [shard_id for shard_id in finished if shard_id in needed or shard_id not in passed]
    high = merge.high
    return Token(
        VERSION,
        stream,
        start=base.start,
        lanes=tuple(_entry(lanes[shard_id], lineage[shard_id].parents) for shard_id in sorted({*named, *finished})),
        clock=merge.clock,
        high=None if high is None else (high[0], *astuple(high[1]), str(high[2].number), high[2].since),
        fresh=base.fresh and not len(lineage),
        closed_are_read=base.closed_are_read,
    )


def _entry(lane: Lane, parents: tuple[str, ...]) -> TokenLane:
    place = lane.place
    is_done = lane.is_drained
    return TokenLane(
        lane.shard_id,
        parents,
        **_rank(lane.rank),
        place=None if place is None or is_done else (place.text, place.since),
        floor=lane.emitted_us,
        unresolved=lane.unresolved,
        opened=None if is_done or place is not None else lane.opened_us,
        time=None if is_done else lane.idle_us,
        at=lane.start.text if isinstance(lane.start, AtNumber) and place is None else None,
        latest=lane.latest,
        ended=lane.ended_us if is_done else None,
        childless=lane.childless and is_done,
        gap=lane.gap is not None and is_done,
    )


def _rank(rank: Rank) -> dict[str, Any]:
    return {"depth": rank.depth, "greatest": None if rank.greatest == rank.shard_id else rank.greatest}
