"""The writer: entries wait in one lane for each partition; those that wait together are appended together, in order.

A lane has one append under way at a time, so that entries keep the order in which they came. Other lanes' appends are made
side by side. A throttled append waits. One that may have been written raises an error, or, if the caller chose so, comes again.
"""

from __future__ import annotations

import logging
import random
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from streamiter.clock import Clock
from streamiter.errors import StreamiterError, Throttled, TransientError
from streamiter.log import Entry, Log
from streamiter.stream.options import check_choice, check_count, check_seconds
from streamiter.topic.crew import Hands

logger = logging.getLogger("streamiter.topic")

MOST_ENTRIES = 1000  # how many entries go into one append
MOST_BYTES = 1 << 20  # how many bytes go into one append; a larger entry is appended alone
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 1.0  # seconds before an append is made again
TOLD_EVERY = 30.0  # seconds between two log messages about an append that waits

ENTRY_BYTES = 100  # about what an entry takes beyond its payload and key


def size_of(entry: Entry) -> int:
    """About how many bytes an entry takes."""
    return ENTRY_BYTES + len(entry.payload or b"") + len(entry.key or b"")


@dataclass(frozen=True, slots=True)
class Limits:
    """How long senders wait, how many entries may be on their way, and what happens when an answer is lost."""

    patience: float | None  # seconds; None: as long as it takes
    repeats: bool  # whether an append whose answer was lost is made again
    in_flight: int

    @classmethod
    def checked(cls, patience: float | None, on_doubt: str, in_flight: int) -> Limits:
        """The options, checked; InvalidOption names the one that is wrong."""
        check_seconds("patience", patience, may_be_none=True)
        check_choice("on_doubt", on_doubt, ("raise", "repeat"))
        check_count("in_flight", in_flight)
        return cls(patience, on_doubt == "repeat", in_flight)


class Sender(ABC):
    """A sender: after an error, none of its later entries is written. Any thread may call `settled`."""

    has_failed = False

    @abstractmethod
    def settled(self, job: Job) -> None:
        """A job is over. It holds its numbers, or its error, or, if it was not begun, neither."""

    @property
    @abstractmethod
    def waits_since(self) -> float:
        """Since when nothing of it was written, by the topic's clock."""


class Job:
    """Entries of one sender for one partition, and their result."""

    __slots__ = ("entries", "error", "indices", "is_doubtful", "numbers", "partition", "sender", "size")

    def __init__(self, sender: Sender, partition: int) -> None:
        self.sender = sender
        self.partition = partition
        self.entries: list[Entry] = []
        self.indices: list[int] = []  # which of the sender's values they are
        self.size = 0
        self.numbers: Sequence[int] | None = None
        self.error: BaseException | None = None
        self.is_doubtful = False  # whether they may have been written in spite of the error

    def fail(self, error: BaseException, *, is_doubtful: bool = False) -> None:
        """The job failed."""
        self.error, self.is_doubtful = error, is_doubtful
        self.sender.has_failed = True

    def add(self, index: int, entry: Entry, size: int) -> None:
        """Adds an entry."""
        self.entries.append(entry)
        self.indices.append(index)
        self.size += size


class _Lane:
    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()
        self.is_busy = False


class Logs(Protocol):
    """Gives the log."""

    def use(self) -> AbstractContextManager[Log]:
        """The log; it stays open until the block ends."""


