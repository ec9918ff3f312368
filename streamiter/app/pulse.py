"""The pulse: how much, how fast and how far behind the work on one lease is, as its row shows it to people."""

from __future__ import annotations

from math import exp
from typing import Any

from streamiter.clock import SECOND_US
from streamiter.lease.lease import ACKED, BUSY, LAG, RATE, Lease

EVERY_US = SECOND_US  # how often it is taken
MEMORY_SECONDS = 10.0  # records that were processed longer ago count little in the rate
BUSY_SECONDS = 5.0  # the row mentions only records that the processor has had for longer


class Pulse:
    """The pulse of one lease, since this worker took it."""

    def __init__(self, lease: Lease, now_us: int) -> None:
        self._before = int(lease.progress.get(ACKED, 0))  # by its earlier owners
        self._acked = 0
        self._began_us = self._taken_us = now_us
        self._rate: float | None = None
        self.newest_us: int | None = None  # creation time of the newest record that was read
        self.is_at_tip = False  # whether the last turn came to the end of what there is
        self.busy_since_us: int | None = None  # since when the processor has had the same records
        # How long ago the first record was created that is not processed; 0 where there is none, None: nobody knows.
        self.lag_seconds: float | None = None

    def take(self, now_us: int, wall_us: int, acked: int, oldest: Any) -> dict[str, Any]:
        """What the row is to say: so many records are acked by now, and `oldest` is the first that is here and is not."""
        self._reckon_rate(now_us, acked)
        created_us = self.newest_us if oldest is None else oldest.created_us
        lag = None if created_us is None else max(0, wall_us - created_us) / SECOND_US
        self.lag_seconds = 0.0 if oldest is None and self.is_at_tip else lag
        busy = None if self.busy_since_us is None else (now_us - self.busy_since_us) / SECOND_US
        return {
            ACKED: self._before + acked,
            RATE: None if self._rate is None else round(60 * self._rate),
            LAG: None if self.lag_seconds is None else round(self.lag_seconds),
            BUSY: round(busy) if busy is not None and busy >= BUSY_SECONDS else None,
        }

    def _reckon_rate(self, now_us: int, acked: int) -> None:
        seconds = (now_us - self._taken_us) / SECOND_US
        if seconds > 0:
            lately = (acked - self._acked) / seconds
            rate = lately if self._rate is None else self._rate
            age = (now_us - self._began_us) / SECOND_US  # while that is short, it is the mean of all
            self._rate = rate + (lately - rate) * max(1 - exp(-seconds / MEMORY_SECONDS), seconds / age)
            self._acked, self._taken_us = acked, now_us
