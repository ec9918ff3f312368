"""However many listings of a moment lag alike: the sequence is that of a whole listing (laws 2 and 6)."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st

from streamiter.lineage.agreement import UNTOLD_US, YOUNG_US
from streamiter.reading.resume import token_at_start
from tests.drawn import DrawnLag, tapes, worlds
from tests.oracle import assert_same, expected
from tests.worlds import DAY, HOUR, NOW, SECOND, STREAM, Drive, Tape, World, WorldShard


class Moment(DrawnLag):
    """For a while all listings lack the same rows, as many as are asked for; afterwards they lack nothing.

    As everywhere, they lack them in such a way that what they show tells that there is more to come.
    """

    def __init__(self, world: World, tape: Tape, *, lasts_us: int) -> None:
        super().__init__(world, Tape())
        self._lasts_us = lasts_us
        self._until_us: int | None = None
        self._lost = self._beside({shard_id for shard_id in world.shards if tape.once_in(2)})

    def hidden(self, world: World, call: int, service_us: int) -> set[str]:
        if self._until_us is None:
            self._until_us = service_us + self._lasts_us
        if service_us >= self._until_us:
            return set()
        return self._excused(self._lost, set(), service_us)


def with_hints(world: World, age_us: int) -> World:
    """The same world, its shards named as the service names them, so long before NOW."""
    names = {name: f"shardId-{(NOW - age_us) // 1000 + at:020d}-{name}" for at, name in enumerate(world.shards)}
    shards = [
        WorldShard(
            names[s.id], tuple(names.get(above, above) for above in s.parents), s.records, s.born_us, s.closed_us
        )
        for s in world.shards.values()
    ]
    return World(shards, knows_tip=world.knows_tip, digits=world.digits)


def assert_read_as_a_whole(world: World, tape: Tape, lasts_us: int) -> None:
    wanted = expected(world.shards)
    drive = Drive(world, tape=tape, lag=Moment(world, tape, lasts_us=lasts_us))
    assert_same(drive.run(len(wanted)), wanted)


@given(worlds(), tapes)
def test_of_a_moment_of_which_ids_tell_nothing(world: World, tape: Tape):
    assert_read_as_a_whole(world, tape, UNTOLD_US)


@given(worlds(), tapes, st.sampled_from([0, HOUR, DAY - HOUR]))
def test_of_ten_seconds_where_ids_tell_that_parents_must_be_listed(world: World, tape: Tape, age_us: int):
    assert_read_as_a_whole(with_hints(world, age_us), tape, YOUNG_US)


@given(worlds(most_shards=5, most_records=3), tapes, st.sampled_from([None, HOUR, 2 * DAY]))
def test_after_a_resume_too(world: World, tape: Tape, age_us: int | None):
    world = world if age_us is None else with_hints(world, age_us)
    wanted = expected(world.shards)
    first = Drive(world, tape=tape)
    first.begin()
    first.deliver(0)  # nothing was read before the first listing: what is old counts as an orphan at once
    cut = tape.draw(len(wanted) + 1)
    assert_same(first.read(cut), wanted[:cut])
    token = first.token()
    note(f"resumed after {cut} from {token.to_dict()}")
    rest = Drive(world, token, tape=tape, lag=Moment(world, tape, lasts_us=UNTOLD_US), now_us=first.now_us)
    assert_same(rest.run(len(wanted) - cut), wanted[cut:], clock=cut)


@given(worlds(), tapes)
def test_orphans_of_long_ago_cost_no_wait(world: World, tape: Tape):
    world = with_hints(world, DAY + HOUR)
    oldest = next(iter(world.shards.values()))
    oldest.parents = ("shardId-00000001600000000000-trimmed",)
    drive = Drive(world, token_at_start(STREAM))
    while drive.reading.held_by == "listing":
        drive.begin()
        drive.deliver(0)
        assert drive.now_us == 0 < SECOND and drive.listings <= 3
