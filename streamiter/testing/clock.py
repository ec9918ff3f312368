"""The hand-driven clock: time stands still until a test, or a sleep of the code under test, moves it."""

from __future__ import annotations

import asyncio
import threading

from streamiter.clock import SECOND_US, SystemClock, microseconds

START = 1_750_000_000.0  # 2025-06-15T15:06:40Z: a whole second, so that creation times start out unfloored

MOST_SPEED = 1_000_000  # a day takes a tenth of a second


class ManualClock:
    """A `streamiter.clock.Clock` that a test turns: `advance` moves it, and so does `sleep`, which never waits.

    One clock may serve the simulated service and the stream that reads it, from any thread.
    """

    def __init__(self, start: float = START) -> None:
        self.slept = 0.0  # seconds that the code under test slept, in total
        self._now_us = microseconds(start)
        self._passed_us = 0  # apart from `now`, which a test may set back
        self._lock = threading.Lock()

    def now(self) -> float:
        """Seconds since 1970."""
        return self._now_us / SECOND_US

    def monotonic(self) -> float:
        """Seconds since the clock was made; `set` does not change them."""
        return self._passed_us / SECOND_US

    def sleep(self, seconds: float) -> None:
        """Moves the clock instead of waiting."""
        self._move(max(0, microseconds(seconds)))
        self.slept += max(0.0, seconds)

    async def pause(self, seconds: float) -> None:
        """Moves the clock, and lets the other tasks of the event loop go on."""
        self.sleep(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0) -> None:
        """Turns the clock forward."""
        moved_us = microseconds(seconds + 60 * minutes + 3600 * hours)
        if moved_us < 0:
            raise ValueError("time runs forward; to set the clock back, use set()")
        self._move(moved_us)

    def set(self, now: float) -> None:
        """Sets the wall clock, forward or back; `monotonic` stays where it is."""
        with self._lock:
            self._now_us = microseconds(now)

    def _move(self, moved_us: int) -> None:
        with self._lock:
            self._now_us += moved_us
            self._passed_us += moved_us

    def __repr__(self) -> str:
        return f"ManualClock({self.now()})"


class RunningClock(ManualClock):
    """A clock that also runs by itself, and whose `sleep` waits: for demos and measurements.

    With a `speed`, a real second is so many of its own.
    """

    def __init__(self, start: float | None = None, *, speed: float = 1.0) -> None:
        if not 0 < speed <= MOST_SPEED:
            raise ValueError(f"time runs forward: speed is more than 0 and at most {MOST_SPEED}, not {speed}")
        self._speed = speed
        self._system = SystemClock()
        self._began = self._system.monotonic()
        super().__init__(self._system.now() if start is None else start)

    def now(self) -> float:
        return super().now() + self._passed

    def monotonic(self) -> float:
        return super().monotonic() + self._passed

    def sleep(self, seconds: float) -> None:
        self._system.sleep(seconds / self._speed)
        self.slept += max(0.0, seconds)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._speed)
        self.slept += max(0.0, seconds)

    @property
    def _passed(self) -> float:
        return (self._system.monotonic() - self._began) * self._speed
