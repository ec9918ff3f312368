"""Between two tokens: which part of which shard it is; pure; a micro-batch that comes again is read so."""

from __future__ import annotations

from streamiter.lineage import Lineage
from streamiter.position import AtTime, Horizon, Place, Position
from streamiter.shard import Rank, Shard
from streamiter.spark.parts import ShardRange
from streamiter.token import Token, TokenLane


def named_by(start: Token, end: Token) -> Lineage:
    """The shards that two tokens name, with the ranks that they had."""
    lineage = Lineage()
    for named in (*start.lanes, *end.lanes):
        lineage.add(Shard(named.shard, named.parents))
        if named.rank is not None:
            lineage.fix_rank(named.shard, named.rank)
    return lineage


def doubtful_between(start: Token, end: Token, lineage: Lineage) -> set[str]:
    """The shards of which listings lack what they follow: something may be missing between the tokens, or above.

    Above what was read before nothing matters, but for floors that have to be asked for.
    """
    before = {lane.shard: lane for lane in start.lanes}
    after = {lane.shard for lane in end.lanes}
    read_before = _read_before(start, end, lineage)
    unread = (after | lineage.ancestors(*after)) - before.keys() - read_before
    unresolved = {lane.shard for lane in start.lanes if lane.unresolved and lane.ended is None}
    followed = {*unread, *unresolved, *lineage.ancestors(*unread, *unresolved)}
    doubtful = {shard_id for shard_id in followed if not lineage.is_whole(shard_id)}
    if not start.fresh:
        # It may be above what was read, connected by one that the listing lacks.
        doubtful |= {shard_id for shard_id in unread if not lineage[shard_id].parents}
    return doubtful


def is_backwards(start: Token, end: Token, lineage: Lineage) -> bool:
    """Whether something was read at the start that is unread at the end."""
    if end.fresh:
        return not start.fresh
    after = {lane.shard: lane for lane in end.lanes}
    unread_after = lineage.descendants(*after) - lineage.ancestors(*after) - after.keys()
    return any(_is_further(lane, after.get(lane.shard), lane.shard in unread_after) for lane in start.lanes)


def _is_further(lane: TokenLane, last: TokenLane | None, is_unread_after: bool) -> bool:
    """Whether a shard was read further at the start, where this is its lane, than at the end."""
    if last is None:
        return is_unread_after and (lane.place is not None or lane.ended is not None)
    if last.ended is not None or lane.ended is not None:
        return last.ended is None
    # Numbers alone: a place counts records since its number anew where a gap was passed.
    return lane.place is not None and (last.place is None or int(lane.place[0]) > int(last.place[0]))


def ranges_between(start: Token, end: Token, lineage: Lineage, service_us: int | None = None) -> list[ShardRange]:
    """The ranges from one token to a later one, parents first. The lineage is what they name, and what listings tell."""
    before = {lane.shard: lane for lane in start.lanes}
    after = {lane.shard: lane for lane in end.lanes}
    read_before = _read_before(start, end, lineage)
    read_after = lineage.ancestors(*after) - after.keys()
    unread_after = lineage.descendants(*after)
    found = []
    for shard_id in sorted(lineage, key=lambda shard_id: (lineage.rank(shard_id).depth, shard_id)):
        lane, last = before.get(shard_id), after.get(shard_id)
        if shard_id in read_before or (lane is not None and lane.ended is not None):
            continue
        if last is not None and last.ended is None:
            if last.place is None or (lane is not None and lane.place == last.place):
                continue  # Nothing was read of it.
            stop: Place | None = Place.of(*last.place)
        elif last is not None or shard_id in read_after or (lane is not None and shard_id not in unread_after):
            stop = None  # Also where nothing listed connects the end to it any more: its rest was read, or is lost.
        else:
            continue  # It is unread at the end, too.
        found.append(_range(shard_id, start, lane, stop, lineage, read_before, service_us))
    return found


def _read_before(start: Token, end: Token, lineage: Lineage) -> set[str]:
    """What was read before the start: all above its lanes, but for what turned up there later, and is under way at the end."""
    named = {lane.shard for lane in start.lanes}
    return lineage.ancestors(*named) - named - {lane.shard for lane in end.lanes if lane.ended is None}


def _opened_us(shard_id: str, start: Token, lineage: Lineage, service_us: int | None) -> int | None:
    """When an unread shard's start was chosen: as its parents ended; now, where the start does not tell."""
    parents = lineage.parents(shard_id)
    return max(
        (lane.ended for lane in start.lanes if lane.ended is not None and lane.shard in parents), default=service_us
    )


def _range(
    shard_id: str,
    start: Token,
    lane: TokenLane | None,
    stop: Place | None,
    lineage: Lineage,
    read: set[str],
    service_us: int | None,
) -> ShardRange:
    ancestors = sorted(lineage.ancestors(shard_id), key=lambda above: lineage.rank(above).depth, reverse=True)
    if start.closed_are_read:
        ancestors = [above for above in ancestors if above not in read]  # Bloop knew no floors
    rank: Rank = lineage.rank(shard_id)
    if lane is None:
        opened_us = _opened_us(shard_id, start, lineage, service_us)
        position: Position = Horizon(opened_us) if start.start is None else AtTime(start.start, opened_us)
        return ShardRange(shard_id, rank, position, stop, None, tuple(ancestors), start.start)
    is_unread = lane.floor is None and lane.place is None
    # What was read before the token is in its floor, unless it says otherwise.
    seek = ancestors if lane.unresolved else [above for above in ancestors if above not in read]
    is_below_start = start.start is not None and lane.unresolved and (lane.floor or 0) < start.start
    since_us = start.start if is_unread or is_below_start else None
    idle_us = lane.time if lane.time is not None and (lane.floor is None or lane.floor < lane.time) else None
    return ShardRange(shard_id, rank, lane.position, stop, lane.floor, tuple(seek), since_us, idle_us)
