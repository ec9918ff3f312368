"""Ends of logs: where a log stands now, as a token, so that tasks share its partitions, though these never end."""

from __future__ import annotations

from streamiter.log import Log
from streamiter.source.base import Source
from streamiter.token import Token
from streamiter.token.packing import VERSION
from streamiter.token.values import TokenLane


def ends_of(source: Source, start: Token) -> Token | None:
    """The place behind the last entry of each partition; None where the source is no log, or its ends need not be entries."""
    if not isinstance(source, Log) or not source.ends_are_entries:
        return None
    begun = {lane.shard for lane in start.lanes if lane.place is not None}
    lanes = []
    for partition in range(source.partitions()):
        number, shard_id = source.ends(partition).last, str(partition)
        if number is None and shard_id in begun:
            number = source.start(partition)  # what stood behind the start is gone: the task that reads it tells so
        lanes.append(TokenLane(shard_id, place=None if number is None else (str(number), 0)))
    return Token(VERSION, source.name, lanes=tuple(lanes))
