"""Listing: the shards of a stream, all of them, as the planner needs them between two tokens, and for "latest"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.lineage import Discovery, Lineage, agreeing_us
from streamiter.shard import hinted_us
from streamiter.source.base import Source
from streamiter.spark.between import doubtful_between, named_by
from streamiter.spark.options import Options
from streamiter.stream.faults import Faults
from streamiter.stream.listener import Listener
from streamiter.stream.listings import Listings
from streamiter.stream.resume import token_at_latest
from streamiter.token import Token

PATIENCE_US = 60 * SECOND_US


def list_between(source: Source, start: Token, end: Token, clock: Clock) -> tuple[Lineage, int]:
    """The shards from one token to a later one, with all above them, and the service's time.

    One listing will do where it shows what connects them. Where it does not, several have to agree, apart in time (law 6).
    """
    listings = _listings(source, clock)
    lineage = named_by(start, end)
    discovery = Discovery(lane.shard for lane in (*start.lanes, *end.lanes))
    while True:
        ticket = discovery.begin(_now_us(clock))
        rows, service_us = listings.list_now(_call)
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
    """The token of this moment: what is written from now on comes after it, also in shards that this listing lacks."""
    rows, service_us = _listings(source, clock).list_now(_call)
    lateness_us = None if options.lateness is None else microseconds(options.lateness)
    return token_at_latest(source.name, rows, service_us, lateness_us, source.retention_us)


def _agreeing_us(shard_id: str, *, service_us: int, retention_us: int, is_first: bool) -> int:
    return agreeing_us(hinted_us(shard_id), service_us, retention_us, is_first=is_first)


def _listings(source: Source, clock: Clock) -> Listings:
    """Listings page by page, no faster than the service allows; faults that may pass are waited out."""
    return Listings(source, clock, Faults(Listener(None, source.name, clock), PATIENCE_US), Counter())


def _call(call: Callable[[], Any]) -> Any:
    return call()


def _now_us(clock: Clock) -> int:
    return microseconds(clock.monotonic())
