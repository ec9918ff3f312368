"""The worlds themselves: a phase begins when the one before it has come to rest."""

from __future__ import annotations

import pytest

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
