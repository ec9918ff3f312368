"""The agenda: what happens when, in true time; the only clock of a simulated world."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

SECOND = 1_000_000


class Agenda:
    """Events in the order of their moments; those of one moment in the order in which they were added."""

    def __init__(self) -> None:
        self.now = 0
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, moment: int, call: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._heap, (max(moment, self.now), self._count, call))

    def after(self, pause: int, call: Callable[[], None]) -> None:
        self.at(self.now + pause, call)

    def run_until(self, end: int) -> None:
        heap = self._heap
        while heap and heap[0][0] <= end:
            self.now, _, call = heappop(heap)
            call()
        self.now = end
