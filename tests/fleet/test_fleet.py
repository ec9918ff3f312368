"""Worlds of simulated fleets keep the laws; `./dev fleet --worlds 10000` runs many more."""

from __future__ import annotations

import os

import pytest

from tests.fleet.mutants import MUTANTS, engine_with, texts_with
from tests.fleet.world import World

WORLDS = 2000 if os.environ.get("STREAMITER_HYPOTHESIS") == "deep" else 30
MOST = 200  # worlds within which each fault must be found


@pytest.mark.parametrize("part", range(5))
def test_worlds_keep_the_laws(part):
    for seed in range(part * WORLDS // 5, (part + 1) * WORLDS // 5):
        assert not World(seed).run(), f"./dev fleet --worlds 1 --seed {seed}"


def test_worlds_are_not_empty():
    """What is to be kept has to be tried: workers die, stand still and come back, shards end, leases move."""
    deliveries = moves = completed = deaths = 0
    for seed in range(12):
        world = World(seed)
        world.run()
        deliveries += world.observer.deliveries
        moves += world.observer.moves
        completed += sum(row.value.completed for row in world.store.rows["leases"].values())
        deaths += len(world.observer.gone)
    assert min(deliveries // 100, moves // 5, completed, deaths) > 10


def test_a_seed_replays_exactly():
    logs: list[list[str]] = [[], []]
    for log in logs:
        World(3, log=log.append).run()
    assert logs[0] == logs[1]
    assert len(logs[0]) > 100


def test_there_are_faults_enough_and_each_has_its_place_in_the_engine():
    assert len({mutant.what for mutant in MUTANTS}) == len(MUTANTS) >= 20
    for mutant in MUTANTS:
        for text in texts_with(mutant).values():
            compile(text, mutant.what, "exec")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what.replace(" ", "-"))
def test_a_fault_in_the_engine_is_found(mutant):
    with engine_with(mutant) as kit:
        for seed in range(mutant.seed, mutant.seed + MOST):
            if World(seed, kit).run():
                return
    raise AssertionError(f"an engine that {mutant.what} broke no law in {MOST} worlds")