class Writer:
    """Appends for all senders of a topic."""

    def __init__(self, logs: Logs, clock: Clock, hands: Hands, limits: Limits) -> None:
        self._logs = logs
        self._clock = clock
        self._hands = hands
        self._limits = limits
        self._lanes: dict[int, _Lane] = {}
        self._lock = threading.Lock()

    def submit(self, sender: Sender, partition: int, index: int, entry: Entry, size: int) -> None:
        """Takes an entry; its sender is told when it is written, or failed."""
        with self._lock:
            lane = self._lanes.get(partition)
            if lane is None:
                lane = self._lanes[partition] = _Lane()
            last = lane.jobs[-1] if lane.jobs else None
            if last is None or last.sender is not sender or not _has_room(last, size):
                last = Job(sender, partition)
                lane.jobs.append(last)
            last.add(index, entry, size)
            if lane.is_busy:
                return
            lane.is_busy = True
        self._hands.do(partial(self._turn, partition, lane))

    # -- inside, on the crew's threads

    def _turn(self, partition: int, lane: _Lane) -> None:
        """Makes one append; then the other lanes have their turn."""
        jobs = self._take(lane)
        dropped = [job for job in jobs if job.sender.has_failed]
        if wanted := [job for job in jobs if not job.sender.has_failed]:
            self._write(partition, wanted)
        for job in dropped:
            job.sender.settled(job)
        with self._lock:
            lane.is_busy = bool(lane.jobs)
            if not lane.is_busy:
                return
        self._hands.do(partial(self._turn, partition, lane))

    def _take(self, lane: _Lane) -> list[Job]:
        with self._lock:
            taken = [lane.jobs.popleft()]
            entries, size = len(taken[0].entries), taken[0].size
            while lane.jobs:
                entries += len(lane.jobs[0].entries)
                size += lane.jobs[0].size
                if entries > MOST_ENTRIES or size > MOST_BYTES:
                    break
                taken.append(lane.jobs.popleft())
            return taken

    def _write(self, partition: int, jobs: list[Job]) -> None:
        """Appends, and tries again, until it succeeds, is refused, or the patience is over."""
        began = told = self._clock.monotonic()
        pause, is_doubtful = FIRST_PAUSE, False
        while jobs:
            try:
                with self._logs.use() as log:
                    numbers = log.append(partition, [entry for job in jobs for entry in job.entries])
            except TransientError as error:
                is_doubtful |= not isinstance(error, Throttled)
                if is_doubtful and not self._limits.repeats:
                    _fail(jobs, error, is_doubtful=True)
                    return
                jobs = self._still_patient(jobs, error, is_doubtful=is_doubtful)
                if jobs and self._clock.monotonic() - told >= TOLD_EVERY:
                    told = self._clock.monotonic()
                    logger.warning("partition %d takes nothing since %.0f s: %s", partition, told - began, error)
            except Exception as error:
                self._refused(partition, jobs, error, is_doubtful=is_doubtful)
                return
            else:
                _settle(jobs, numbers)
                return
            self._clock.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, LONGEST_PAUSE)

    def _still_patient(self, jobs: list[Job], error: Exception, *, is_doubtful: bool) -> list[Job]:
        now = self._clock.monotonic()
        patience = self._limits.patience
        given_up = [
            job
            for job in jobs
            if job.sender.has_failed or (patience is not None and now - job.sender.waits_since >= patience)
        ]
        _fail(given_up, error, is_doubtful=is_doubtful)
        # Later jobs of the same sender fail with it.
        left = [job for job in jobs if job not in given_up]
        behind = [job for job in left if job.sender.has_failed]
        _fail(behind, error, is_doubtful=is_doubtful)
        return [job for job in left if job not in behind]

    def _refused(self, partition: int, jobs: list[Job], error: Exception, *, is_doubtful: bool) -> None:
        """The log refused it. If it held the entries of several senders, each sender's are tried alone."""
        is_doubtful |= not isinstance(error, StreamiterError)
        if len(jobs) == 1 or is_doubtful:
            _fail(jobs, error, is_doubtful=is_doubtful)
            return
        for job in jobs:
            if job.sender.has_failed:
                job.sender.settled(job)
            else:
                self._write(partition, [job])


def _has_room(job: Job, size: int) -> bool:
    return len(job.entries) < MOST_ENTRIES and job.size + size <= MOST_BYTES


def _settle(jobs: list[Job], numbers: Sequence[int]) -> None:
    place = 0
    for job in jobs:
        job.numbers = numbers[place : place + len(job.entries)]
        place += len(job.entries)
        job.sender.settled(job)


def _fail(jobs: list[Job], error: Exception, *, is_doubtful: bool) -> None:
    for job in jobs:
        job.fail(error, is_doubtful=is_doubtful)
    for job in jobs:
        job.sender.settled(job)
