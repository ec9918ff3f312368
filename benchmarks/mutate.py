"""Mutation testing: break the code in one place at a time, and see whether the fast tests notice.

A mutant lives in a copy of the repository, never in the working tree. It is killed when pytest fails or takes far
longer than it did on the unbroken code. Those that survive show what no test holds in place, or are equivalent: then
they go to mutants_accepted.txt, with the reason.
"""

from __future__ import annotations

import argparse
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from benchmarks.mutants import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ["streamiter/lineage", "streamiter/merge", "streamiter/reading", "streamiter/lease"]
# The quick ones first: a mutant lives until the first test fails.
TESTS = ["tests/lineage", "tests/merge", "tests/reading", "tests/lease", "tests/properties"]
ACCEPTED = "benchmarks/mutants_accepted.txt"
WORKERS = 2
# A mutant may allocate for ever; the shell that starts it holds it to 8 GiB where the system can.
START = ["sh", "-c", 'ulimit -v 8388608 2>/dev/null; exec "$@"', "sh"]

KILLED, TIMED_OUT, SURVIVED = "killed", "timed out", "survived"


class Bench:
    """A copy of the repository in which one mutant at a time is tried."""

    def __init__(self, root: Path, tests: list[str]) -> None:
        self.root = root
        self.command = [*START, sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        # The same examples for every mutant, unless asked for otherwise; and no bytecode of the one before.
        self.environment = {"STREAMITER_HYPOTHESIS": "mutants", **os.environ}
        self.environment |= {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        self.process: subprocess.Popen[str] | None = None

    def run(self, timeout: float) -> tuple[int | None, str]:
        """Run the tests once: pytest's exit code, or None after `timeout` seconds; and what it printed."""
        with subprocess.Popen(
            self.command,
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # so that its own children end with it
        ) as self.process:
            try:
                output, _ = self.process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                self.stop()
            return self.process.returncode, output

    def verdict(self, mutant: Mutant, timeout: float) -> str:
        place = self.root / mutant.path
        original = place.read_bytes()
        place.write_text(mutant.source, "utf-8", newline="")
        try:
            code, _ = self.run(timeout)
        finally:
            place.write_bytes(original)
        return TIMED_OUT if code is None else KILLED if code else SURVIVED

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Trial:
    """The benches at work side by side, and what came of each mutant so far."""

    def __init__(self, benches: list[Bench], mutants: list[Mutant], timeout: float, budget: float) -> None:
        self.benches = benches
        self.timeout = timeout
        self.started = time.monotonic()
        self.ends = self.started + budget
        self.total = len(mutants)
        self.waiting = queue.SimpleQueue[Mutant]()
        for mutant in mutants:
            self.waiting.put(mutant)
        self.verdicts: list[tuple[Mutant, str]] = []
        self.stopping = False

    def run(self) -> None:
        threads = [threading.Thread(target=self.work, args=(bench,), daemon=True) for bench in self.benches]
        for thread in threads:
            thread.start()
        try:
            reported = self.started
            while running := [thread for thread in threads if thread.is_alive()]:
                running[0].join(0.1)
                if time.monotonic() - reported >= (1 if sys.stderr.isatty() else 30):
                    reported = time.monotonic()
                    print(self.progress(), end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)
        finally:
            self.stopping = True
            for bench, thread in zip(self.benches, threads, strict=True):
                while thread.is_alive():  # again, for one that was just about to start its process
                    bench.stop()
                    thread.join(0.1)

    def work(self, bench: Bench) -> None:
        while not self.stopping and time.monotonic() < self.ends:
            try:
                mutant = self.waiting.get_nowait()
            except queue.Empty:
                return
            verdict = bench.verdict(mutant, self.timeout)
            # What was running when we were told to stop was killed by us, not by a test.
            if not self.stopping:
                self.verdicts.append((mutant, verdict))

    def progress(self) -> str:
        done, seconds = len(self.verdicts), time.monotonic() - self.started
        survived = sum(verdict == SURVIVED for _, verdict in self.verdicts)
        left = min((self.total - done) * seconds / max(done, 1), max(self.ends - time.monotonic(), 0))
        return f"{done}/{self.total} mutants, {survived} survived, {done / seconds:.1f}/s, {left / 60:.1f} min left "

    def report(self) -> str:
        counts = Counter(verdict for _, verdict in self.verdicts)
        survivors = sorted(mutant for mutant, verdict in self.verdicts if verdict == SURVIVED)
        untried = self.total - len(self.verdicts)
        return "\n".join(
            [
                f"{counts[KILLED] + counts[TIMED_OUT]} killed ({counts[TIMED_OUT]} of them by the timeout), "
                f"{counts[SURVIVED]} survived" + (f", {untried} not tried" if untried else ""),
                *map(str, survivors),
            ]
        )


def copy_of_repository(source: Path, target: Path) -> Path:
    """A copy without what is hidden: the environment, the caches, the history."""
    return Path(shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(".*", "__pycache__")))


def mutants_below(root: Path, sources: list[str]) -> Iterator[Mutant]:
    for source in dict.fromkeys(sources):
        place = root / source
        if not place.exists():
            raise SystemExit(f"mutate: there is no {source}")
        for module in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            yield from mutants_of(module.relative_to(root).as_posix(), module.read_text("utf-8"))


def accepted_below(root: Path) -> list[str]:
    lines = (root / ACCEPTED).read_text("utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def entry_of(mutant: Mutant) -> str:
    """How an accepted mutant's line begins; its reason follows. By text, since line numbers move."""
    return f"{mutant.path} | {mutant.context} | {mutant.change} | "


def without_accepted(mutants: list[Mutant], accepted: list[str]) -> tuple[list[Mutant], list[str]]:
    """The mutants that no line accepts with a reason, and the lines about the same modules that fit no mutant."""

    def fits(line: str, mutant: Mutant) -> bool:
        entry = entry_of(mutant)
        return line.startswith(entry) and bool(line[len(entry) :].strip())

    modules = {mutant.path for mutant in mutants}
    left = [mutant for mutant in mutants if not any(fits(line, mutant) for line in accepted)]
    stale = [line for line in accepted if line.split(" | ")[0] in modules and not any(fits(line, m) for m in mutants)]
    return left, stale


def tests_below(root: Path, patterns: list[str]) -> list[str]:
    found = {
        pattern: [path.relative_to(root).as_posix() for path in sorted(root.glob(pattern))] for pattern in patterns
    }
    if empty := [pattern for pattern, paths in found.items() if not paths]:
        raise SystemExit(f"mutate: no tests at {', '.join(empty)}")
    return [path for paths in found.values() for path in paths]


def chosen(root: Path, options: argparse.Namespace) -> list[Mutant]:
    """The mutants to try, without the accepted ones; in random order where not all may get their turn."""
    everything = list(mutants_below(root, options.only or [*SOURCES, *options.paths]))
    mutants, stale = without_accepted(everything, accepted_below(root))
    print(f"{len(mutants)} mutants, and {len(everything) - len(mutants)} accepted", file=sys.stderr)
    for line in stale:
        print(f"accepted, but it has no reason or there is no such mutant any more: {line}", file=sys.stderr)
    chance = random.Random(options.seed)
    if options.sample is not None:
        return chance.sample(mutants, min(options.sample, len(mutants)))
    return chance.sample(mutants, len(mutants)) if options.budget else mutants


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev mutate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help=f"mutate these besides {' and '.join(SOURCES)}")
    parser.add_argument("--only", action="append", metavar="PATH", help="mutate this alone; may be repeated")
    parser.add_argument("--tests", action="append", metavar="PATTERN", help=f"run these; default {' '.join(TESTS)}")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="start no mutant after this long")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="per mutant; default from the unbroken run")
    parser.add_argument("--sample", type=int, metavar="N", help="try N of them, chosen at random")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the random choice; default 0")
    parser.add_argument("--workers", type=int, default=WORKERS, metavar="N", help=f"try N at once; default {WORKERS}")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    return parser.parse_args()


