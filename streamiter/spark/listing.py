"""Listing: the shards of a stream, all of them, as the planner needs them between two tokens."""

from __future__ import annotations

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.errors import TransientError
from streamiter.lineage import Lineage
from streamiter.shard import Shard
from streamiter.source.base import Source
from streamiter.spark.options import Options
from streamiter.stream.resume import token_at_latest
from streamiter.token import Token

PATIENCE_US = 60 * SECOND_US
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 2.0
MOST_LISTINGS = 5


def list_lineage(source: Source, clock: Clock) -> tuple[Lineage, int]:
    """The shards that listings show, until one brings no news (a single one may lack some), and the service's time."""
    lineage = Lineage()
    for _ in range(MOST_LISTINGS):
        rows, service_us = list_whole(source, clock)
        news = [lineage.add(row) for row in rows]
        if rows and not any(news):
            break
    return lineage, service_us


def latest_token(source: Source, clock: Clock, options: Options) -> Token:
    """The token of this moment: what is written from now on comes after it."""
    rows, service_us = list_whole(source, clock)
    lateness_us = None if options.lateness is None else microseconds(options.lateness)
    return token_at_latest(source.name, rows, service_us, lateness_us, source.retention_us)


def list_whole(source: Source, clock: Clock) -> tuple[list[Shard], int]:
    """One listing, page after page, and the service's time when it began. Faults that may pass are waited out."""
    since_us = microseconds(clock.monotonic())
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return _list(source, clock)
        except TransientError:
            if microseconds(clock.monotonic()) - since_us >= PATIENCE_US:
                raise
            clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def _list(source: Source, clock: Clock) -> tuple[list[Shard], int]:
    rows: list[Shard] = []
    after: str | None = None
    seen: set[str | None] = set()
    began_us: int | None = None
    while after not in seen:  # A cursor that comes again would lead in a circle.
        seen.add(after)
        page = source.list_shards(after)
        rows += page.shards
        if began_us is None:
            began_us = microseconds(clock.now()) if page.service_us is None else page.service_us
        if page.next is None:
            break
        after = page.next
    assert began_us is not None
    return rows, began_us
