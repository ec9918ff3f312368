"""Supervision: which worker processes are to be started, when, and when all is over; pure, for time comes in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

HALTED = 3  # the exit code of a worker whose processor failed, and whose policy is Halt
MISUSED = 2  # ... of one whose command line, or app, cannot be meant
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
HEALTHY_SECONDS = 60.0  # who ran so long begins with the first pause again


class Fate(Enum):
    """What becomes of the place of a process that ended."""

    DONE = auto()  # it was asked to end, by us or by others
    AGAIN = auto()  # it died: another one is started after a pause
    ALL_STOP = auto()  # no other one would do better


@dataclass(slots=True)
class _Place:
    due: float | None  # when a process is to be started here
    started: float | None = None
    pause: float = FIRST_PAUSE


class Supervision:
    """The places of so many processes, numbered from 1."""

    def __init__(self, processes: int, now: float) -> None:
        self._places = {number: _Place(now) for number in range(1, processes + 1)}
        self.is_stopping = False
        self.exit_code = 0

    def due(self, now: float) -> list[int]:
        """Where a process is to be started by now."""
        return [number for number, place in self._places.items() if place.due is not None and place.due <= now]

    @property
    def next_due(self) -> float | None:
        """When the next one is to be started."""
        return min((place.due for place in self._places.values() if place.due is not None), default=None)

    @property
    def is_over(self) -> bool:
        """Whether nothing runs, and nothing is to be started."""
        return all(place.started is None and place.due is None for place in self._places.values())

    def started(self, number: int, now: float) -> None:
        """A process was started there."""
        place = self._places[number]
        place.started, place.due = now, None

    def ended(self, number: int, code: int, now: float) -> tuple[Fate, float]:
        """It ended with this code: what becomes of its place, and after which pause."""
        place = self._places[number]
        assert place.started is not None
        ran, place.started = now - place.started, None
        if code and (self.is_stopping or code in (HALTED, MISUSED)) and not self.exit_code:
            self.exit_code = code if code > 0 else 1
        if code == 0 or self.is_stopping:
            return Fate.DONE, 0.0
        if code in (HALTED, MISUSED):
            self.stop()
            return Fate.ALL_STOP, 0.0
        pause = FIRST_PAUSE if ran >= HEALTHY_SECONDS else place.pause
        place.due, place.pause = now + pause, min(2 * pause, LONGEST_PAUSE)
        return Fate.AGAIN, pause

    def stop(self) -> None:
        """Nothing is started any more."""
        self.is_stopping = True
        for place in self._places.values():
            place.due = None
