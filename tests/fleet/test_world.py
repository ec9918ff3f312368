"""The worlds themselves: a phase begins when the one before it has come to rest."""

from __future__ import annotations

from random import Random

import pytest

from tests.fleet.agenda import SECOND, Agenda
from tests.fleet.source import Source
from tests.fleet.world import World


@pytest.mark.parametrize("seed", [2, 5, 7])
def test_a_fleet_in_which_a_shard_ended_a_moment_ago_is_not_at_rest(seed):
    world = World(seed)
    world._chaos()
    world._settle()
    rested, shards = world.observer.last_change, len(world.source.shards)
    world.agenda.after(world.failover // 4, world._reshard)
    world._rest()
    assert len(world.source.shards) > shards
    assert rested < world.observer.last_change <= world.agenda.now - 2 * world.failover
    assert world.observer.violations == []


@pytest.mark.parametrize("seed", range(20))
def test_the_listings_of_a_worker_do_not_agree_for_long_that_a_shard_is_gone(seed):
    """Three that lie a second apart would make its child an orphan (docs/ordering.md): no made-up service does that."""
    agenda = Agenda()
    source = Source(agenda, Random(seed), tells_children=True)
    source.make(lag=0)
    lacking_since, lacked = None, 0
    for number in range(1, 2_000):
        agenda.run_until(2 * number * SECOND)  # then shards may be lacking
        if source.listing("w0"):
            lacking_since = None
        else:
            lacked += 1
            lacking_since = agenda.now if lacking_since is None else lacking_since
            assert agenda.now - lacking_since < SECOND
    assert lacked
