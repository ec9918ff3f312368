"""Real worker processes over a simulator that is served over HTTP: what they were given, and the laws that hold of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from streamiter.lease import Lease, Worker
from streamiter.store import Table, open_store
from streamiter.testing import RunningClock, Simulator
from tests.cli.conftest import environment
from tests.stream.helpers import soon

APP = "tests.app.fleet_app:app"
ROOT = Path(__file__).parent.parent.parent
PROCESSORS = {"batch": "by_batch", "record": "by_record", "key": "by_key"}


class Given(NamedTuple):
    """What a process noted: records that it was handed together ("begin"), or was done with ("end"); a lease "taken"."""

    kind: str
    lease: str
    fence: int
    keys: tuple[str, ...]
    numbers: tuple[int, ...]
    worker: str
    pid: int
    time: float
    late: float  # for how long the process had been held up by then, where it counts that (PULSE=1)


class Fleet:
    """Worker processes of one app, the stream they read, and what they noted."""

    def __init__(self, folder: Path, lineage: str, *, form: str = "batch", store: str = "", **settings: object) -> None:
        self.sim = Simulator(ids="service", clock=RunningClock())
        self.sim.shape(lineage)
        self.notes = folder / "notes"
        self.notes.mkdir()
        self.store = store or f"sqlite:///{folder / 'shop.db'}"
        told = {"NOTES": self.notes, "STORE": self.store, "FORM": form, **settings}
        kept = {"AWS_ENDPOINT_URL": self.sim.endpoint_url, "PYTHONPATH": str(ROOT)}
        self._environment = environment(**kept, **{name: str(value) for name, value in told.items()})
        self._log = folder / "log.txt"
        self._tables = [Table(kind, "shop", PROCESSORS[form]) for kind in ("leases", "workers")]
        self._count = 0
        self._enough = threading.Event()
        self._given: list[Given] = []
        self._read: Counter[Path] = Counter()  # how far each file was read
        self.rows = open_store(self.store)
        self.processes: list[subprocess.Popen[bytes]] = []

    # -- workers

    def start(self, *options: object, **settings: object) -> subprocess.Popen[bytes]:
        """One more worker, in a process group of its own."""
        command = [sys.executable, "-m", "streamiter", "worker", APP, *map(str, options)]
        told = self._environment | {name: str(value) for name, value in settings.items()}
        with open(self._log, "ab") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, env=told, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)
        return process

    def close(self) -> None:
        """Ends what still runs."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.rows.close()
        self.sim.close()

    @property
    def log(self) -> str:
        """What all workers logged."""
        return self._log.read_text("utf-8", "replace")

    # -- records

    def put(self, count: int) -> None:
        """Writes records, to each open shard in turn."""
        for _ in range(count):
            shards = self.sim.open_shards
            self.sim.put(shards[self._count % len(shards)], key=f"k{self._count}")
            self._count += 1

    @contextmanager
    def writing(self, pause: float = 0.005) -> Iterator[None]:
        """Somebody writes all the while."""
        self._enough.clear()

        def write() -> None:
            while not self._enough.wait(pause):
                self.put(1)

        self._writer = threading.Thread(target=write)
        self._writer.start()
        try:
            yield
        finally:
            self.stop_writing()

    def stop_writing(self) -> None:
        """Nobody writes any more."""
        self._enough.set()
        self._writer.join()

    # -- what there is to see

    def given(self, kind: str = "begin") -> list[Given]:
        """All that was handed over, by the time of it; a line that is being written does not count yet."""
        for file in self.notes.glob("*.jsonl"):
            with open(file, "rb") as opened:
                opened.seek(self._read[file])
                lines, _, _ = opened.read().rpartition(b"\n")
            self._read[file] += len(lines) + 1 if lines else 0
            for line in lines.splitlines():
                told = json.loads(line)
                told["keys"], told["numbers"] = tuple(told["keys"]), tuple(map(int, told["numbers"]))
                self._given.append(Given(**told))
        return sorted((one for one in self._given if one.kind == kind), key=lambda one: one.time)

    def given_to(self, process: subprocess.Popen[bytes]) -> list[Given]:
        """What this process was handed."""
        return [one for one in self.given() if one.pid == process.pid]

    def has_more(self, process: subprocess.Popen[bytes], count: int) -> bool:
        """Whether this process was handed something more than so many times."""
        return len(self.given_to(process)) > count

    def leases(self) -> dict[str, Lease]:
        """The rows."""
        return {row.key: Lease.of(row) for row in self.rows.scan(self._tables[0])}

    def workers(self) -> dict[str, Worker]:
        """The workers' rows."""
        return {row.key: Worker.of(row) for row in self.rows.scan(self._tables[1])}

    def held_by(self, process: subprocess.Popen[bytes]) -> list[str]:
        """The leases that this process holds, as the rows say."""
        return [lease.key for lease in self.leases().values() if f"-{process.pid}-" in str(lease.owner)]

    def taken_since(self, fences: dict[str, int]) -> list[Given]:
        """The notes of leases that changed hands since they had these fences.

        By fences, not by times: a worker's row stands before the worker notes that it took the lease.
        """
        return [one for one in self.given("taken") if one.fence > fences.get(one.lease, one.fence)]

    def are_given_to(self, process: subprocess.Popen[bytes], leases: list[str]) -> bool:
        """Whether it was handed records of all these leases, under the fences that they have now."""
        given = {(one.lease, one.fence) for one in self.given_to(process)}
        return {(key, lease.fence) for key, lease in self.leases().items() if key in leases} <= given

    def wait_for_all(self, seconds: float = 90) -> None:
        """Until each record that was written was handed over, and counts as processed."""

        def is_all() -> bool:
            done = {key for one in self.given("end") for key in one.keys}
            return len(done) == self._count

        soon(is_all, seconds)

    def wait_for_balance(self, workers: int, leases: int) -> None:
        """Until so many workers have so many leases, each as many as the others, but for one."""

        def is_balanced() -> bool:
            held = Counter(lease.owner for lease in self.leases().values() if lease.owner)
            shares = sorted(held.values())
            return len(held) == workers and sum(shares) == leases and shares[-1] - shares[0] <= 1

        soon(is_balanced, 90)

    # -- the laws

    def check(self, *, late: int = 0) -> None:
        """Laws 9, 11 and 12. `late`: so many times a process got records, and was stopped before it could note them."""
        given = self.given()
        written = Counter(record.key["id"] for record in self.sim.history)
        assert set(written) == {key for one in given for key in one.keys}, "each record is handed over"
        self._check_order(given)
        assert len(self.late(given)) <= late, f"handed over by a former owner: {self.late(given)}"

    @staticmethod
    def late(given: list[Given]) -> list[Given]:
        """What was handed over after another worker had been handed records of a later fence."""
        highest: dict[str, int] = defaultdict(int)
        found = []
        for one in given:
            if one.fence < highest[one.lease]:
                found.append(one)
            highest[one.lease] = max(one.fence, highest[one.lease])
        return found

    def _check_order(self, given: list[Given]) -> None:
        """Within a fence in order, each record once; after a change of hands no record is left out."""
        places = {record.number: place for place, record in enumerate(self.sim.history)}
        shards: dict[str, list[int]] = defaultdict(list)
        for record in sorted(self.sim.history, key=lambda record: record.number):
            shards[record.shard_id].append(record.number)
        by_fence: dict[tuple[str, int], list[Given]] = defaultdict(list)
        for one in given:
            by_fence[one.lease, one.fence].append(one)
        for (lease, fence), runs in by_fence.items():
            numbers = [number for one in runs for number in one.numbers]
            assert len({one.pid for one in runs}) == 1, f"fence {fence} of {lease} had two owners"
            assert len(set(numbers)) == len(numbers), f"twice under fence {fence} of {lease}"
            if self._tables[0].stream != "by_key":
                first = shards[lease].index(numbers[0])
                assert numbers == shards[lease][first : first + len(numbers)], f"fence {fence} of {lease}: out of order"
        assert all(number in places for one in given for number in one.numbers)

    def twice(self) -> list[str]:
        """The keys of records that were handed over more than once."""
        return [key for key, count in Counter(key for one in self.given() for key in one.keys).items() if count > 1]

    def check_parents_first(self) -> None:
        """No child's record is handed over before its parent's last one is done (law 10)."""
        first: dict[str, float] = {}
        for one in self.given():
            first.setdefault(one.lease, one.time)
        last = {one.lease: one.time for one in self.given("end")}
        for lease in self.leases().values():
            for parent in lease.parents:
                if lease.key in first and parent in last:
                    assert last[parent] <= first[lease.key], f"{lease.key} began before {parent} was done"


@contextmanager
def fleet(folder: Path, lineage: str, **settings: object) -> Iterator[Fleet]:
    """A fleet without workers yet; what it logged is printed where a test fails."""
    made = Fleet(folder, lineage, **settings)  # type: ignore[arg-type]
    try:
        yield made
    except BaseException:
        print(made.log[-20_000:])
        raise
    finally:
        made.close()


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM, seconds: float = 60) -> int:
    """Signals a process, and waits for its end; gives the exit code."""
    process.send_signal(number)
    return process.wait(seconds)
