"""Gathering: what several threads append at once is written together, so that they wait for the disk together."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from streamiter.errors import TransientError
from streamiter.log.base import Entry

MOST = 10_000  # entries that are written together, but for those of one append


@dataclass(eq=False)
class Job:
    """One append, and what came of it."""

    partition: int
    entries: Sequence[Entry]
    numbers: list[int] = field(default_factory=list)
    error: Exception | None = None
    is_done: bool = False


class Gathering:
    """Whichever thread's turn it is writes all that wait; the others find theirs done when their turn comes."""

    def __init__(self, write: Callable[[list[Job]], None]) -> None:
        self._write = write  # fills in numbers, or an error, of each job; raises where none was written
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._waiting: deque[Job] = deque()

    def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        """Returns when these are written."""
        if os.getpid() != self._process:  # forked off: the parent's threads are not here, and may have had the turn
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
            # Ctrl-C met the thread that writes for all: the others cannot know whether it was in time.
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