def try_mutants(scratch: Path, options: argparse.Namespace) -> int:
    # Mutants are made from the first copy: the working tree may change while we run.
    first = copy_of_repository(ROOT, scratch / "0")
    mutants = chosen(first, options)
    roots = [first, *(copy_of_repository(first, scratch / str(number)) for number in range(1, options.workers))]
    benches = [Bench(root, tests_below(first, options.tests or TESTS)) for root in roots]

    before = time.monotonic()
    code, output = benches[0].run(timeout=600)
    unbroken_seconds = time.monotonic() - before
    if code != 0:
        print(f"{output}\nmutate: the tests must pass on the unbroken code first (pytest gave {code})", file=sys.stderr)
        return 1
    timeout = options.timeout or 10 + 3 * unbroken_seconds
    print(f"the unbroken tests take {unbroken_seconds:.1f} s; a mutant gets {timeout:.0f} s", file=sys.stderr)

    trial = Trial(benches, mutants, timeout, options.budget or float("inf"))
    try:
        trial.run()
    finally:  # also what Ctrl-C cuts short
        print(trial.report())
    return 0


def main() -> int:
    options = arguments()
    if options.list:
        print(*chosen(ROOT, options), sep="\n")
        return 0

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)  # `timeout ./dev mutate` leaves nothing running either
    with tempfile.TemporaryDirectory(prefix="mutate-") as scratch:
        try:
            return try_mutants(Path(scratch), options)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return 130


if __name__ == "__main__":
    sys.exit(main())
