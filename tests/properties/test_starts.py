"""Where reading may start: at the latest, at a time where the service refuses times, and from Bloop's tokens."""

from __future__ import annotations

from typing import Any

from hypothesis import given, note
from hypothesis import strategies as st

from streamiter.clock import floor_second
from streamiter.lineage import Lineage
from streamiter.precision import Precision
from streamiter.reading.resume import token_at_latest, token_at_start
from streamiter.token import Token, load_token
from tests.drawn import DrawnLag, live_tapes, live_world, tapes, worlds
from tests.oracle import assert_lawful, assert_same, expected
from tests.worlds import ALWAYS, HOUR, NOW, SECOND, STREAM, Drive, Out, Tape, Truth, World, WorldShard


def read_on(world: World, token: Token, tape: Tape, total: int, now_us: int) -> list[Out]:
    """Reads so many records, with a cut somewhere."""
    first = Drive(world, token, tape=tape, lag=DrawnLag(world, tape), faults=True, now_us=now_us)
    first.read(tape.draw(total + 1))
    rest = Drive(world, first.token(), tape=tape, lag=DrawnLag(world, tape), faults=True, now_us=first.now_us)
    return first.out + rest.run(total - len(first.out))


@given(live_tapes, tapes, st.integers(-25, 30), st.booleans())
def test_latest_is_a_place_in_time(live: Tape, tape: Tape, seconds: int, refuses: bool):
    world = live_world(live)
    world.refuses_times = refuses
    note(f"{world}")
    now_us = NOW + seconds * SECOND
    rows = world.rows(now_us)
    leaves = Lineage(rows).leaves()
    above = {parent for leaf in leaves for parent in world.ancestors(leaf)}
    start_us = floor_second(now_us - SECOND)
    wanted = expected(world.shards, start_us=start_us, read=above)
    out = read_on(world, token_at_latest(STREAM, rows, now_us, Precision(SECOND)), tape, len(wanted), seconds * SECOND)
    assert_same(out, wanted)
    # What is written from now on is seen, whatever was closed just before.
    after = {(s.id, i) for s in world.shards.values() for i, t in enumerate(s.records) if (t.created_us or 0) > now_us}
    assert after <= {(o.shard, o.index) for o in out}


@st.composite
def aged_worlds(draw) -> World:
    """Generations of shards, one every hour, each with records of its own hour: creation times that can be relied on."""
    shards: list[WorldShard] = []
    above: list[str] = []
    for hour in range(12, 0, -1):
        kept = draw(st.integers(1, 2))
        names = [f"S{hour:02d}{letter}" for letter in "ab"[:kept]]
        for index, name in enumerate(names):
            parents = (above[min(index, len(above) - 1)],) if above else ()
            minutes = sorted(draw(st.lists(st.integers(0, 59), max_size=3)))
            records = [Truth(i, NOW - hour * HOUR + minute * 60 * SECOND) for i, minute in enumerate(minutes, 1)]
            shards.append(WorldShard(name, parents, records, closed_us=ALWAYS if hour > 1 else None))
        above = names
    return World(shards)


@given(aged_worlds(), st.integers(0, 24), tapes)
def test_without_at_timestamp_the_records_are_the_same(world: World, half_hours: int, tape: Tape):
    world.refuses_times = True
    start_us = NOW - half_hours * HOUR // 2
    wanted = expected(world.shards, start_us=start_us)
    # What is passed over gives no order times: floors are those of what is read.
    assert_same(read_on(world, token_at_start(STREAM, start_us), tape, len(wanted), 0), wanted)


@given(worlds(numbers="rising", merges=False, absent=False), tapes)
def test_tokens_of_bloop_go_on_where_bloop_stopped(world: World, tape: Tape):
    for shard in world.shards.values():
        shard.records = [Truth(number, truth.created_us) for number, truth in enumerate(shard.records, 1)]
    wanted = expected(world.shards)
    cut = tape.draw(len(wanted) + 1)
    returned = {(e.shard, e.index) for e in wanted[:cut]}
    token, finished = bloop_token(world, returned, tape)
    note(f"{token}")
    rest = Drive(world, load_token(token), tape=tape, lag=DrawnLag(world, tape), faults=True, tells_closed=True)
    left = {(e.shard, e.index) for e in wanted[cut:]}
    out = rest.run()
    again = {(o.shard, o.index) for o in out} & returned
    assert {(o.shard, o.index) for o in out} - again == left
    # Bloop's token does not name the leaves that it finished. Below an ancestor of a shard that it does name they come again,
    # with all that is between.
    named = {shard["shard_id"] for shard in token["shards"] if shard["shard_id"] in token["active"]}
    above = {parent for shard in named for parent in world.ancestors(shard)}
    lines = {s for leaf in finished if above & world.ancestors(leaf) for s in (leaf, *world.ancestors(leaf))}
    assert {shard for shard, _ in again} <= lines - above
    assert_lawful(out, world.shards, once=False)


def bloop_token(world: World, returned: set[tuple[str, int]], tape: Tape) -> tuple[dict[str, Any], set[str]]:
    """The token of a Bloop that returned these records, and the leaves that it finished."""
    active, tokens, finished = [], [], set()
    done: set[str] = set()
    for shard in world.shards.values():  # parents first, as they were drawn
        read = sum((shard.id, index) in returned for index in range(len(shard.records)))
        token: dict[str, Any] = {"shard_id": shard.id}
        if shard.parents:
            token["parent"] = shard.parents[0]
        if all(parent in done for parent in shard.parents):
            is_past = any(shard.id in world.ancestors(below) for below, _ in returned)
            if read == len(shard.records) and shard.closed_us is not None and (is_past or tape.once_in(2)):
                done.add(shard.id)
                if not world.children(shard.id):
                    finished.add(shard.id)
                    continue
            else:
                active.append(shard.id)
                if read:
                    token |= {"iterator_type": "after_sequence", "sequence_number": world.text(shard.records[read - 1])}
                elif shard.records and tape.once_in(2):
                    token |= {"iterator_type": "at_sequence", "sequence_number": world.text(shard.records[0])}
                else:
                    token["iterator_type"] = "trim_horizon"
        tokens.append(token)
    return {"stream_arn": STREAM, "active": active, "shards": tokens}, finished
