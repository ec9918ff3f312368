"""Inline: calls made by the thread that reads, when it asks for their answers; for sources that never make it wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamiter.driving.threads import Answer


class Inline:
    """In place of threads, where the source is in memory: in virtual time, and wherever all is to happen in one order."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: list[tuple[Any, Callable[[], Any]]] = []
        self._is_closed = False
        self.under_way = 0

    @property
    def room(self) -> int:
        """How many more calls are worth making at once."""
        return self._most - self.under_way

    @property
    def has_answers(self) -> bool:
        """Whether any answer can be had: each submitted call gives one."""
        return bool(self._jobs)

    def submit(self, job: Any, call: Callable[[], Any]) -> None:
        """The call is made as soon as answers are asked for."""
        if not self._is_closed:
            self.under_way += 1
            self._jobs.append((job, call))

    def aside(self, job: Any, call: Callable[[], Any]) -> bool:
        """Nothing waits here."""
        return False

    def wait(self, seconds: float) -> None:
        """There is nothing to wait for."""

    def answers(self, wait_seconds: float = 0.0) -> list[Answer]:
        """Makes the calls."""
        jobs, self._jobs = self._jobs, []
        found = [_answer(job, call) for job, call in jobs]
        self.under_way -= len(found)
        return found

    def close(self, wait_seconds: float = 0.5) -> None:
        """No call is made any more."""
        self._is_closed = True
        self._jobs.clear()


def _answer(job: Any, call: Callable[[], Any]) -> Answer:
    try:
        return Answer(job, call(), None)
    except Exception as error:
        return Answer(job, None, error)
