"""The fleet's weather: how calls to store and source fare: how long they take, and how often they are lost or refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from streamiter.app.virtual.calls import TIMEOUT_US, Fate, Way

_LATEST_US = 20_000_000  # so long after it was given up, a write may still be done


@dataclass(frozen=True)
class FleetWeather:
    """Chances, per call to the store or the source, and how long calls take each way at most."""

    latency: float = 0.01  # seconds
    lost_request: float = 0.0  # it is never done; the worker gives it up after 1.5 s
    lost_answer: float = 0.0  # it is done, and given up after 1.5 s
    late: float = 0.0  # it is given up after 1.5 s, and done long after
    slow: float = 0.0  # it takes up to 1.5 s
    throttled: float = 0.0
    call_seconds: float = 0.0  # how long a call of a plain function takes at most


class Trouble(NamedTuple):
    """A time in which the calls of one worker (None: of all) are lost."""

    begins_us: int
    ends_us: int
    worker: str | None
    loses_answers: bool  # else requests


class SimulatedSky:
    """Decides by a seed how each call goes."""

    def __init__(self, seed: int, weather: FleetWeather, now_us: Callable[[], int]) -> None:
        self.weather = weather
        self.troubles: list[Trouble] = []
        self._chance = Random(seed)
        self._now_us = now_us

    def was_clear(self, since_us: int) -> bool:
        """Whether no call to the store was lost since then."""
        weather = self.weather
        is_good = not (weather.lost_request or weather.lost_answer or weather.late or weather.throttled)
        return is_good and not any(trouble.ends_us > since_us for trouble in self.troubles)

    def way(self, worker: str, kind: str) -> Way:
        """One call's way."""
        there_us, back_us = self._span_us(), self._span_us()
        match self._fate(worker, kind):
            case "lost_request":
                return Way(there_us, back_us, Fate.LOST)
            case "lost_answer":
                return Way(there_us, back_us, Fate.UNANSWERED)
            case "late":
                return Way(TIMEOUT_US + self._chance.randrange(_LATEST_US), back_us, Fate.UNANSWERED)
            case "slow":
                return Way(self._chance.randrange(TIMEOUT_US // 2), self._chance.randrange(TIMEOUT_US // 2))
            case "throttled":
                return Way(there_us, back_us, Fate.THROTTLED)
        return Way(there_us, back_us)

    def takes_us(self, worker: str) -> int:
        """How long a plain function takes."""
        most_us = round(self.weather.call_seconds * 1e6)
        return self._chance.randrange(most_us) if most_us else 0

    def _span_us(self) -> int:
        return 100 + self._chance.randrange(max(1, round(self.weather.latency * 1e6)))

    def _fate(self, worker: str, kind: str) -> str:
        now_us = self._now_us()
        for trouble in self.troubles if kind == "store" else ():
            if trouble.begins_us <= now_us < trouble.ends_us and trouble.worker in (None, worker):
                return "lost_answer" if trouble.loses_answers else "lost_request"
        luck = self._chance.random()
        for name in ("lost_request", "lost_answer", "late", "slow", "throttled"):
            luck -= getattr(self.weather, name)
            if luck < 0:
                return name
        return ""
