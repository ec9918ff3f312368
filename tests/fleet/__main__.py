"""`./dev fleet`: many worlds, or one of them step by step."""

from __future__ import annotations

import argparse
import logging
import sys
import time

from tests.fleet.runtime_world import RuntimeWorld
from tests.fleet.world import World


def main() -> int:
    """Runs the worlds; the first that breaks a law is told with its seed, and replayed by that."""
    options = _parse()
    logging.disable(logging.CRITICAL)  # workers tell of each failure
    if options.worlds == 1:
        return _replay(options.seed, runtime=options.runtime)
    run = _run_runtime if options.runtime else _run_engines
    began, cpu = time.monotonic(), time.process_time()
    broken = 0
    for number in range(options.worlds):
        seed = options.seed + number
        told = run(seed)
        if told is not None:
            broken += 1
            print(f"seed {seed} {told}", flush=True)
        if sys.stderr.isatty() or number % 100 == 99:
            print(f"{number + 1} worlds, {broken} broken", end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr)
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    rate = 60 * options.worlds / max(cpu, 1e-9)
    print(
        f"{options.worlds} worlds from seed {options.seed} on, {broken} broken; {seconds:.0f} s, {rate:.0f} a minute and core"
    )
    if broken:
        print(f"see one step by step: ./dev fleet {'--runtime ' if options.runtime else ''}--worlds 1 --seed SEED")
    return 1 if broken else 0


def _run_engines(seed: int) -> str | None:
    world = World(seed)
    violations = world.run()
    return f"({world.mode}, failover {world.failover / 1e6:.0f} s): {violations[0]}" if violations else None


def _run_runtime(seed: int) -> str | None:
    world = RuntimeWorld(seed)
    wrong = world.run()
    return f"({world}): {wrong[0]}" if wrong else None


def _replay_runtime(seed: int) -> int:
    world = RuntimeWorld(seed, log=print)
    wrong = world.run()
    print(f"seed {seed}: {world}; {len(world.fleet.deliveries)} deliveries")
    print(*wrong or ["no law was broken"], sep="\n")
    return 1 if wrong else 0


def _replay(seed: int, *, runtime: bool) -> int:
    if runtime:
        return _replay_runtime(seed)
    world = World(seed, log=print)
    violations = world.run()
    print(f"seed {seed}: {world.mode}, failover {world.failover / 1e6:.0f} s, {world.observer.deliveries} deliveries")
    print(*violations or ["no law was broken"], sep="\n")
    return 1 if violations else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev fleet", description="Simulated fleets, held against laws 9 to 15.")
    parser.add_argument("--worlds", type=int, default=1000, metavar="N", help="how many; default 1000; 1: step by step")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first; default 0")
    parser.add_argument("--runtime", action="store_true", help="with the workers' own code, not the engine's alone")
    options = parser.parse_args()
    if options.worlds < 1:
        parser.error("--worlds is 1 or more")
    return options


if __name__ == "__main__":
    sys.exit(main())
