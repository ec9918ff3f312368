"""Resuming: a reading's state as a token, and lanes out of a token; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import astuple

from streamiter.lineage import Lineage
from streamiter.merge import Lane, Standing
from streamiter.position import AtNumber
from streamiter.precision import Precision
from streamiter.reading import gaps
from streamiter.reading.asking import Asking
from streamiter.reading.book import Book, Stage, is_linked
from streamiter.shard import Rank, Shard
from streamiter.token import DAY_US, VERSION, Token, TokenLane


def token_at_start(stream: str, start_us: int | None = None) -> Token:
    """The token of a stream before its first listing: from its horizon, or from a time."""
    return Token(VERSION, stream, start=start_us, fresh=True)


def token_at_latest(
    stream: str, shards: Iterable[Shard], service_us: int, precision: Precision, retention_us: int = DAY_US
) -> Token:
    """The token at the tip of these shards: each leaf will be read from a moment just before now, since writes come late."""
    lineage = Lineage(shards)
    start_us = precision.known_us(service_us)
    lanes = []
    for shard_id in lineage.leaves():
        rank = lineage.rank(shard_id)
        parents = lineage[shard_id].parents
        lanes.append(TokenLane(shard_id, parents, **_rank(rank), time=start_us, opened=service_us))
    return Token(
        VERSION, stream, start=start_us, lanes=tuple(lanes), retention=token_retention(retention_us), fresh=not lanes
    )


def token_retention(retention_us: int) -> int | None:
    """The retention as a token has it: None for a day, which DynamoDB's always is."""
    return None if retention_us == DAY_US else retention_us


def restore_lane(entry: TokenLane, start_us: int | None, precision: Precision) -> Lane:
    """The lane that a token's entry describes."""
    rank = entry.rank or Rank(entry.shard, 0, entry.shard)
    is_unread = entry.floor is None and entry.place is None
    lane = Lane(
        entry.shard,
        rank,
        entry.position,
        floor_us=entry.floor,
        skip_before_us=start_us if is_unread else None,
        precision=precision,
    )
    lane.read_up_to_us = entry.time
    lane.ended_us = entry.ended
    lane.was_finished = entry.ended is not None
    lane.childless = entry.childless
    lane.latest = entry.latest
    lane.floor_unknown = entry.unresolved
    return lane


def restore(book: Book, asking: Asking, now_us: int) -> None:
    """Enters the lanes that the token names into the book."""
    for named in book.token.lanes:
        lane = restore_lane(named, book.token.start, book.precision)
        book.lineage.add(Shard(named.shard, named.parents))
        if named.rank is not None:
            book.lineage.fix_rank(named.shard, named.rank)
        if not lane.ended:
            book.enter(named.shard, Stage.WAITING, lane)
            continue
        book.enter(named.shard, Stage.ENDED, lane)
        if named.gap:
            gaps.stand(book, asking, lane, gaps.CHILDREN_MISSED)
        elif not lane.childless:
            book.discovery.ended(named.shard, now_us)
        if named.gap or not lane.childless:
            book.merge.open(lane)


def take_token(book: Book, standing: Standing) -> Token:
    """The token after the last record returned.

    It names the lanes that may still give records, their finished parents (a sibling may turn up late, and needs their
    floor), and finished shards without a child among them. The rest follows from the lineage.
    """
    base, lanes, lineage = book.token, book.lanes_by_now(standing), book.lineage
    open_ids = [shard_id for shard_id, lane in lanes.items() if not lane.is_drained]
    # A descendant of an unfinished shard is left out (it will count as unread), even if all of it was fetched; unless it
    # returned records already, because its ancestor was listed late or the token is Bloop's.
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
    high = standing.high
    token = Token(
        VERSION,
        base.stream,
        start=base.start,
        lanes=tuple(_entry(lanes[shard_id], lineage[shard_id].parents) for shard_id in sorted({*named, *finished})),
        clock=standing.clock,
        high=None if high is None else (high[0], *astuple(high[1]), str(high[2].number), high[2].since),
        fresh=base.fresh and not len(lineage),
        closed_are_read=base.closed_are_read,
    )
    return book.note_retention(token)


@dataclass(frozen=True, slots=True)
class Standings:
    """Where a token stands in the shards of a lineage (law 8). A shard that is in none of these is unread."""

    lanes: dict[str, TokenLane]  # reading goes on in these; some may not be listed any more
    finished: dict[str, TokenLane]  # named, and read to their end
    passed: set[str]  # not named, and read to their end: the ancestors of those that are
    below: set[str]  # the descendants of named shards; unread, unless they are in `lanes` or `finished` themselves

    def is_read(self, shard_id: str) -> bool:
        """Whether the shard was read to its end."""
        return shard_id in self.finished or shard_id in self.passed


def standing(token: Token, lineage: Lineage) -> Standings:
    """Where the token stands in each shard that it names or that is listed."""
    lanes = {lane.shard: lane for lane in token.lanes if lane.ended is None}
    finished = {lane.shard: lane for lane in token.lanes if lane.ended is not None}
    passed = lineage.ancestors(*lanes, *finished) - lanes.keys() - finished.keys()
    if token.closed_are_read:
        named = frozenset((*lanes, *finished))
        passed |= {
            shard_id
            for shard_id in lineage
            if shard_id not in named and lineage[shard_id].closed and not is_linked(lineage, shard_id, named)
        }
    return Standings(lanes, finished, passed, lineage.descendants(*lanes, *finished))


def _entry(lane: Lane, parents: tuple[str, ...]) -> TokenLane:
    place = lane.place if lane.place is not None and lane.place.is_numbered else None
    is_done = lane.is_drained
    return TokenLane(
        lane.shard_id,
        parents,
        **_rank(lane.rank),
        place=None if place is None or is_done else (place.text, place.since),
        floor=lane.emitted_us,
        unresolved=lane.floor_unknown,
        opened=None if is_done or place is not None else lane.opened_us,
        time=None if is_done else lane.read_up_to_us,
        at=lane.start.text if isinstance(lane.start, AtNumber) and place is None else None,
        latest=lane.latest,
        ended=lane.ended_us if is_done else None,
        childless=lane.childless and is_done,
        gap=lane.gap is not None and is_done,
    )


def _rank(rank: Rank) -> dict[str, Any]:
    return {"depth": rank.depth, "greatest": None if rank.greatest == rank.shard_id else rank.greatest}
