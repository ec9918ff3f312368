"""Whatever the pages, the listings and the order of arrivals: records come out as the oracle sorts them (laws 1 to 6)."""

from __future__ import annotations

import json

from hypothesis import given, note
from hypothesis import strategies as st

from streamiter.reading.resume import token_at_start
from streamiter.token import Token, load_token
from tests.drawn import LONG_AGO, DrawnLag, tapes, worlds
from tests.oracle import Expected, assert_same, expected
from tests.worlds import SECOND, STREAM, Drive, Tape, World


def drive_from(world: World, tape: Tape, token: Token | None = None, *, now_us: int = 0, **options) -> Drive:
    return Drive(world, token, tape=tape, lag=DrawnLag(world, tape), faults=True, now_us=now_us, **options)


def assert_rest_follows(world: World, tape: Tape, token: Token, cut: int, wanted: list[Expected], now_us: int) -> None:
    text = json.dumps(token.to_dict())
    note(f"resumed after {cut} from {text}")
    rest = drive_from(world, tape, load_token(json.loads(text)), now_us=now_us)
    assert_same(rest.run(len(wanted) - cut), wanted[cut:], clock=cut)


@given(worlds(), tapes)
def test_records_come_out_in_the_order_of_their_keys(world: World, tape: Tape):
    wanted = expected(world.shards)
    assert_same(drive_from(world, tape).run(len(wanted)), wanted)


@given(worlds(most_shards=5, most_records=3), tapes)
def test_a_token_after_any_record_gives_the_rest(world: World, tape: Tape):
    wanted = expected(world.shards)
    for _ in range(2):  # each reads the world anew: more of them find less than other worlds do
        cut = tape.draw(len(wanted) + 1)
        first = drive_from(world, tape)
        first.read(cut)
        assert_rest_follows(world, tape, first.token(), cut, wanted, first.now_us)


@given(worlds(most_shards=5, most_records=3), tapes)
def test_a_token_of_any_moment_gives_the_rest(world: World, tape: Tape):
    wanted = expected(world.shards)
    first = drive_from(world, tape, records_tokens=True)
    first.run(len(wanted))
    moments = list(first.tokens.values())
    for cut, token in moments[tape.draw(3) :: 1 + len(moments) // 3]:
        assert_rest_follows(world, tape, token, cut, wanted, first.now_us)


@given(worlds(), tapes)
def test_cut_again_and_again_it_goes_on_as_if_never_cut(world: World, tape: Tape):
    wanted = expected(world.shards)
    token, now_us, cut = None, 0, 0
    while cut < len(wanted):
        part = drive_from(world, tape, token, now_us=now_us)
        end = min(len(wanted), cut + 1 + tape.draw(3))
        assert_same(part.read(end - cut), wanted[cut:end], clock=cut)
        token, now_us, cut = part.token(), part.now_us, end


@given(worlds(most_shards=6, most_records=3), tapes)
def test_what_was_read_and_is_trimmed_before_the_resume_changes_nothing(world: World, tape: Tape):
    wanted = expected(world.shards)
    first = drive_from(world, tape)
    first.read(tape.draw(len(wanted) + 1))
    token, cut = first.token(), len(first.out)
    world.unlisted = world.gone = {shard_id for shard_id in passed(world, token) if not tape.once_in(3)}
    note(f"removed: {world.unlisted}")
    assert_rest_follows(world, tape, token, cut, wanted, first.now_us)


def passed(world: World, token: Token) -> list[str]:
    """The shards that this token counts as read to their end."""
    named = {lane.shard: lane for lane in token.lanes}
    above = {parent for shard_id in named for parent in world.ancestors(shard_id)}
    return [s for s in world.shards if (s in named and named[s].ended is not None) or (s in above and s not in named)]


starts = st.sampled_from([LONG_AGO + tick * SECOND // 2 for tick in range(8)])


@given(worlds(numbers="distinct"), starts, st.booleans(), tapes)
def test_from_a_time_on_records_of_that_order_time_and_later_come_out(
    world: World, start_us: int, refuses: bool, tape: Tape
):
    world.refuses_times = refuses
    wanted = expected(world.shards, start_us=start_us)
    first = drive_from(world, tape, token_at_start(STREAM, start_us))
    cut = tape.draw(len(wanted) + 1)
    assert_same(first.read(cut), wanted[:cut])
    assert_rest_follows(world, tape, first.token(), cut, wanted, first.now_us)
