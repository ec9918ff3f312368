"""Threads: daemon threads that make calls and nothing else; their answers wait for the thread that reads.

Calls side by side hide each other's waiting. But Python runs one thread at a time: once the processor is busy all the time,
each further call only takes turns with the others, and taking turns costs as much as a third of the work. So the threads make
only as many calls at once as help.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from streamiter.clock import Effort

LEAST = 2  # one call is read out while another waits for the network
WINDOW_US = 50_000  # the window over which processor load is averaged
BUSY = 0.97  # part of the time; above it, more calls side by side bring nothing
IDLE = 0.88  # below it, the processor waits, and more calls would use that time


class Answer(NamedTuple):
    """The outcome of a call: its result, or the error that it raised."""

    job: Any
    result: Any
    error: BaseException | None
    busy_us: int = 0  # of the processor's time
    is_aside: bool = False  # of a call that only waits for something to happen


_WAKE = object()


class Calls(Protocol):
    """Makes calls side by side, and keeps what they bring for the thread that reads."""

    under_way: int

    @property
    def room(self) -> int:
        """How many more calls are worth making at once."""

    @property
    def has_answers(self) -> bool:
        """Whether any answer waits."""

    def submit(self, job: Any, call: Callable[[], Any]) -> None:
        """Makes the call; `job` comes back with the answer."""

    def aside(self, job: Any, call: Callable[[], Any]) -> bool:
        """Makes a call that only waits, and takes no other's room; gives whether it is made."""

    def wait(self, seconds: float) -> None:
        """Waits until an answer is here, at most so long."""

    def answers(self, wait_seconds: float = 0.0) -> list[Answer]:
        """The answers that are here; waits for the first of them if told to."""

    def close(self, wait_seconds: float = 0.5) -> None:
        """No call is made any more."""


class Threads:
    """Up to `most` threads, started when there is work for them. `bell` is called, on any thread, when an answer is here."""

    def __init__(self, most: int, effort: Effort | None = None, bell: Callable[[], None] | None = None) -> None:
        self._most = most
        self._bell = bell or _silent
        self._width = Width(most)
        self._effort = effort or Effort()
        self._reader = threading.get_ident(), self._effort.busy_us()
        self._threads: list[threading.Thread] = []
        self._jobs: queue.SimpleQueue[tuple[Any, Callable[[], Any]] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._here: list[Answer] = []  # those that a `wait` took from the queue
        self._is_closed = (
            False  # close() may come from another thread, at any moment; without a lock, which Ctrl-C may leave
        )
        self.under_way = 0

    @property
    def room(self) -> int:
        """How many more calls are worth making at once."""
        return self._width.now - self.under_way

    @property
    def has_answers(self) -> bool:
        """Whether any answer waits."""
        return bool(self._here) or not self._answers.empty()

    def submit(self, job: Any, call: Callable[[], Any]) -> None:
        """Makes the call on a thread of its own; `job` comes back with the answer."""
        if self._is_closed:
            return
        self.under_way += 1
        if len(self._threads) < self._most and len(self._threads) < self.under_way:
            thread = threading.Thread(
                target=_work,
                args=(self._jobs, self._answers, self._effort, self._bell),
                name="streamiter",
                daemon=True,
            )
            self._threads.append(thread)
            thread.start()
            if self._is_closed:
                self._jobs.put(None)  # for the thread just started: close() may not have seen it
                return
        self._jobs.put((job, call))

    def aside(self, job: Any, call: Callable[[], Any]) -> bool:
        """Makes a call that only waits, on a thread for it alone, which `close` does not wait for."""
        if self._is_closed:
            return False
        jobs: queue.SimpleQueue[tuple[Any, Callable[[], Any]] | None] = queue.SimpleQueue()
        jobs.put((job, call))
        jobs.put(None)
        arguments = (jobs, self._answers, self._effort, self._bell, True)
        threading.Thread(target=_work, args=arguments, name="streamiter-watch", daemon=True).start()
        return True

    def wait(self, seconds: float) -> None:
        """Waits until an answer is here, at most so long. Where Ctrl-C comes meanwhile, it may be lost."""
        if not self._here:
            with suppress(queue.Empty):
                self._here.append(self._answers.get(timeout=seconds))

    def answers(self, wait_seconds: float = 0.0) -> list[Answer]:
        """The answers that are here; waits for the first of them if told to."""
        if wait_seconds > 0:
            self.wait(wait_seconds)
        found, self._here = self._here, []
        with suppress(queue.Empty):
            while True:
                found.append(self._answers.get_nowait())
        found = [answer for answer in found if answer.job is not _WAKE]
        self.under_way -= sum(not answer.is_aside for answer in found)
        self._weigh(found)
        return found

    def _weigh(self, answers: list[Answer]) -> None:
        """Notes how busy the calls and the reader were."""
        before, before_us = self._reader
        self._reader = threading.get_ident(), self._effort.busy_us()
        # Another thread may be the reader now, and a new thread may have the number of one that ended.
        own_us = max(0, self._reader[1] - before_us) if self._reader[0] == before else 0
        self._width.note(own_us + sum(answer.busy_us for answer in answers), self._effort.passed_us())

    def close(self, wait_seconds: float = 0.5) -> None:
        """Ends the threads. A thread that still waits for an answer is a daemon, and ends with its call."""
        self._is_closed = True
        threads = [thread for thread in self._threads if thread.ident is not None]  # None: it is just about to start
        for _ in threads:
            self._jobs.put(None)
        self._answers.put(Answer(_WAKE, None, None))  # wakes a reader that waits for an answer
        self._bell()
        for thread in threads:
            thread.join(wait_seconds)
            if thread.is_alive():
                wait_seconds = 0.0


class Width:
    """How many calls side by side help: never more than `most`; pure."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._least = min(most, LEAST)
        self.now = most
        self._busy_us = 0
        self._since_us: int | None = None

    def note(self, busy_us: int, now_us: int) -> None:
        """Notes how much processor time the reader and the calls that ended have used since the last time."""
        if self._since_us is None:
            self._since_us = now_us
            return
        self._busy_us += busy_us
        passed_us = now_us - self._since_us
        if passed_us < WINDOW_US:
            return
        share = self._busy_us / passed_us
        if share > BUSY:
            self.now = max(self._least, self.now * 2 // 3)
        elif share < IDLE:
            self.now = min(self._most, self.now * 3 // 2 + 1)
        self._since_us, self._busy_us = now_us, 0


def _work(
    jobs: queue.SimpleQueue[tuple[Any, Callable[[], Any]] | None],
    answers: queue.SimpleQueue[Answer],
    effort: Effort,
    bell: Callable[[], None],
    is_aside: bool = False,
) -> None:
    while (work := jobs.get()) is not None:
        job, call = work
        result = None
        before_us = effort.busy_us()
        try:
            result = call()
            answers.put(Answer(job, result, None, effort.busy_us() - before_us, is_aside))
        except BaseException as error:  # of any kind: the caller's thread is to see it
            answers.put(Answer(job, None, error, effort.busy_us() - before_us, is_aside))
        bell()
        del job, call, work, result


def _silent() -> None:
    pass
