"""Readings: a stream's readings, one after the other; each begins from a token, and the tally adds up those that ended."""

from __future__ import annotations

from collections.abc import Callable

from streamiter.clock import microseconds
from streamiter.driving import Driver
from streamiter.driving.threads import Calls, Threads
from streamiter.merge import Standing
from streamiter.reading import Reading
from streamiter.source.base import Source
from streamiter.stream.latest import Latest
from streamiter.stream.options import Settings
from streamiter.token import Token


class Readings:
    """The driver, the reading that it drives now, and how another one begins."""

    def __init__(
        self, source: Source, settings: Settings, latest: Latest, token: Token, calls: Callable[[int], Calls] = Threads
    ) -> None:
        self.tally = latest.tally
        self._source = source
        self._settings = settings
        self._latest = latest
        self.driver = Driver(
            source, self._read_from(token), settings.clock, concurrency=settings.calls_of(source), calls=calls
        )

    def begin(self, token: Token, returned: Standing) -> None:
        """Goes on from a token; `returned`: how far records count as returned of the reading that ends."""
        ended = self.driver.reading
        self.driver.restart(self._read_from(token))
        self.tally.add(ended, returned)

    def mended(self) -> Reading:
        """The reading, in a state that has a token. The calling thread holds the driver's lock."""
        reading = self.driver.reading
        if self.driver.is_changing:  # no other thread can be changing it now, so that change broke off
            reading.mend()
        return reading

    def _read_from(self, token: Token) -> Reading:
        source, settings = self._source, self._settings
        return Reading(
            token,
            precision=source.precision(settings.lateness),
            holds=settings.holds,
            retention_us=source.retention_us,
            poll_us=settings.poll_us_of(source),
            listing_us=microseconds(source.listing_interval),
            idle_us=microseconds(source.idle_interval),
            prefetch_bytes=settings.prefetch_bytes,
            page_limit=source.page_limit,
            pace=self._latest.pace,
            patience=self._latest.patience(),
            now_us=microseconds(settings.clock.monotonic()),
        )
