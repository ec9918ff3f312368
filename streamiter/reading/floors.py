"""Floors: the order time that a shard's records never sort before, which follows from its parents.

A token keeps the floors of its lanes and of their parents. It lacks those of ancestors further up, below which a shard turned
up late, and those that Spark left unresolved. Their last order times are found by errands: those ancestors are read again,
without returning records.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streamiter.lineage import Lineage
from streamiter.merge import Lane
from streamiter.position import AtTime, Horizon, Position
from streamiter.precision import FLOORED, Precision
from streamiter.reading.asking import Asking
from streamiter.reading.book import Book, Stage
from streamiter.shard import Rank


@dataclass(frozen=True, slots=True)
class Start:
    """Where unread shards begin: at the stream's start, but below an ancestor that gave records at their horizon (law 3)."""

    time_us: int | None  # None: the horizon

    def position(self, floor_us: int | None, opened_us: int | None) -> Position:
        """Where a shard with this floor starts; `opened_us` is when that is chosen."""
        if self.time_us is None or floor_us is not None:
            return Horizon(opened_us)
        return AtTime(self.time_us, opened_us)

    def lane(
        self,
        shard_id: str,
        rank: Rank,
        floor_us: int | None,
        opened_us: int | None,
        *,
        closed: bool,
        precision: Precision = FLOORED,
    ) -> Lane:
        """The lane of an unread shard."""
        return Lane(
            shard_id,
            rank,
            self.position(floor_us, opened_us),
            floor_us=floor_us,
            skip_before_us=self.time_us if floor_us is None else None,
            closed=closed,
            precision=precision,
        )


def floor(book: Book, shard_id: str) -> int | None:
    """The last order time of its parents."""
    return max((lane.last_us for lane in lanes_above(book, shard_id) if lane.last_us is not None), default=None)


def begins_us(book: Book, shard_id: str) -> int | None:
    """The earliest time at which the shard may hold records: its parents' last ones; without parents, now."""
    begins = [us for lane in lanes_above(book, shard_id) if (us := _children_from_us(book, lane)) is not None]
    return max(begins, default=book.service_us)


def lanes_above(book: Book, shard_id: str) -> list[Lane]:
    """The lanes of its parents, and the errands that read them again."""
    entries = [entry for parent in book.lineage.parents(shard_id) if (entry := book.get(parent)) is not None]
    errands = [entry.errand for entry in entries if not entry.is_probe]
    return [lane for lane in (*(entry.lane for entry in entries), *errands) if lane is not None]


def is_unknown_in_lanes_above(book: Book, shard_id: str) -> bool:
    """Whether the last order time of a parent is not known."""
    return any(lane.floor_unknown for lane in lanes_above(book, shard_id))


def is_floor_unknown(book: Book, shard_id: str) -> bool:
    """Whether the last order time of a parent is unknown: it was read before the token was taken, or by another reader."""
    parents = book.lineage.parents(shard_id)
    is_unknown = not book.token.closed_are_read and any(book.stage(parent) is Stage.PAST for parent in parents)
    return is_unknown or is_unknown_in_lanes_above(book, shard_id)


def unknown_above(book: Book, shard_id: str) -> list[str]:
    """The ancestors that other readers read, or that were read before the token was taken; the nearest first."""
    above = [ancestor for ancestor in book.lineage.ancestors(shard_id) if _is_unknown(book, ancestor, handed=True)]
    return nearest_first(book.lineage, above)


def nearest_first(lineage: Lineage, ancestors: Iterable[str]) -> list[str]:
    """Ancestors in the order in which they are asked how high their order times go."""
    return sorted(sorted(ancestors), key=lambda ancestor: lineage.rank(ancestor).depth, reverse=True)


def seek(book: Book, asking: Asking, shard_id: str, now_us: int) -> bool:
    """Sends errands to ancestors whose order times the token lacks; returns whether any errand is still under way."""
    if book.hands_over or book.token.fresh or book.token.closed_are_read:
        return False  # Executors seek for themselves; a first reading has lost nothing; Bloop's tokens knew no floors.
    lost = _sought_above(book, shard_id)
    for ancestor in lost:
        entry = book[ancestor]
        if entry.errand is None and lost.isdisjoint(book.lineage.parents(ancestor)):
            rank = book.lineage.rank(ancestor)
            start = Start(book.token.start)
            entry.errand = start.lane(ancestor, rank, floor(book, ancestor), book.service_us, closed=True)
            asking.schedule.due_at(ancestor, now_us)
    return bool(lost)


def _sought_above(book: Book, shard_id: str) -> set[str]:
    """The ancestors, up to the next lanes, that were read before the resume and whose last order time is not known."""
    found: set[str] = set()
    pending = [shard_id]
    while pending:
        for parent in book.lineage.parents(pending.pop()):
            errand = book[parent].errand
            is_unknown = errand is None or not errand.ended
            if is_unknown and parent not in found and _is_unknown(book, parent):
                found.add(parent)
                pending.append(parent)
    return found


def _is_unknown(book: Book, shard_id: str, *, handed: bool = False) -> bool:
    """Whether another reader read the shard, so that its last order time is unknown; `handed`: also beside this one."""
    entry = book[shard_id]
    if entry.stage is Stage.PAST or (handed and entry.is_handed):
        return True
    return (
        entry.stage is Stage.ENDED and entry.lane is not None and entry.lane.was_finished and entry.lane.floor_unknown
    )


def _children_from_us(book: Book, lane: Lane) -> int | None:
    """The earliest time at which the lane's children may hold records, of those that the service held when it read the lane."""
    from_us = lane.children_from_us
    for known_us in (lane.newest_seen_us, lane.opened_us):
        if from_us is not None and known_us is not None and from_us < known_us - book.held_us:
            # The service kept this longer than its retention and may drop it at any time, so count from when we last saw it.
            from_us = known_us
    return from_us
