"""Worlds of the runtime itself keep the laws; `./dev fleet --runtime --worlds 1000` runs many more."""

from __future__ import annotations

import os

import pytest

from tests.fleet.runtime_mutants import MUTANTS, runtime_with
from tests.fleet.runtime_world import RuntimeWorld

COUNTED = (range(12), (7, 14, 40, 42))  # seeds of worlds of which it is counted, too, what happens in them
OTHERS = [
    seed
    for seed in range(600 if os.environ.get("STREAMITER_HYPOTHESIS") == "deep" else 25)
    if seed not in {*COUNTED[0], *COUNTED[1]}
]
PARTS = 4
MOST = 100  # worlds within which each fault must be found


@pytest.mark.parametrize("part", range(PARTS))
def test_worlds_keep_the_laws(part):
    for seed in OTHERS[part::PARTS]:
        assert not RuntimeWorld(seed).run(), f"./dev fleet --runtime --worlds 1 --seed {seed}"


def test_a_seed_replays_exactly():
    def run():
        log = []
        world = RuntimeWorld(3, log=log.append)
        assert not world.run()
        return log, [
            (told.seconds, told.worker, told.lease, told.fence, str(told.record)) for told in world.fleet.deliveries
        ]

    assert run() == run()


def test_worlds_are_not_empty():
    """What is to be kept has to be tried: workers die, leases move, shards end, functions fail."""
    told: list[str] = []
    deliveries = failures = moves = completed = 0
    for seed in COUNTED[0]:
        world = RuntimeWorld(seed, log=told.append)
        assert not world.run(), f"./dev fleet --runtime --worlds 1 --seed {seed}"
        deliveries += len(world.fleet.deliveries)
        failures += len(world.fleet.failures)
        moves += sum(observer.moves for observer in world.observers.values())
        completed += sum(lease.completed for name in world.observers for lease in world.fleet.leases(name).values())
    deaths = sum("is killed" in line or "dies" in line for line in told)
    pauses = sum("stands still" in line for line in told)
    counts = (deliveries // 100, failures, moves // 5, completed, deaths, 3 * pauses)
    assert min(counts) >= 10, counts


def test_worlds_try_commits_gaps_leaders_and_several_processors():
    told: list[str] = []
    several = effects = broken = runs = 0
    for seed in COUNTED[1]:
        world = RuntimeWorld(seed, log=told.append)
        assert not world.run()
        several += len(world.processors) > 1
        if world.books is not None:
            effects += sum(map(len, world.books.entries.values()))
            broken += world.books.broken
        if world.timers is not None:
            runs += len(world.timers.runs)
    gaps = sum("accepts the gap" in line for line in told)
    leaders = sum("dies" in line and "as the leader" in line for line in told)
    counts = (effects // 20, broken, gaps, runs // 5, 5 * several, 5 * leaders)
    assert min(counts) >= 5, counts


def test_there_are_faults_enough():
    assert len({mutant.what for mutant in MUTANTS}) == len(MUTANTS) >= 20


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what.replace(" ", "-"))
def test_a_fault_in_the_runtime_is_found(mutant):
    with runtime_with(mutant) as kit:
        for seed in range(mutant.seed, mutant.seed + MOST):
            if RuntimeWorld(seed, kit).run():
                return
    raise AssertionError(f"a runtime that {mutant.what} broke no law in {MOST} worlds")
