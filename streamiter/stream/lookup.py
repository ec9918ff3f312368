"""Lookup: the stream's name, asked of its source before anything is read."""

from __future__ import annotations

import logging

from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.reading.patience import Failure, Patience, retried
from streamiter.source.base import Source
from streamiter.steps import Steps, by_clock, finish

logger = logging.getLogger("streamiter.stream")


def look_up(source: Source, clock: Clock, patience_seconds: float) -> str:
    """As `naming`, on this thread."""
    return finish(naming(source, clock, patience_seconds), by_clock(clock))


def naming(source: Source, clock: Clock, patience_seconds: float) -> Steps[str]:
    """The stream's name. Looking it up may take calls; calls that fail are made again, as everywhere."""

    def tell(failure: Failure) -> None:
        if failure.pause_us is None:
            return
        logger.info("the stream cannot be looked up yet; asked again in %.1f s", failure.pause_us / SECOND_US)
        if failure.is_worth_a_warning:  # the caller's constructor waits: the caller is told why
            told = "the stream cannot be looked up for %.0f s now; an error is raised after %.0f s; the last one: %s"
            logger.warning(told, failure.tried_us / SECOND_US, patience_seconds, failure.error)

    return retried(lambda: source.name, clock, Patience(microseconds(patience_seconds), tell))
