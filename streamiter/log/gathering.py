"""Gathering: writes what several threads append at the same time together, so that they share one wait for the disk."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from streamiter.errors import TransientError
from streamiter.log.base import Entry

MOST = 10_000  # how many entries are written together; a single append may have more


@dataclass(eq=False)
class Job:
    """One append, and its result."""

    partition: int
    entries: Sequence[Entry]
    numbers: list[int] = field(default_factory=list)
    error: Exception | None = None
    is_done: bool = False


class Gathering:
    """The thread whose turn it is writes for all that wait. When the others get their turn, their appends are done."""

    def __init__(self, write: Callable[[list[Job]], None]) -> None:
        self._write = write  # sets the numbers or the error of each job; raises if none was written
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._waiting: deque[Job] = deque()

    def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        """Returns when these are written."""
        if os.getpid() != self._process:  # we were forked: the parent's threads are not here, but one may have the turn
            self._process, self._turn, self._waiting = os.getpid(), threading.Lock(), deque()
        job = Job(partition, entries)
        self._waiting.append(job)
        with self._turn:
            while not job.is_done:
                self._write_some()
        if job.error is not None:
            raise job.error
        return job.numbers

    def _write_some(self) -> None:
        jobs: list[Job] = []
        try:
            self._take(jobs)
            self._write(jobs)
        except Exception as error:
            for job in jobs:
                job.error = error
        except BaseException:
            # Ctrl-C hit the thread that wrote for the others, so they cannot know whether their entries were written.
            for job in jobs:
                job.error = TransientError("the thread that wrote for others was interrupted; it may have been done")
                job.is_done = True
            raise
        for job in jobs:
            job.is_done = True

    def _take(self, jobs: list[Job]) -> None:
        left = MOST
        while self._waiting and (not jobs or len(self._waiting[0].entries) <= left):
            jobs.append(self._waiting.popleft())
            left -= len(jobs[-1].entries)
