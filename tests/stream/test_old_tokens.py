"""Older tokens: what readers of version 1 saved is read on from, to the record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streamiter.token import load_token
from tests.oracle import assert_same, expected
from tests.stream.old_worlds import old_worlds
from tests.worlds import Drive

SAVED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "old_tokens.json").read_text())


@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: f"{saved['world']}-{saved['returned']}")
def test_a_token_of_version_1_is_read_on_from(saved: dict[str, Any]):
    world, returned = old_worlds()[saved["world"]], saved["returned"]
    assert saved["token"]["streamiter"] == 1
    rest = Drive(world, load_token(saved["token"]), now_us=saved["now_us"])
    wanted = expected(world.shards)[returned:]
    assert_same(rest.run(len(wanted)), wanted, clock=returned)


@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: f"{saved['world']}-{saved['returned']}")
def test_it_says_the_same_when_it_is_saved_again(saved: dict[str, Any]):
    token = load_token(saved["token"])
    again = token.to_dict()
    assert again["streamiter"] == 2
    assert load_token(json.loads(json.dumps(again))) == token


def test_the_tokens_hold_all_that_such_a_token_could_say():
    told = {name for saved in SAVED for name in saved["token"]}
    lanes = {name for saved in SAVED for lane in saved["token"].get("lanes", ()) for name in lane}
    assert told >= {"streamiter", "stream", "clock", "high", "lanes", "fresh"}
    assert lanes >= {"shard", "parents", "depth", "greatest", "place", "floor", "opened", "time", "ended", "childless"}
