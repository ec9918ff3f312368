"""Filters: the shards that a listing of Kinesis shows, as its ShardFilter asks."""

from __future__ import annotations

from typing import Any

from streamiter.clock import microseconds
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.kinesis.truth import KinesisShard, KinesisTruth

_NEEDS = {"AFTER_SHARD_ID": "ShardId", "AT_TIMESTAMP": "Timestamp", "FROM_TIMESTAMP": "Timestamp"}


def filtered(stream: KinesisTruth, asked: dict[str, Any] | None, now_us: int) -> list[KinesisShard]:
    """The shards that a ShardFilter lets pass; a refusal where it lacks what its type needs, or has more."""
    shards = list(stream.shards.values())
    if asked is None:
        return shards
    kind = asked["Type"]
    _check(kind, asked)
    if kind == "AFTER_SHARD_ID":
        return [shard for shard in shards if shard.id > asked["ShardId"]]
    # A time before all that is held stands for the horizon, and so for the stream's first shards where it is young.
    time_us = max(now_us - stream.retention_us, stream.created_us)
    if kind == "AT_LATEST":
        time_us = now_us
    elif kind.endswith("TIMESTAMP"):
        time_us = max(time_us, microseconds(asked["Timestamp"]))
    until = [shard for shard in shards if shard.closed_us is None or shard.closed_us > time_us]
    return until if kind.startswith("FROM") else [shard for shard in until if shard.opened_us <= time_us]


def _check(kind: str, asked: dict[str, Any]) -> None:
    for member in ("ShardId", "Timestamp"):
        is_needed = _NEEDS.get(kind) == member
        if is_needed != (asked.get(member) is not None):
            told = f"{member} {'must' if is_needed else 'cannot'} be specified with the ShardFilter type {kind}"
            raise Refusal("InvalidArgumentException", told)
