"""Intake: what a shard takes in a second: records, and bytes."""

from __future__ import annotations

from collections import deque

from streamiter.clock import SECOND_US


class Intake:
    """Of one shard: what it took within the last second."""

    def __init__(self) -> None:
        self._taken: deque[tuple[int, int]] = deque()  # moments and bytes
        self._bytes = 0

    def takes(self, size: int, records_rate: float | None, bytes_rate: float | None, now_us: int) -> bool:
        """Whether one more record goes in; counts it."""
        if records_rate is None and bytes_rate is None:
            return True
        while self._taken and not now_us - SECOND_US < self._taken[0][0] <= now_us:
            self._bytes -= self._taken.popleft()[1]
        if records_rate is not None and len(self._taken) >= records_rate:
            return False
        if bytes_rate is not None and self._taken and self._bytes + size > bytes_rate:
            return False
        self._taken.append((now_us, size))
        self._bytes += size
        return True
