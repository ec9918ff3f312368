"""Fetch: a lane's next page as a call that a thread makes; the shard is opened first where it has no iterator."""

from __future__ import annotations

from typing import NamedTuple

from streamiter.errors import SourceError
from streamiter.position import Position
from streamiter.source.base import Page, Source
from streamiter.source.cursor import Cursor, open_cursor
from streamiter.stream.reading import Reading


class Asked(NamedTuple):
    """A call under way for a shard."""

    shard_id: str
    reading: Reading  # the one that wished for it: its answer is nothing to another
    estimate_bytes: float
    serial: int


class Fetched(NamedTuple):
    """What it brought: the cursor as far as it was opened, and a page or an error."""

    cursor: Cursor | None
    page: Page | None
    error: Exception | None
    calls: tuple[str, ...]

    @property
    def is_opened(self) -> bool:
        """Whether the shard was opened for the page."""
        return "open_iterator" in self.calls


def fetch(
    source: Source, shard_id: str, cursor: Cursor | None, position: Position | None, limit: int, now_us: int
) -> Fetched:
    """Opens the shard if it has no iterator, and fetches its next page. Runs on a caller's thread."""
    calls: tuple[str, ...] = ()
    try:
        if cursor is None:
            assert position is not None
            calls = ("open_iterator",)
            cursor = open_cursor(source, shard_id, position, now_us)
        calls += ("fetch",)
        return Fetched(cursor, source.fetch(cursor.iterator, limit + cursor.to_skip), None, calls)
    except SourceError as error:
        return Fetched(cursor, None, error, calls)
