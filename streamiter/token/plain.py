"""Plain tokens: version 1 of our own, in which every lane is an object by the names of `TokenLane`'s fields.

{"streamiter": 1, "stream": "arn:...", "clock": 42, "high": [time, greatest, depth, shard, number, since],
 "lanes": [{"shard": "S1", "parents": ["S0"], "depth": 1, "place": ["100000000017", 0], "floor": 1700000000000000}]}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from streamiter.token.checks import check_token, converted
from streamiter.token.packing import VERSION
from streamiter.token.values import Token, TokenLane


def load_plain(token: Mapping[str, Any]) -> Token:
    """The token in a dict of version 1."""
    loaded: Token = converted(token, Token)
    check_token(loaded, lambda index, name: f"$.lanes[{index}].{name}")
    lanes = tuple(sorted(map(_plainly, loaded.lanes), key=lambda lane: lane.shard))
    return msgspec.structs.replace(loaded, streamiter=VERSION, lanes=lanes)


def _plainly(lane: TokenLane) -> TokenLane:
    """The lane without a greatest id that says nothing: its own, or one without a depth."""
    if lane.greatest is None or (lane.depth is not None and lane.greatest != lane.shard):
        return lane
    return msgspec.structs.replace(lane, greatest=None)
