"""The worker's clock: it goes on while the machine sleeps, so that a worker that wakes up knows that its leases are old."""

from __future__ import annotations

from streamiter.clock import SystemClock, booted


class WorkerClock(SystemClock):
    """As the system's clock, but `monotonic` also counts the time asleep, if the system can tell it (CLOCK_BOOTTIME)."""

    def monotonic(self) -> float:
        return booted()
