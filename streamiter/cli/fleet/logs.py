"""Logs: what a worker does, a line each on standard error, by the clock of the machine, in UTC."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

from streamiter.terminal import printable


class Lines(logging.Formatter):
    """`2026-11-19T14:40:01.123Z 2 warning: ...`: when, in which of several processes, and the level where it is high."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self, number: int | None = None) -> None:
        super().__init__("%(asctime)s %(message)s")
        self._number = "" if number is None else f"{number} "

    def formatMessage(self, record: logging.LogRecord) -> str:
        """One line; a name from elsewhere cannot steer a terminal."""
        level = "" if record.levelno <= logging.INFO else f"{record.levelname.lower()}: "
        return f"{record.asctime} {self._number}{level}{printable(record.message)}"

    def formatException(self, ei: Any) -> str:
        """The traceback, its lines as they are."""
        return "\n".join(printable(line) for line in super().formatException(ei).splitlines())


def log_to_stderr(*, is_verbose: bool, number: int | None = None) -> None:
    """Logs what streamiter says; where the app has set up logging of its own, by its handlers."""
    root = logging.getLogger()
    if not root.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(Lines(number))
        root.addHandler(handler)
    logging.getLogger("streamiter").setLevel(logging.DEBUG if is_verbose else logging.INFO)
