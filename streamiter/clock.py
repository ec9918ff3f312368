"""The clock: the one place where streamiter asks what time it is.

Inside, a moment is an int of microseconds. Service time is counted since 1970 and comes with each response; the clock's
`monotonic` only measures pauses. Tests pass a clock that they turn by hand.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol, runtime_checkable

SECOND_US = 1_000_000
FIRST_US, LAST_US = -62_135_596_800_000_000, 253_402_300_800_000_000  # what a datetime can tell: years 1 to 9999
_BOOT_TIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)
FIRST_SECOND, LAST_SECOND = FIRST_US // SECOND_US, LAST_US // SECOND_US - 1  # the same; rounded to microseconds, too


@runtime_checkable
class Clock(Protocol):
    """What Stream needs of a clock, in seconds. Only the caller's thread calls it."""

    def now(self) -> float:
        """Seconds since 1970."""

    def monotonic(self) -> float:
        """Seconds that never run backwards."""

    def sleep(self, seconds: float) -> None:
        """Waits, or, on a clock turned by hand, moves it."""


class SystemClock:
    """The machine's own clock; its pauses end early when `wake` is set."""

    def __init__(self) -> None:
        self.wake = threading.Event()

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        self.wake.wait(seconds)


def booted() -> float:
    """Seconds that never run backwards, and go on while the machine sleeps, where the system can tell."""
    return time.monotonic() if _BOOT_TIME is None else time.clock_gettime(_BOOT_TIME)


class Effort:
    """How busy a thread has been, and how long that took; by the machine's own clocks, as one turned by hand tells neither."""

    def busy_us(self) -> int:
        """How much of a processor's time this thread has had, in all."""
        return time.thread_time_ns() // 1000

    def passed_us(self) -> int:
        """How much time has passed, since some moment."""
        return time.monotonic_ns() // 1000


def microseconds(seconds: float) -> int:
    """Seconds as the int of microseconds used inside."""
    return round(seconds * SECOND_US)


def floor_second(time_us: int) -> int:
    """The start of its second: the service floors creation times, so bounds are floored too."""
    return time_us - time_us % SECOND_US
