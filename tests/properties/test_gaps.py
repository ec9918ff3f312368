"""What the service no longer holds is named, never skipped in silence; what it holds still comes out once (law 5)."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st

from tests.drawn import DrawnLag, tapes, worlds
from tests.oracle import assert_lawful, expected
from tests.worlds import DAY, HOUR, SECOND, Drive, Tape, World


@given(
    worlds(most_shards=5, most_records=4, numbers="rising"), tapes, st.sampled_from([0, HOUR, DAY - HOUR, DAY + HOUR])
)
def test_what_was_trimmed_before_the_resume_is_a_gap_and_the_rest_comes_once(world: World, tape: Tape, slept_us: int):
    wanted = expected(world.shards)
    first = Drive(world, tape=tape, lag=DrawnLag(world, tape), faults=True)
    first.read(tape.draw(len(wanted) + 1))
    token = first.token()
    trim(world, tape)
    note(
        f"trimmed { ({s.id: s.trimmed for s in world.shards.values() if s.trimmed}) }, gone {world.gone}, {token.to_dict()}"
    )
    rest = Drive(world, token, tape=tape, lag=DrawnLag(world, tape), faults=True, now_us=first.now_us + slept_us)
    returned = {(o.shard, o.index) for o in first.out}
    left = {(e.shard, e.index) for e in wanted} - returned
    held = {(s, i) for s, i in left if s not in world.gone and i >= world.shards[s].trimmed}
    # A gap may stand behind a shard that ended, and that holds its place for half a minute more.
    out = rest.run(quiet_us=100 * SECOND)
    assert sorted((o.shard, o.index) for o in out) == sorted(held)
    assert_lawful(first.out + out, world.shards, once=False)
    told = {shard for shard, _ in rest.gaps}
    was_read = {shard for shard, _ in returned}
    for shard in {shard for shard, _ in left - held}:
        if shard in was_read or (shard in world.gone and world.ancestors(shard) & was_read):
            assert shard in told, f"lost of {shard}, in silence"
    if not slept_us:
        assert told <= {s for s in world.shards if s in world.gone or world.shards[s].trimmed}
    assert rest.reading.gaps_accepted == len(rest.gaps)


def trim(world: World, tape: Tape) -> None:
    """Trims shards, the oldest first: what is trimmed of a shard leaves nothing of its ancestors."""
    for shard in world.shards.values():
        if all(parent not in world.shards or parent in world.gone for parent in shard.parents):
            shard.trimmed = tape.draw(len(shard.records) + 1)
            if shard.closed_us is not None and shard.trimmed == len(shard.records) and tape.once_in(2):
                world.gone.add(shard.id)
                if tape.once_in(2):
                    world.unlisted.add(shard.id)
