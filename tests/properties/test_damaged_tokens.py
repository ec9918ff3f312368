"""Tokens with random damage: each is refused as InvalidToken, or is read from without any error that is not ours."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.errors import InvalidToken
from streamiter.token import Token, load_token
from tests.stream.old_worlds import old_worlds
from tests.worlds import DAY, HOUR, NOW, SECOND, STREAM, Drive, Tape

SAVED = json.loads((Path(__file__).parent.parent / "stream/old_tokens.json").read_text())
BLOOP = {
    "stream_arn": STREAM,
    "active": ["S1", "S4"],
    "shards": [
        {"shard_id": "S3"},
        {"shard_id": "S1", "parent": "S3", "iterator_type": "after_sequence", "sequence_number": "101"},
        {"shard_id": "S4", "iterator_type": "latest"},
    ],
}
WHOLE = [
    *((saved["world"], saved["token"]) for saved in SAVED),
    *((saved["world"], load_token(saved["token"]).to_dict()) for saved in SAVED),
    ("split", BLOOP),
]
NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    10**6,
    10**15,
    NOW,
    NOW - HOUR,
    -NOW,
    10**18,
    10**300,
    0.5,
    1e300,
    float("nan"),
    float("inf"),
]
TEXTS = [
    "",
    "a",
    "S1",
    "S3",
    "K1",
    "x y",
    "\ud800",
    "é",
    "\x00",
    "0",
    "000",
    "101",
    "9" * 99,
    "9" * 5000,
    "shardId-",
    STREAM,
]
OTHERS: list[Any] = [None, True, False, [], {}, [0], [1, 2], ["S1"], {"a": 1}, {"shard": "S1"}, [[]], ["S1", 0, []]]
ATOMS = [*NUMBERS, *TEXTS, *OTHERS]
FIELDS = [
    "prefix",
    "times",
    "finished",
    "shard",
    "parents",
    "place",
    "floor",
    "time",
    "opened",
    "ended",
    "at",
    "x",
    "\ud800",
]
NAMES = [*Token.__struct_fields__, *FIELDS]


def paths(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from paths(inner, *path, step)


def damaged(whole: Any, dice: Random) -> Any:
    """A token with some of its parts replaced, left out, added to or changed a little."""
    token = copy.deepcopy(whole)
    for _ in range(dice.choice([1, 1, 1, 2, 4])):
        if not token or dice.random() < 0.1:
            token[dice.choice(NAMES)] = copy.deepcopy(dice.choice(ATOMS))
            continue
        *above, step = dice.choice(list(paths(token)))
        holder = token
        for name in above:
            holder = holder[name]
        _damage(holder, step, dice)
    return token


def _damage(holder: Any, step: Any, dice: Random) -> None:
    value = holder[step]
    if dice.random() < 0.15:
        holder.pop(step)
    elif dice.random() < 0.3:
        holder[step] = copy.deepcopy(dice.choice(ATOMS))
    elif isinstance(value, dict):
        value[dice.choice(NAMES)] = copy.deepcopy(dice.choice(ATOMS))
    elif isinstance(value, list):
        value.insert(dice.randrange(len(value) + 1), copy.deepcopy(dice.choice([*ATOMS, *value])))
    elif isinstance(value, str):
        at = dice.randrange(len(value) + 1)
        holder[step] = value[:at] + dice.choice(["", "0", "9", "x", " ", "\ud800"]) + value[at + dice.randrange(2) :]
    elif isinstance(value, int):
        holder[step] = value + dice.choice([1, -1, SECOND, -SECOND, DAY, -400 * DAY, 10**12])


@pytest.mark.parametrize("part", range(3))
@given(seed=st.integers(0, 2**32))
def test_a_damaged_token_is_refused_or_read_from(part: int, seed: int):
    dice = Random(f"{part} {seed}")
    world, whole = dice.choice(WHOLE)
    told = damaged(whole, dice)
    try:
        token = load_token(told)
    except InvalidToken as error:
        assert error.where.startswith("$") and len(str(error).encode()) < 700
        assert "Expected" not in str(error), "that is what msgspec says"
        return
    assert load_token(json.loads(json.dumps(token.to_dict()))) == token
    drive = Drive(old_worlds()[world], token, tape=Tape(dice.randbytes(60)))
    for _ in range(dice.choice([3, 20])):
        drive.round()
    drive.token()
