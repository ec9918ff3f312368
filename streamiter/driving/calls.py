"""Calls: the work of a thread for one wish for a shard: opens it if need be, and fetches its next page."""

from __future__ import annotations

from typing import NamedTuple

from streamiter.errors import IteratorExpired, SourceError
from streamiter.reading import Ask
from streamiter.source.base import Page, Source
from streamiter.source.cursor import Cursor, open_cursor


class Fetched(NamedTuple):
    """The outcome of a call for a page: the cursor, if the shard could be opened, and a page or an error."""

    cursor: Cursor | None
    page: Page | None
    error: Exception | None
    calls: tuple[str, ...]


def fetch(source: Source, ask: Ask, cursor: Cursor | None, now_us: int) -> Fetched:
    """Opens the shard where the ask says so, and fetches its next page. Runs on a thread of its own."""
    calls: tuple[str, ...] = ()
    try:
        if ask.open_at is not None:
            cursor = None
            calls = ("open_iterator",)
            cursor = open_cursor(source, ask.shard_id, ask.open_at, now_us)
        assert cursor is not None
        if ask.open_at is None and cursor.has_expired(now_us, source.iterator_us):
            # A call that is refused counts in the shard's rate like any other: the one that follows it may be throttled then,
            # and a caller that asks less often than iterators live would try the same two for ever.
            raise IteratorExpired(f"shard {ask.shard_id}: its iterator is older than iterators live")
        calls += ("fetch",)
        return Fetched(cursor, source.fetch(cursor.iterator, ask.limit + cursor.to_skip), None, calls)
    except SourceError as error:
        return Fetched(cursor, None, error, calls)
