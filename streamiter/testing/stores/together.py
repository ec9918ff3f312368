"""Rules about writers at once: threads of one process, and processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import chain

from streamiter.errors import Conflict
from streamiter.store import Row, Store, Table
from streamiter.testing.contract.probe import in_threads
from streamiter.testing.contract.rule import Rule, rule
from streamiter.testing.stores.rig import StoreRig
from streamiter.testing.stores.sharing import equal

RACE = Table("race", "shop")
THREADS, PROCESSES, WINS = 6, 3, 15


@rule("takes_threads")
def threads_take_turns(rig: StoreRig) -> None:
    """Of threads that write the same row at once, with a handle for all or one each, each version is one thread's."""
    other = rig.another()
    found = in_threads(THREADS, partial(race, wins=WINS), (rig.store, other))
    _check(rig, found, THREADS)
    other.close()


@rule("url")
def processes_take_turns(rig: StoreRig) -> None:
    """Of processes that write the same row at once, each version is one process's."""
    assert rig.url is not None
    commands = [
        [sys.executable, "-m", "streamiter.testing.stores.racer", rig.url, f"p{number}"] for number in range(PROCESSES)
    ]
    environment = {**os.environ, **rig.environment}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for command in commands]
    found = [json.loads(process.communicate(timeout=120)[0]) for process in running]
    _check(rig, found, PROCESSES)


def race(store: Store, name: str, wins: int) -> list[int]:
    """Changes a row that other processes change, too, until it has won so often. Returns the versions that it wrote."""
    won: list[int] = []
    row = store.read(RACE, "row")
    while len(won) < wins:
        expected = None if row is None else row.version
        try:
            row = store.write(RACE, Row("row", {"by": name}), expected)
            won.append(row.version)
        except Conflict as error:
            row = error.standing
    return won


def _check(rig: StoreRig, found: list[list[int]], writers: int) -> None:
    equal(len(found), writers, "writers that came to an end")
    versions = sorted(chain.from_iterable(found))
    twice = [version for version, count in Counter(versions).items() if count > 1]
    equal(twice, [], "versions that two writers wrote")
    equal(versions, list(range(1, writers * WINS + 1)), "the versions")
    last = rig.store.read(RACE, "row")
    equal(None if last is None else last.version, writers * WINS, "the last version")


TOGETHER: tuple[Rule[StoreRig], ...] = (threads_take_turns, processes_take_turns)
