"""Rates: how many calls a second the service allows."""

from __future__ import annotations

from collections import deque

from streamiter.clock import SECOND_US


class Rates:
    """Counts the calls of the last second against each limit. While the service's clock stands still, it allows no more."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], deque[int]] = {}

    def allows(self, operation: str, target: str, per_second: float | None, now_us: int) -> bool:
        """Whether one more call is within the rate; if so, it counts."""
        if per_second is None:
            return True
        calls = self._calls.setdefault((operation, target), deque())
        while calls and not calls[0] <= now_us < calls[0] + SECOND_US:
            calls.popleft()
        if len(calls) >= per_second:
            return False
        calls.append(now_us)
        return True
