"""Ticking: a stream whose `next` is called at every tick of a clock turned by hand; any stream, so no import of ours."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from benchmarks.readers.worker import Task, Watch

START = 1_768_500_000  # a while after the backlog's end


class HandClock:
    """A clock for streamiter that also sets the canned service's time, whenever another second begins."""

    def __init__(self, endpoint_url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(endpoint_url).netloc, timeout=60)
        self._passed_ms = 0
        self._tell()

    def now(self) -> float:
        """Seconds since 1970."""
        return START + self._passed_ms / 1000

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._passed_ms / 1000

    def sleep(self, seconds: float) -> None:
        """Turns the clock."""
        before = self._passed_ms // 1000
        self._passed_ms += max(1, round(seconds * 1000))
        if self._passed_ms // 1000 != before:
            self._tell()

    def _tell(self) -> None:
        told = json.dumps({"now": START + self._passed_ms // 1000})
        self._connection.request("POST", "/", told, {"X-Amz-Target": "Canned.Control"})
        self._connection.getresponse().read()


class Ticking:
    """The actions `open` and `poll` of a worker: the stream lives from one to the next."""

    def __init__(self, make: Callable[[Task, HandClock], Any], number: Callable[[Any], str]) -> None:
        self._make = make
        self._number = number

    def open(self, task: Task, watch: Watch) -> None:
        """Begins at the horizon."""
        self._clock = HandClock(task.endpoint_url)
        self._stream = self._make(task, self._clock)

    def poll(self, task: Task, watch: Watch) -> dict[str, Any]:
        """Calls `next` at each tick: so many ticks, or until the wanted records came; gives ticks and numbers."""
        ticks = 0
        numbers: list[str] = []
        most = task.options["ticks"]
        with watch:
            while ticks < most and not (task.records and len(numbers) == task.records):
                record = next(self._stream)
                if record is not None:
                    numbers.append(self._number(record))
                    continue  # There may be more at this tick.
                ticks += 1
                self._clock.sleep(task.options["tick_seconds"])
        return {"ticks": ticks, "numbers": sorted(numbers)}
