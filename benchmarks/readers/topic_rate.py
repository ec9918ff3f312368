"""How fast a worker gets through records: from the first one on, so that what it takes to start counts for no side.

The last tenth does not count either: a batch that cannot become full may wait for more.
"""

import json
import os
import resource
import time


class Rate:
    """Counts records; once there were enough it prints the rate, and the process ends."""

    def __init__(self, count: int) -> None:
        self._count = count - count // 10
        self._done = 0
        self._first = 0
        self._wall = self._cpu = 0.0

    def note(self, number: int) -> None:
        """So many records were handed over."""
        if not self._done:
            self._wall, self._cpu, self._first = time.monotonic(), _cpu(), number
        self._done += number
        if self._done >= self._count:
            count = self._done - self._first  # what came first came before the clock
            wall, cpu = time.monotonic() - self._wall, _cpu() - self._cpu
            print(json.dumps({"wall": count / wall, "cpu": count / cpu}), flush=True)
            os._exit(0)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
