"""Bloop's tokens, as ours: `{"stream_arn", "active", "shards"}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from streamiter.shard import is_shard_id
from streamiter.token.checks import check_number, check_token, converted, damaged, shown
from streamiter.token.packing import VERSION
from streamiter.token.values import Token, TokenLane


class _Shard(msgspec.Struct, frozen=True):
    shard_id: str
    parent: str | None = None
    iterator_type: str | None = None
    sequence_number: str | None = None


class _Token(msgspec.Struct, frozen=True):
    stream_arn: str
    active: tuple[str, ...]
    shards: tuple[_Shard, ...]


def load_bloop(token: Mapping[str, Any]) -> Token:
    """The token in a dict of Bloop's."""
    bloop = converted(token, _Token)
    shards = {shard.shard_id: (index, shard) for index, shard in enumerate(bloop.shards)}
    for index, shard_id in enumerate(bloop.active):
        if shard_id not in shards:
            raise damaged("an active shard is missing from the shards", f"$.active[{index}]")
    lanes = []
    # Shards that are not active need no lane: ancestors of active ones were read, descendants of active ones were not.
    for shard_id in sorted(set(bloop.active)):
        index, shard = shards[shard_id]
        parents = (shard.parent,) if shard.parent else ()
        where = f"$.shards[{index}]"
        if shard_id in parents or not all(map(is_shard_id, (shard_id, *parents))):
            raise damaged("a shard id must be a word without blanks, a parent's id another one", where)
        lanes.append(_lane(shard, parents, where))
    loaded = Token(VERSION, bloop.stream_arn, lanes=tuple(lanes), closed_are_read=True)
    check_token(loaded, lambda *_: "$.shards")
    return loaded


def _lane(shard: _Shard, parents: tuple[str, ...], where: str) -> TokenLane:
    kind = shard.iterator_type
    if kind in ("after_sequence", "at_sequence"):
        if shard.sequence_number is None:
            raise damaged(f"{kind} without a sequence number", f"{where}.sequence_number")
        check_number(shard.sequence_number, f"{where}.sequence_number")
        if kind == "at_sequence":
            return TokenLane(shard.shard_id, parents, at=shard.sequence_number)
        return TokenLane(shard.shard_id, parents, place=(shard.sequence_number, 0))
    if kind in (None, "trim_horizon"):
        return TokenLane(shard.shard_id, parents)
    if kind == "latest":
        return TokenLane(shard.shard_id, parents, latest=True)
    raise damaged(f"no iterator is of type '{shown(kind)}'", f"{where}.iterator_type")
