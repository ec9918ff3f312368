"""Whatever the service does: shard order, lineage order, each record once, and late ones flagged (laws 1, 2, 5, 7)."""

from __future__ import annotations

from hypothesis import given, note

from streamiter.token import Token
from tests.drawn import DrawnLag, live_tapes, live_world, tapes, worlds
from tests.oracle import assert_lawful
from tests.worlds import SECOND, Drive, Out, Tape, World

BEFORE = -30 * SECOND


class RowsLost(DrawnLag):
    """Listings that lack any rows: siblings turn up apart, roots long after the first listing."""

    def _beside(self, shard_ids: set[str]) -> set[str]:
        return set(shard_ids)

    def _excused(self, lost: set[str], slow: set[str], service_us: int) -> set[str]:
        return lost


def read_in_parts(world: World, tape: Tape, total: int, *, now_us: int = 0, **options) -> list[Out]:
    """Reads the world with cuts, until nothing comes any more."""
    out: list[Out] = []
    token: Token | None = None
    while True:
        part = Drive(world, token, tape=tape, lag=RowsLost(world, tape), faults=True, now_us=now_us, **options)
        most = 1 + tape.draw(6)
        out += part.read(most) if len(out) + most < total else part.run(total - len(out))
        if len(out) >= total or len(part.out) < most:
            return out
        token, now_us = part.token(), part.now_us + tape.draw(4) * SECOND


@given(worlds(), tapes)
def test_listings_that_lack_any_rows_lose_and_repeat_nothing(world: World, tape: Tape):
    assert_lawful(read_in_parts(world, tape, world.size), world.shards)


@given(live_tapes, tapes)
def test_a_service_that_keeps_to_nothing_makes_records_late_and_no_more(live: Tape, tape: Tape):
    world = live_world(live, honest=False)
    note(f"{world}")
    assert_lawful(read_in_parts(world, tape, world.size, now_us=BEFORE), world.shards)


@given(worlds(), tapes)
def test_without_lateness_shard_and_lineage_order_remain(world: World, tape: Tape):
    assert_lawful(read_in_parts(world, tape, world.size, lateness_us=None), world.shards)


@given(live_tapes, tapes)
def test_without_lateness_nothing_waits_at_the_tip(live: Tape, tape: Tape):
    world = live_world(live, honest=False)
    note(f"{world}")
    assert_lawful(read_in_parts(world, tape, world.size, now_us=BEFORE, lateness_us=None), world.shards)
