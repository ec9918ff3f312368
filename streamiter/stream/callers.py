"""Callers: daemon threads that make calls and nothing else; what they bring back waits for the caller's own thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from streamiter.clock import Effort
from streamiter.stream.width import Width


class Answer(NamedTuple):
    """What a call brought: its result, or what it raised."""

    job: Any
    result: Any
    error: BaseException | None
    busy_us: int = 0  # of the processor's time


_WAKE = object()


class Callers:
    """Up to `most` threads, started when there is work for them."""

    def __init__(self, most: int, effort: Effort | None = None) -> None:
        self._most = most
        self._width = Width(most)
        self._effort = effort or Effort()
        self._reader = threading.get_ident(), self._effort.busy_us()
        self._threads: list[threading.Thread] = []
        self._jobs: queue.SimpleQueue[tuple[Any, Callable[[], Any]] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._lock = threading.Lock()  # close() may come from another thread
        self._is_closed = False
        self.under_way = 0

    @property
    def room(self) -> int:
        """How many more calls are worth making at once."""
        return self._width.now - self.under_way

    @property
    def has_answers(self) -> bool:
        """Whether any answer waits."""
        return not self._answers.empty()

    def submit(self, job: Any, call: Callable[[], Any]) -> None:
        """Makes the call on a thread of its own; `job` comes back with the answer."""
        with self._lock:
            if self._is_closed:
                return
            self.under_way += 1
            if len(self._threads) < self._most and len(self._threads) < self.under_way:
                thread = threading.Thread(
                    target=_work, args=(self._jobs, self._answers, self._effort), name="streamiter", daemon=True
                )
                thread.start()
                self._threads.append(thread)
            self._jobs.put((job, call))

    def answers(self, wait_seconds: float = 0.0) -> list[Answer]:
        """The answers that are here; waits for the first of them if told to."""
        found: list[Answer] = []
        try:
            if wait_seconds > 0:
                found.append(self._answers.get(timeout=wait_seconds))
            while True:
                found.append(self._answers.get_nowait())
        except queue.Empty:
            pass
        found = [answer for answer in found if answer.job is not _WAKE]
        self.under_way -= len(found)
        self._weigh(found)
        return found

    def _weigh(self, answers: list[Answer]) -> None:
        """Notes how busy calls and reader were."""
        before, before_us = self._reader
        self._reader = threading.get_ident(), self._effort.busy_us()
        # Another thread may read than before, and one that is new may have the number of one that is gone.
        own_us = max(0, self._reader[1] - before_us) if self._reader[0] == before else 0
        self._width.note(own_us + sum(answer.busy_us for answer in answers), self._effort.passed_us())

    def close(self, wait_seconds: float = 0.5) -> None:
        """Ends the threads. One that still waits for an answer is left behind: it is a daemon, and ends with its call."""
        with self._lock:
            self._is_closed = True
            threads, self._threads = self._threads, []
        for _ in threads:
            self._jobs.put(None)
        self._answers.put(Answer(_WAKE, None, None))  # whoever waits for an answer waits no longer
        for thread in threads:
            thread.join(wait_seconds)
            if thread.is_alive():
                wait_seconds = 0.0


def _work(
    jobs: queue.SimpleQueue[tuple[Any, Callable[[], Any]] | None],
    answers: queue.SimpleQueue[Answer],
    effort: Effort,
) -> None:
    while (work := jobs.get()) is not None:
        job, call = work
        result = None
        before_us = effort.busy_us()
        try:
            result = call()
            answers.put(Answer(job, result, None, effort.busy_us() - before_us))
        except BaseException as error:  # whatever it is, the caller's thread is to see it
            answers.put(Answer(job, None, error, effort.busy_us() - before_us))
        del job, call, work, result
