"""Ahead: how many bytes wait in memory that were sent before they were asked for; all senders of one reader share them."""

from __future__ import annotations

import threading
from collections.abc import Callable

LOOKS_SECONDS = 0.25  # how often a thread looks whether it is still needed, while there is no room


class Ahead:
    """Counts the bytes that wait, and holds up those who would bring more."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._waiting = 0
        self._changed = threading.Condition()

    @property
    def waiting_bytes(self) -> int:
        """How many wait now."""
        return self._waiting

    def add(self, size: int) -> None:
        """So many came."""
        with self._changed:
            self._waiting += size

    def remove(self, size: int) -> None:
        """So many were taken, or dropped."""
        with self._changed:
            self._waiting -= size
            self._changed.notify_all()

    def look_again(self) -> None:
        """What somebody waits for here may have become true."""
        with self._changed:
            self._changed.notify_all()

    def hold_up(self, is_wanted: Callable[[], bool]) -> None:
        """Returns when there is room for more; or when more is wanted, whether there is room or not."""
        with self._changed:
            while self._waiting >= self._most_bytes and not is_wanted():
                self._changed.wait(LOOKS_SECONDS)
