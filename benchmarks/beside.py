"""Beside: this tree and an older commit of it, in the same run: `./dev bench --beside COMMIT [CASE ...]`.

The commit is checked out into a temporary worktree. Its readers run on this tree's environment, with their own files first on
the path, against the same canned server; both take turns. Each row's ratio says how many times as fast this tree is: 0.95 is
5 % slower. For calls and memory it is this tree's amount as a part of the commit's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.canned.process import ROOT, canned
from benchmarks.measure import Counted, Reading, Scale, take_turns
from benchmarks.results import Row
from benchmarks.sides import READERS, Side

SLOWEST = 0.95
MOST_CALLS = 1.05
CLOSED_LANES = (1, 10, 100, 1_000)


class Both(NamedTuple):
    """The same reader of two trees."""

    now: Side
    then: Side


def run(commit: str, cases: Sequence[str], scale: Scale) -> list[Row]:
    """The rows of these cases."""
    with ExitStack() as stack:
        place = stack.enter_context(worktree(commit))
        both = Both(stack.enter_context(_side(ROOT)), stack.enter_context(_side(place)))
        return [row for case in cases for row in CASES[case](both, scale)]


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """The commit's files, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="beside-") as folder:
        place = Path(folder, "tree")
        _git("worktree", "add", "--quiet", "--detach", str(place), commit)
        try:
            yield place
        finally:
            _git("worktree", "remove", "--force", str(place))


def _git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=ROOT, check=True, stdin=subprocess.DEVNULL)


@contextmanager
def _side(tree: Path) -> Iterator[Side]:
    """streamiter's reader of this tree. What is installed is this tree: the other one's files come before it."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-c", _READER, str(tree), READERS["streamiter"]]
    with subprocess.Popen(
        command, cwd=tree, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            yield Side(tree.name, process)
        finally:
            process.kill()


# An editable install may come before PYTHONPATH; a ratio of a tree with itself would look very good.
_READER = """
import runpy, sys
tree, reader = sys.argv[1:]
sys.path.insert(0, tree)
import streamiter
assert streamiter.__file__.startswith(tree + "/"), streamiter.__file__
runpy.run_module(reader, run_name="__main__", alter_sys=True)
"""


def _catch_up(both: Both, scale: Scale) -> list[Row]:
    records = scale.of(200_000, 2_000)
    with canned(records, 1) as server:

        def make(action: str) -> Callable[[Side], Reading]:
            return lambda side: Reading(side, action, server, 1, records, {})

        return [
            _compared(f"catch up on 1 shard: {words}", both, make(action), scale.runs)
            for action, words in (("envelopes", "next"), ("batches", "batches(10_000)"), ("images", "images read"))
        ]


def _many_shards(both: Both, scale: Scale) -> list[Row]:
    shards = scale.of(100, 4)
    records = shards * scale.of(2_000, 200)
    with canned(records, shards, latency=0.02) as server:
        return [
            _compared(
                f"catch up on {shards} shards, 20 ms a call",
                both,
                lambda side: Reading(side, "envelopes", server, shards, records, {}),
                scale.runs,
            )
        ]


def _lanes(both: Both, scale: Scale) -> list[Row]:
    counts = CLOSED_LANES if not scale.is_smoke else (1, 20)
    backlog = scale.of(1_000_000, 4_000)
    records = backlog * 99 // 100
    rows = []
    with canned(backlog, *counts, closed=True) as server:
        for count in counts:
            for words, prefetch_bytes in (("room for full pages", 1536 * 1024**2), ("the default", 64 * 1024**2)):
                options = {"stream": {"prefetch_bytes": prefetch_bytes}}

                def make(side: Side, count: int = count, options: dict[str, Any] = options) -> Reading:
                    return Reading(side, "envelopes", server, count, records, options)

                rows.append(_compared(f"{count:,} lanes, {words}", both, make, min(scale.runs, 3)))
    return rows


def _compared(work: str, both: Both, make: Callable[[Side], Reading], runs: int) -> Row:
    """Both trees, in turns; each has read it all once before."""
    readings = {name: Counted(make(side), {}) for name, side in both._asdict().items()}
    for reading in readings.values():
        reading.do()
    found = take_turns(readings, runs)
    pairs = list(zip(found["then"], found["now"], strict=True))
    calls = {name: sum(reading.calls.values()) for name, reading in readings.items()}
    return Row(
        f"{work} ({calls['then']:,} calls then, {calls['now']:,} now)",
        "the commit",
        [then.seconds / now.seconds for then, now in pairs],
        SLOWEST,
        by_cpu=[then.cpu_seconds / now.cpu_seconds for then, now in pairs],
    )


def _idle(both: Both, scale: Scale) -> list[Row]:
    shards, ticks = scale.of(100, 5), scale.of(3_000, 100)
    calls = {}
    with canned(0, shards) as server:
        for name, side in both._asdict().items():
            server.control(reset=True)
            side.do("open", server, shards)
            side.do("poll", server, shards, ticks=ticks, tick_seconds=0.02)
            calls[name] = sum(server.control(reset=True)["calls"].values())
    ratio = calls["now"] / calls["then"]
    words = f"calls of {shards} idle shards ({calls['then']:,} then, {calls['now']:,} now)"
    return [Row(words, "the commit", [ratio], MOST_CALLS, is_at_most=True, is_count=True)]


CASES: dict[str, Callable[[Both, Scale], list[Row]]] = {
    "catch_up": _catch_up,
    "many_shards": _many_shards,
    "lanes": _lanes,
    "idle": _idle,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints each row; 1 where one is more than 5 % slower, or calls more."""
    parser = argparse.ArgumentParser(prog="./dev bench --beside", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commit")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; default all")
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument("--smoke", action="store_true", help="small sizes, once: shows that it works, not how fast")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also writes the rows there")
    options = parser.parse_args(arguments)
    for name in options.cases:
        if name not in CASES:
            parser.error(f"there is no case {name!r}; there are {', '.join(CASES)}")
    scale = Scale(1 if options.smoke else options.runs, options.smoke)
    rows = run(options.commit, options.cases or list(CASES), scale)
    for row in rows:
        in_cpu = f", {statistics.median(row.by_cpu):.2f} in CPU time" if row.by_cpu else ""
        spread = "" if row.is_count else f" ({min(row.ratios):.2f} to {max(row.ratios):.2f}{in_cpu})"
        print(f"{row.median:.2f}{spread}  {'' if row.is_met else 'SLOWER: '}{row.work}")
    print(f"load {os.getloadavg()[0]:.1f}; after/before, {options.commit} is before")
    if options.json is not None:
        told = [{"work": row.work, "ratios": row.ratios, "by_cpu": row.by_cpu} for row in rows]
        options.json.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    return 0 if scale.is_smoke or all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
