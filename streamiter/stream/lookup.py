"""Lookup: the stream's name, asked of its source before anything is read."""

from __future__ import annotations

import logging

from streamiter.clock import Clock
from streamiter.errors import TransientError
from streamiter.source.base import Source

logger = logging.getLogger("streamiter.stream")

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0


def look_up(source: Source, clock: Clock, patience_seconds: float) -> str:
    """The stream's name; looking it up may take calls, which have the patience that all else has."""
    since, pause = clock.monotonic(), FIRST_PAUSE_SECONDS
    while True:
        try:
            return source.name
        except TransientError:
            if clock.monotonic() - since >= patience_seconds:
                raise
            logger.info("the stream cannot be looked up yet; asked again in %.1f s", pause)
            clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
