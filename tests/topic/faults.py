"""A log in memory that refuses, loses answers, or holds an append until a test lets it go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from streamiter.log import Entry, MemoryLog


class FaultyLog(MemoryLog):
    """`faults` are asked before each append: they return, raise, or return a function that is called behind it."""

    def __init__(self, partitions: int = 4, **options: object) -> None:
        super().__init__("orders", partitions=partitions, **options)  # type: ignore[arg-type]
        self.fault: Callable[[int, Sequence[Entry]], Exception | None] = lambda partition, entries: None
        self.loses_answers = False  # a fault is raised after the entries were written
        self.appends: list[tuple[int, int]] = []

    def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        error = self.fault(partition, entries)
        if error is not None and not self.loses_answers:
            raise error
        self.appends.append((partition, len(entries)))
        numbers = super().append(partition, entries)
        if error is not None:
            raise error
        return numbers

    def payloads(self, partition: int) -> list[bytes]:
        """All that a partition holds."""
        return [record.payload for record in self.read(partition, self.start(partition), 1 << 30).records]

    def all_payloads(self) -> list[bytes]:
        """All that it holds."""
        return [payload for partition in range(self.partitions()) for payload in self.payloads(partition)]


class Gate:
    """Appends wait at it until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Semaphore(0)
        self.opened = threading.Event()

    def __call__(self, partition: int, entries: Sequence[Entry]) -> None:
        self.reached.release()
        assert self.opened.wait(60)
