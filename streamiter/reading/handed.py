"""Handing over: closed shards that other readers (Spark's executors) read, side by side with this one.

Spark's planner reads the shards that are open, and leaves those that are closed to its executors. They count as read as soon as
they are taken. The planner never learns how high their order times rise, so what is below them has an *unresolved* floor.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from streamiter.merge import Lane
from streamiter.position import After, Position
from streamiter.reading.book import Book
from streamiter.shard import Rank


class Handed(NamedTuple):
    """A closed shard, or the rest of one, that another reader is to read to its end."""

    shard_id: str
    rank: Rank
    start: Position
    floor_us: int | None  # as far as it is known here
    floor_unknown: bool  # whether ancestors may raise the floor
    since_us: int | None  # the caller wants no records older than this order time
    read_up_to_us: int | None  # all up to this time was read, though its last record may not be held any more


class Handover:
    """The shards that wait for another reader. None may have a shard before its ancestors were returned whole (law 2)."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._new: deque[Lane] = deque()
        self._waiting: list[Handed] = []

    def takes(self, shard_id: str) -> bool:
        """Whether another reader gets the shard: it is closed, as listings or its children show."""
        book = self._book
        return book.hands_over and (book.lineage[shard_id].closed or bool(book.lineage.children(shard_id)))

    def add(self, lane: Lane) -> None:
        """Another reader is to fetch the lane."""
        floor_us, since_us = lane.emitted_us, lane.skip_before_us
        is_idle = lane.read_up_to_us is not None and (floor_us is None or floor_us < lane.read_up_to_us)
        read_up_to_us = lane.read_up_to_us if is_idle else None
        handed = Handed(
            lane.shard_id, lane.rank, lane.fetch_position, floor_us, lane.floor_unknown, since_us, read_up_to_us
        )
        self._book[lane.shard_id].is_handed = True
        self._waiting.append(handed)
        lane.floor_unknown = True  # its last order time is not known here
        self._new.append(lane)

    def next(self) -> Lane | None:
        """The next lane that is to count as read."""
        return self._new.popleft() if self._new else None

    def take(self) -> list[Handed]:
        """Those whose ancestors were returned whole."""
        if not self._waiting:
            return []
        found: list[Handed] = []
        waiting: list[Handed] = []
        for handed in self._waiting:
            (found if self._is_next(handed) else waiting).append(handed)
        self._waiting = waiting
        return found

    def _is_next(self, handed: Handed) -> bool:
        if isinstance(handed.start, After):
            return True  # It was begun with before: tokens count it as read from now on.
        above = (self._book.lanes.get(ancestor) for ancestor in self._book.lineage.ancestors(handed.shard_id))
        return all(lane is None or lane.is_drained for lane in above)
