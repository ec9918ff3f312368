"""Timers: which moments this worker waits for; pure, for time comes in."""

from __future__ import annotations

from enum import IntEnum, auto
from heapq import heappop, heappush


class Timer(IntEnum):
    """What is to be done when a moment comes."""

    LOOK = auto()  # at all leases and workers
    RENEW = auto()  # all leases that are held
    BEAT = auto()  # write the worker's own row
    LIST = auto()  # the stream's shards
    STOOD_STILL = auto()  # another worker's lease may be taken
    RETRY = auto()  # a write whose outcome is not known; by lease
    FETCH = auto()  # a page that could not be had; by lease
    AGAIN = auto()  # deliver what failed; by lease
    CHECKPOINT = auto()  # write a checkpoint that moved; by lease
    GRACE = auto()  # records that are being processed had time enough; by lease


class Timers:
    """One moment for each name; setting it anew forgets the old one."""

    def __init__(self) -> None:
        self._due: dict[tuple[Timer, str], int] = {}
        self._heap: list[tuple[int, int, tuple[Timer, str]]] = []

    def set(self, timer: Timer, due_us: int, key: str = "") -> None:
        """Waits for this moment; where an earlier one is waited for by the same name, that is forgotten."""
        name = (timer, key)
        if self._due.get(name) != due_us:
            self._due[name] = due_us
            heappush(self._heap, (due_us, timer, name))

    def hasten(self, timer: Timer, due_us: int, key: str = "") -> None:
        """Waits for this moment, or for the earlier one that is waited for by the same name."""
        self.set(timer, min(due_us, self._due.get((timer, key), due_us)), key)

    def cancel(self, timer: Timer, key: str = "") -> None:
        """Waits no more."""
        self._due.pop((timer, key), None)

    def clear(self) -> None:
        """Waits for nothing any more."""
        self._due.clear()

    @property
    def next_us(self) -> int | None:
        """The first moment that is waited for."""
        self._clear()
        return self._heap[0][0] if self._heap else None

    def pop(self, now_us: int) -> tuple[Timer, str] | None:
        """One that is due by now; None where none is."""
        self._clear()
        if not self._heap or self._heap[0][0] > now_us:
            return None
        name = heappop(self._heap)[2]
        del self._due[name]
        return name

    def _clear(self) -> None:
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)
