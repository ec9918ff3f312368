"""Whatever the pages, the listings and the order of arrivals: records come out as the oracle sorts them (laws 1 to 6)."""

from __future__ import annotations

import json

from hypothesis import given, note
from hypothesis import strategies as st

from streamiter.token import Token, load_token
from tests.drawn import DrawnLag, tapes, worlds
from tests.oracle import Expected, assert_same, expected
from tests.worlds import Drive, Tape, World


@given(worlds(), tapes)
def test_records_come_out_in_the_order_of_their_keys(world: World, tape: Tape):
    wanted = expected(world.shards)
    drive = Drive(world, tape=tape, lag=DrawnLag(world, tape), faults=True)
    assert_same(drive.run(len(wanted)), wanted)


@given(worlds(most_shards=5, most_records=3), tapes)
def test_a_token_after_any_record_gives_the_rest(world: World, tape: Tape):
    wanted = expected(world.shards)
    for cut in range(len(wanted) + 1):
        first = Drive(world, tape=tape, lag=DrawnLag(world, tape), faults=True)
        first.read(cut)
        assert_rest_follows(world, tape, first.token(), cut, wanted, first.now_us)


@given(worlds(most_shards=5, most_records=3), tapes)
def test_a_token_of_any_moment_gives_the_rest(world: World, tape: Tape):
    wanted = expected(world.shards)
    first = Drive(world, tape=tape, lag=DrawnLag(world, tape), faults=True, records_tokens=True)
    first.run(len(wanted))
    for cut, token in first.tokens.values():
        assert_rest_follows(world, tape, token, cut, wanted, first.now_us)


def assert_rest_follows(
    world: World, tape: Tape, token: Token, cut: int, wanted: list[Expected], now_us: int
) -> None:
    text = json.dumps(token.to_dict())
    note(f"resumed after {cut} from {text}")
    rest = Drive(world, load_token(json.loads(text)), tape=tape, lag=DrawnLag(world, tape), faults=True, now_us=now_us)
    assert_same(rest.run(len(wanted) - cut), wanted[cut:], clock=cut)
