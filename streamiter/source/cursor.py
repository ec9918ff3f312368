"""Cursors: the reading place in one shard, as the service knows it."""

from __future__ import annotations

from dataclasses import dataclass

from streamiter.position import After, Position
from streamiter.source.base import Page, ShardIterator, Source

_MARGIN_US = 180_000_000  # an iterator this close to its death is renewed by a heartbeat


@dataclass(slots=True)
class Cursor:
    """A living iterator, and how many of the records behind it were returned before (law 4: AFTER, then skip)."""

    iterator: ShardIterator
    born_us: int  # on the caller's monotonic clock
    to_skip: int = 0

    def is_near_expiry(self, now_us: int, life_us: int) -> bool:
        """Whether it may die before it is used next."""
        return now_us - self.born_us >= life_us - _MARGIN_US

    def has_expired(self, now_us: int, life_us: int) -> bool:
        """Whether the service would refuse it by now."""
        return now_us - self.born_us >= life_us

    def take(self, page: Page, now_us: int) -> Page:
        """The page without what is to be skipped; the cursor moves behind it."""
        skipped = min(self.to_skip, len(page.records))
        self.to_skip -= skipped
        if page.next is not None:
            self.iterator, self.born_us = page.next, now_us
        return page._replace(records=page.records[skipped:]) if skipped else page


def open_cursor(source: Source, shard_id: str, position: Position, now_us: int) -> Cursor:
    """Opens a shard at a position: a call."""
    iterator = source.open_iterator(shard_id, position)
    return Cursor(iterator, now_us, position.place.since if isinstance(position, After) else 0)
