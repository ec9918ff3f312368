"""The crew: daemon threads that append to a topic's partitions side by side; they end when there is nothing to do."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import Protocol

IDLE_SECONDS = 1.0

Work = Callable[[], None]


class Hands(Protocol):
    """Runs work: on threads, or, in virtual time, on the caller's thread."""

    def do(self, work: Work) -> None:
        """Runs the work soon, or at once. The work raises nothing."""


class Inline:
    """Runs the work at once, on the caller's thread."""

    def do(self, work: Work) -> None:
        """Runs it now."""
        work()


class Crew:
    """Up to `most` daemon threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begin()

    def do(self, work: Work) -> None:
        """Runs the work on an idle thread, or on a new one."""
        if self._process != os.getpid():
            self._begin()  # the threads are the parent's
        with self._lock:
            self._waiting += 1
            is_short = self._waiting > self._idle and self._threads < self._most
            self._threads += is_short
            number = self._threads
        self._works.put(work)
        if is_short:
            threading.Thread(target=self._work, name=f"streamiter-send-{number}", daemon=True).start()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._works: queue.SimpleQueue[Work] = queue.SimpleQueue()
        self._threads = self._idle = self._waiting = 0

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            try:
                work = self._works.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    self._idle -= 1
                    if not self._waiting:
                        self._threads -= 1
                        return
                continue
            with self._lock:
                self._idle -= 1
                self._waiting -= 1
            work()
            del work
