"""Times: the true time of a virtual world: events in the order of their moments, and processes that are let on in theirs."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

MOST_ROUNDS = 100_000  # at one moment


class Process(Protocol):
    """What has moments of its own."""

    name: str

    @property
    def next_us(self) -> int | None:
        """When it is to be let on, in true time; None: it waits for others."""

    def step(self) -> None:
        """It does one round."""


class Times:
    """The only time that there is. Of what falls due at one moment, events go first, then processes in turn."""

    def __init__(self) -> None:
        self.now_us = 0
        self.on_move: list[Callable[[int], None]] = []  # told how far time has moved
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._processes: list[Process] = []
        self._rounds = 0

    def at(self, moment_us: int, event: Callable[[], None]) -> None:
        """What happens then; not in the past."""
        self._count += 1
        heappush(self._events, (max(moment_us, self.now_us), self._count, event))

    def after(self, pause_us: int, event: Callable[[], None]) -> None:
        """What happens so much later."""
        self.at(self.now_us + pause_us, event)

    def add(self, process: Process) -> None:
        """A process that is there from now on."""
        self._processes.append(process)

    def remove(self, process: Process) -> None:
        """One that is let on no more."""
        if process in self._processes:
            self._processes.remove(process)

    def run_until(self, end_us: int, is_over: Callable[[], bool] | None = None) -> bool:
        """Lets all happen up to this moment, or until `is_over` says so after an event or a round; tells whether it did."""
        while not (is_over is not None and is_over()):
            process, moment_us = self._next()
            if self._events and (moment_us is None or self._events[0][0] <= moment_us):
                moment_us, process = self._events[0][0], None
            if moment_us is None or moment_us > end_us:
                self._move(end_us)
                return False
            self._move(moment_us)
            if process is None:
                heappop(self._events)[2]()
            else:
                self._let_on(process)
        return True

    def _next(self) -> tuple[Process | None, int | None]:
        found: Process | None = None
        least_us: int | None = None
        for process in self._processes:
            moment_us = process.next_us
            if moment_us is not None and (least_us is None or moment_us < least_us):
                found, least_us = process, moment_us
        return found, least_us

    def _let_on(self, process: Process) -> None:
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            raise AssertionError(
                f"{process.name} does not let time pass: after {MOST_ROUNDS} rounds it is still {self.now_us / 1e6:.6f} s; "
                "a loop that awaits nothing but asyncio.sleep(0) never ends in virtual time"
            )
        self._processes.remove(process)  # the others come first next time
        self._processes.append(process)
        process.step()

    def _move(self, moment_us: int) -> None:
        if moment_us > self.now_us:
            moved_us, self.now_us, self._rounds = moment_us - self.now_us, moment_us, 0
            for told in self.on_move:
                told(moved_us)
