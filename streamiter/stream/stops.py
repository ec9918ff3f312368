"""Stops: the gap or the poison record that stands before all else, and that `skip()` goes past."""

from __future__ import annotations

import logging

from streamiter.errors import InvalidOption, PoisonRecord, RecordsExpired
from streamiter.record import Record
from streamiter.stream.driver import Driver
from streamiter.stream.ending import Ending
from streamiter.stream.listener import Listener
from streamiter.stream.sieve import Sieve


class Stops:
    """Raises for what stands there, and remembers what the last error named. With `skips_gaps` no gap is raised."""

    def __init__(self, driver: Driver, listener: Listener, sieve: Sieve, *, skips_gaps: bool) -> None:
        self.last: RecordsExpired | PoisonRecord | None = None
        self._driver = driver
        self._listener = listener
        self._sieve = sieve
        self._skips_gaps = skips_gaps

    def pop(self, ending: Ending | None) -> Record | None:
        """The next record that the sieve lets through; raises PoisonRecord where one stands."""
        try:
            return self._sieve.pop(self._driver.reading, ending)
        except PoisonRecord as poison:
            self.last = poison
            raise

    def meets_gap(self) -> bool:
        """Raises where a gap stands before all else; gives True where it was skipped, as `on_gap` says."""
        lane = self._driver.reading.gap
        if lane is None:
            return False
        gap = RecordsExpired(lane.shard_id, lane.position, reason=lane.gap or "")
        self._listener.gap_found(gap)
        if not self._skips_gaps:
            self.last = gap
            raise gap
        self._accept(gap, logging.WARNING)
        return True

    def skip(self) -> None:
        """Goes past what the last error named: accepts the gap, or passes the poison record over."""
        last, self.last = self.last, None
        self._driver.reading.settle()
        if isinstance(last, RecordsExpired):
            self._accept(last, logging.INFO)
        elif isinstance(last, PoisonRecord):
            self._sieve.pass_over(self._driver.reading)
        else:
            raise InvalidOption("there is nothing to skip: skip() goes past the gap or the record that an error named")

    def _accept(self, gap: RecordsExpired, level: int) -> None:
        reading = self._driver.reading
        before = reading.gaps
        reading.skip_gap(self._driver.now_us, gap.shard_id)
        if reading.gaps > before:
            self._listener.gap_accepted(gap, level)
