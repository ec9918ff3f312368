"""Listing: all shards of a stream, which the planner needs for what lies between two tokens, and for "latest"."""

from __future__ import annotations

from functools import partial

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.driving.list_now import Listed, list_now
from streamiter.lineage import Discovery, Lineage, agreeing_us
from streamiter.reading.listing import Pace
from streamiter.reading.patience import Patience
from streamiter.reading.resume import token_at_latest
from streamiter.shard import hinted_us
from streamiter.source.base import Source
from streamiter.spark.options import Options
from streamiter.spark.planning.between import doubtful_between, named_by
from streamiter.token import Token

PATIENCE_US = 60 * SECOND_US


def list_between(source: Source, start: Token, end: Token, clock: Clock) -> tuple[Lineage, int]:
    """The shards from one token to a later one, with all above them, and the service's time.

    One listing is enough if it shows how the tokens are connected. If not, several listings, apart in time, have to agree.
    """
    pace = Pace(source.listings_per_second)
    lineage = named_by(start, end)
    discovery = Discovery(lane.shard for lane in (*start.lanes, *end.lanes))
    while True:
        ticket = discovery.begin(_now_us(clock))
        rows, service_us, *_ = _list(source, clock, pace)
        news = [lineage.add(row) for row in rows]
        doubtful = doubtful_between(start, end, lineage)
        span = partial(_agreeing_us, service_us=service_us, retention_us=source.retention_us, is_first=start.fresh)
        listed = {row.id for row in rows}
        discovery.heard(ticket, listed, any(news), doubtful, _now_us(clock), agreeing_us=span)
        if discovery.is_whole:
            return lineage, service_us
        due_us = discovery.due_us()
        assert due_us is not None
        clock.sleep(max(0, due_us - _now_us(clock)) / SECOND_US)


def latest_token(source: Source, clock: Clock, options: Options) -> Token:
    """The token of this moment: all writes from now on come after it, even in shards that this listing lacks."""
    rows, service_us, *_ = _list(source, clock, Pace(source.listings_per_second))
    return token_at_latest(source.name, rows, service_us, source.precision(options.lateness), source.retention_us)


def _agreeing_us(shard_id: str, *, service_us: int, retention_us: int, is_first: bool) -> int:
    return agreeing_us(hinted_us(shard_id), service_us, retention_us, is_first=is_first)


def _list(source: Source, clock: Clock, pace: Pace) -> Listed:
    """A listing page by page, no faster than the service allows; faults that may pass are waited out."""
    return list_now(source, clock, pace, Patience(PATIENCE_US))


def _now_us(clock: Clock) -> int:
    return microseconds(clock.monotonic())
