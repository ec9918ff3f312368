"""Between two tokens: which part of which shard lies there; pure; this is how Spark reads a micro-batch again."""

from __future__ import annotations

from streamiter.lineage import Lineage
from streamiter.position import Place
from streamiter.reading.floors import Start, nearest_first
from streamiter.reading.resume import Standings, standing
from streamiter.shard import Shard
from streamiter.spark.planning.parts import ShardRange
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
    """The shards whose parents no listing shows: shards between the tokens, or ancestors of theirs, may be missing.

    Above the shards that were read before, a missing one matters only where a floor has to be asked for.
    """
    before, after = standing(start, lineage), standing(end, lineage)
    reached = after.lanes.keys() | after.finished.keys() | after.passed
    unread = reached - before.lanes.keys() - before.finished.keys() - _passed_before(before, after, lineage)
    unresolved = {shard_id for shard_id, lane in before.lanes.items() if lane.unresolved}
    followed = {*unread, *unresolved, *lineage.ancestors(*unread, *unresolved)}
    doubtful = {shard_id for shard_id in followed if not lineage.is_whole(shard_id)}
    if not start.fresh:
        # It may be above what was read, connected by one that the listing lacks.
        doubtful |= {shard_id for shard_id in unread if not lineage[shard_id].parents}
    return doubtful


def is_backwards(start: Token, end: Token, lineage: Lineage) -> bool:
    """Whether a record that was read before the start is unread at the end."""
    if end.fresh:
        return not start.fresh
    after = standing(end, lineage)
    return any(_is_further(lane, after) for lane in start.lanes)


def _is_further(lane: TokenLane, after: Standings) -> bool:
    """Whether a shard was read further at the start, where this is its lane, than at the end."""
    if after.is_read(lane.shard):
        return False
    last = after.lanes.get(lane.shard)
    if last is None:
        return lane.shard in after.below and (lane.place is not None or lane.ended is not None)
    if lane.ended is not None:
        return True
    # Numbers alone: a place counts records since its number anew where a gap was passed.
    return lane.place is not None and (last.place is None or int(lane.place[0]) > int(last.place[0]))


def ranges_between(start: Token, end: Token, lineage: Lineage, service_us: int | None = None) -> list[ShardRange]:
    """The ranges from one token to a later one, parents first. The lineage is what they name, and what listings tell."""
    before, after = standing(start, lineage), standing(end, lineage)
    passed = _passed_before(before, after, lineage)
    found = []
    for shard_id in sorted(lineage, key=lambda shard_id: (lineage.rank(shard_id).depth, shard_id)):
        lane, last = before.lanes.get(shard_id), after.lanes.get(shard_id)
        if shard_id in passed or shard_id in before.finished:
            continue
        if last is not None:
            if last.place is None or (lane is not None and lane.place == last.place):
                continue  # No record of it lies between the tokens.
            stop: Place | None = Place.of(*last.place)
        elif after.is_read(shard_id) or (lane is not None and shard_id not in after.below):
            stop = None  # Also where no listed shard connects it to the end any more: its rest was read, or is lost.
        else:
            continue  # It is unread at the end, too.
        found.append(_range(shard_id, start, lane, stop, lineage, passed, service_us))
    return found


def _passed_before(before: Standings, after: Standings, lineage: Lineage) -> set[str]:
    """The shards that were read to their end before the start.

    Where the end names a shard above the start's lanes, it was listed late, and read since then. One that is done may also
    have been read long before: the end names it because a child of it turned up.
    """
    named = before.passed & after.finished.keys()
    late = {shard_id for shard_id in named if not _was_known(shard_id, before, after.finished[shard_id], lineage)}
    return before.passed - after.lanes.keys() - late


def _was_known(shard_id: str, before: Standings, last: TokenLane, lineage: Lineage) -> bool:
    """Whether the shard was known when one of the start's lanes below it was opened, and so was read before that one.

    The lane's depth counts the ancestors that were known then. Where a shard has two parents, it may count the other one's:
    there it proves nothing, and reading records again is better than losing them.
    """
    if last.rank is None:
        return False
    for lane in (*before.lanes.values(), *before.finished.values()):
        steps, above = 0, lane.shard
        while above != shard_id and len(parents := lineage[above].parents) == 1 and parents[0] in lineage:
            steps, above = steps + 1, parents[0]
        if above == shard_id and lane.rank is not None and lane.rank.depth >= last.rank.depth + steps:
            return True
    return False


def _opened_us(shard_id: str, start: Token, lineage: Lineage, service_us: int | None) -> int | None:
    """When an unread shard's start was chosen: when its parents ended; now, where the token does not tell that."""
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
    passed: set[str],
    service_us: int | None,
) -> ShardRange:
    """What of a shard lies between the tokens: up to `stop`, or to the shard's end."""
    rank = lineage.rank(shard_id)
    ancestors = nearest_first(lineage, lineage.ancestors(shard_id))
    unpassed = tuple(above for above in ancestors if above not in passed)
    # Bloop's tokens knew no floors. In any other the ancestors that were read before count for the shard's floor.
    every = unpassed if start.closed_are_read else tuple(ancestors)
    if lane is None:
        position = Start(start.start).position(None, _opened_us(shard_id, start, lineage, service_us))
        return ShardRange(shard_id, rank, position, stop, None, every, start.start)
    is_unread = lane.floor is None and lane.place is None
    is_below_start = start.start is not None and lane.unresolved and (lane.floor or 0) < start.start
    since_us = start.start if is_unread or is_below_start else None
    read_up_to_us = lane.time if lane.time is not None and (lane.floor is None or lane.floor < lane.time) else None
    # The token's floor covers what was read before, unless it says that it does not.
    seek = every if lane.unresolved else unpassed
    return ShardRange(shard_id, rank, lane.position, stop, lane.floor, seek, since_us, read_up_to_us)
