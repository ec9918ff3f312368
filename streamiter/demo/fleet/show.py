"""The fleet's show: three workers share a topic's partitions; one is killed, and the others go on where it stood."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from streamiter.demo.fleet import WORK
from streamiter.demo.fleet.count import Bill, Count
from streamiter.demo.fleet.work import APP, FAILOVER, PARTITIONS, PROCESSOR, Folder, Order
from streamiter.demo.reader import signals_held
from streamiter.demo.screen import MARGIN, Line, Screen
from streamiter.demo.words import command
from streamiter.lease import Lease
from streamiter.store import Table, open_store
from streamiter.terminal import Span

WORKERS = ("A", "B", "C")
KILLED = "B"
BEFORE, AFTER = 240, 240  # orders that are sent before the kill, and while it is dead
BURST = 20
TICK = 0.25
MOST_SECONDS = 120.0


class FleetShow:
    """One run. `play` gives whether each order was billed once, and each customer's in order."""

    def __init__(self, screen: Screen, seed: int, folder: Path) -> None:
        self._screen = screen
        self._chance = random.Random(seed)
        self._files = Folder(folder)
        self._folder = folder
        self._topic = self._files.topic()
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self._sent = 0
        self._began = time.monotonic()
        self._shown = ""

    def play(self) -> bool:
        """All of it, on one screen of 80 by 24."""
        self._screen.begin()
        self._say_what_comes()
        with ExitStack() as stack, closing(self._topic):
            for name in WORKERS:
                self._start(name, stack)
            self._began = time.monotonic()
            self._until(
                lambda: {*self._owners().values()} == {*WORKERS}, "three workers have not shared the partitions"
            )
            self._send(BEFORE, until=lambda: KILLED in {worker for _, _, worker in self._bills()})
            self._kill()
            killed = time.monotonic()
            self._send(AFTER)
            self._until(lambda: KILLED not in self._owners().values(), "the killed worker's partitions were not taken")
            took = time.monotonic() - killed
            self._until(lambda: len({number for _, number, _ in self._bills()}) >= self._sent, "orders are missing")
            codes = self._stop()
            return self._show_end(took, codes)

    # -- scenes

    def _say_what_comes(self) -> None:
        self._screen.line([Span("A topic of orders in a SQLite file, and three workers that bill them", "bold")])
        self._say(Span("No server, no account. Each worker is a process; they share six partitions by"))
        self._say(Span("leases. A bill and the place behind its order are written in one transaction."))
        self._screen.line()
        self._say(
            Span(f"{'':9}partition  {'  '.join(str(number) for number in range(PARTITIONS))}   sent  billed", "dim")
        )

    def _kill(self) -> None:
        self._workers[KILLED].kill()
        self._workers[KILLED].wait()
        self._note([Span("✗ kill -9", "bad"), Span(" of worker "), Span(KILLED, shard=KILLED)])

    def _stop(self) -> list[int]:
        left = [worker for name, worker in self._workers.items() if name != KILLED]
        for worker in left:
            worker.send_signal(signal.SIGTERM)
        return [worker.wait(60) for worker in left]

    def _show_end(self, took: float, codes: list[int]) -> bool:
        bills = self._bills()
        count = Count.of(bills, self._sent)
        by_worker = {name: sum(worker == name for _, _, worker in bills) for name in WORKERS}
        self._screen.line()
        shares = [span for name in WORKERS for span in (Span(f"  {name}", shard=name), Span(f" {by_worker[name]}"))]
        self._say(Span("billed by"), *shares)
        self._say(
            Span(KILLED, shard=KILLED),
            Span(f"'s partitions were taken over after {took:.1f} s: it was waited for, failover={FAILOVER:g}"),
        )
        self._say(Span("A and C stopped by SIGTERM, with exit codes "), Span(", ".join(map(str, codes))))
        self._screen.line()
        self._screen.piece(count.line)
        self._screen.line()
        self._screen.line()
        self._screen.line([Span("What to try next", "bold")])
        for what, why in (
            ("docs/topics.md", "topics of your own"),
            (command("demo"), "one reader, and a table's changes"),
        ):
            self._say(Span(f"{what:41} ", "bold"), Span(why, "dim"))
        return count.is_good and not any(codes)

    # -- the fleet

    def _start(self, name: str, stack: ExitStack) -> None:
        words = [sys.executable, "-m", "streamiter.demo", WORK, str(self._folder), name]
        with signals_held():
            # In a session of its own: a Ctrl-C in the terminal is ours alone to deal with.
            worker = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
            stack.callback(_end, worker)
        self._workers[name] = worker

    def _send(self, count: int, until: Callable[[], bool] = lambda: True) -> None:
        """Sends so many orders, and more until something has happened."""
        sent = 0
        while sent < count or not until():
            first = self._sent + 1
            self._topic.sendmany(
                [Order(number, f"customer {self._chance.randrange(40)}") for number in range(first, first + BURST)]
            )
            self._sent += BURST
            sent += BURST
            self._watch()
            self._check(time.monotonic() - self._began < MOST_SECONDS, f"worker {KILLED} has billed nothing")

    def _until(self, is_over: Callable[[], bool], otherwise: str) -> None:
        ends = time.monotonic() + MOST_SECONDS
        while not is_over():
            self._check(time.monotonic() < ends, otherwise)
            self._watch()
        self._show_state()

    def _watch(self) -> None:
        self._show_state()
        for name, worker in self._workers.items():
            self._check(worker.poll() is None or name == KILLED, f"worker {name} ended by itself; it says why above")
        time.sleep(TICK)

    def _check(self, is_well: bool, otherwise: str) -> None:
        if not is_well:
            raise ChildProcessError(f"the demo's fleet: {otherwise}")

    def _owners(self) -> dict[int, str]:
        with open_store(self._files.store) as store:
            rows = store.scan(Table("leases", APP, PROCESSOR))
        leases = [Lease.of(row) for row in rows]
        return {int(lease.key): lease.owner for lease in leases if lease.owner is not None}

    def _bills(self) -> list[Bill]:
        with closing(self._files.connect()) as db:
            return [(customer, number, worker) for customer, number, worker in db.execute("SELECT * FROM bills")]

    # -- lines

    def _show_state(self) -> None:
        """A row where the partitions changed hands, or a second has passed."""
        owners = self._owners()
        seconds = time.monotonic() - self._began
        hands = "".join(owners.get(number, "·") for number in range(PARTITIONS))
        state = f"{hands} {int(seconds) // 2}"
        if state == self._shown:
            return
        self._shown = state
        row: Line = [Span(f"{seconds:5.1f} s{'':14}", "dim")]
        for owner in hands:
            is_dead = owner == KILLED and self._workers[KILLED].poll() is not None
            row += [Span("✗", "bad") if is_dead else Span(owner, shard=owner if owner != "·" else ""), MARGIN]
        self._say(*row, Span(f" {self._sent:4}  {len(self._bills()):6}"))

    def _note(self, spans: Line) -> None:
        self._say(Span(f"{time.monotonic() - self._began:5.1f} s  ", "dim"), *spans)

    def _say(self, *spans: Span) -> None:
        self._screen.line([MARGIN, *spans])


def _end(worker: subprocess.Popen[bytes]) -> None:
    with worker:  # closes its pipe, waits for its end
        worker.kill()
