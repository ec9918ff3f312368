"""Ahead: records with creation times far ahead of the service's clock, which hold their lineage until then; pure.

They stay where law 3 puts them: if the reader cut such a time down to its own present, the order would depend on when the
record was read. So the reader names the record, and `skip()` goes past it.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from streamiter.clock import SECOND_US
from streamiter.merge import Lane, Merge
from streamiter.merge.lane import BEHIND_US
from streamiter.token import Token, TokenLane

# How far clocks may differ before the reader says so: far above what the clocks of services do.
AHEAD_US = 60 * SECOND_US


class Ahead(NamedTuple):
    """The record that sorts first of all waiting records, and whose time is still to come."""

    shard_id: str
    sequence_number: str
    ahead_us: int  # its order time, from the service's clock on
    lane: Lane


def find_ahead(merge: Merge, service_us: int | None, lateness_us: int) -> Ahead | None:
    """The first of the waiting records, if it is far ahead; None if the merge waits for another lane."""
    least = merge.least_bound
    if merge.is_blocked or service_us is None or least is None:
        return None
    if least[0][0] < service_us - lateness_us - BEHIND_US:
        return None  # that lane is behind the tip: it may hold the record by itself
    lane = merge.first_waiting
    if lane is None:
        return None
    ahead_us = lane.times[lane.head] - service_us
    return (
        None if ahead_us <= AHEAD_US else Ahead(lane.shard_id, lane.records[lane.head].sequence_number, ahead_us, lane)
    )


def token_past(token: Token, ahead: Ahead, service_us: int) -> Token:
    """The token after a record that is far ahead, as if the record did not exist: its time raises no floor.

    If a record that was returned before brought the time, the token leaves no record out, and only forgets the time.
    """
    lane, latest_us = ahead.lane, service_us + AHEAD_US
    if lane.emitted_us is None or lane.emitted_us <= latest_us:
        place = lane.place_at(lane.head)
        return _with_lanes(token, [_past(row, lane, (place.text, place.since)) for row in token.lanes])
    lanes = [msgspec.structs.replace(row, floor=None) if (row.floor or 0) > latest_us else row for row in token.lanes]
    is_high = token.high is not None and token.high[0] > latest_us
    return msgspec.structs.replace(_with_lanes(token, lanes), high=None if is_high else token.high)


def _with_lanes(token: Token, lanes: list[TokenLane]) -> Token:
    return msgspec.structs.replace(token, lanes=tuple(lanes))


def _past(row: TokenLane, lane: Lane, place: tuple[str, int]) -> TokenLane:
    if row.shard != lane.shard_id:
        return row
    return msgspec.structs.replace(row, place=place, opened=None, at=None, latest=False)
