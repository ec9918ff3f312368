"""Stops: the gap or the poison record that stands before all else, and that `skip()` goes past."""

from __future__ import annotations

import logging

from streamiter.driving import Driver
from streamiter.errors import InvalidOption, PoisonRecord, RecordsExpired
from streamiter.stream.ending import Ending
from streamiter.stream.listener import Listener, Named, named
from streamiter.stream.sieve import Sieve
from streamiter.token import Token


class Stops:
    """Raises the gap or the poison record, and remembers it for `skip()`. With `skips_gaps` it raises no gap."""

    def __init__(self, driver: Driver, listener: Listener, sieve: Sieve, *, skips_gaps: bool) -> None:
        self.last: RecordsExpired | PoisonRecord | None = None
        self.accepted: set[Named] = set()  # gaps further on that skip() named
        self.sieve = sieve
        self._driver = driver
        self._listener = listener
        self._skips_gaps = skips_gaps

    @property
    def is_open(self) -> bool:
        """Whether every record is returned, so that the sieve need not look at any."""
        return self.sieve.is_open

    def accepts(self, ending: Ending | None) -> bool:
        """Whether to return the next record; raises PoisonRecord if the sieve refuses it."""
        try:
            return self.sieve.accepts(self._driver, ending)
        except PoisonRecord as poison:
            self.last = poison
            raise

    def meets_gap(self) -> bool:
        """Raises if a gap comes next; returns True if `on_gap`, or an earlier `skip()`, accepted it."""
        driver = self._driver
        lane = driver.change(lambda: driver.reading.next_gap)
        if lane is None:
            return False
        gap = RecordsExpired(lane.shard_id, lane.position, reason=lane.gap or "")
        if named(gap) in self.accepted:
            self._accept(gap, logging.INFO)
            self.accepted.discard(named(gap))
            return True
        self._listener.gap_found(gap)
        if not self._skips_gaps:
            self.last = gap
            raise gap
        self._accept(gap, logging.WARNING)
        return True

    def skip(self) -> Token | None:
        """Goes past what the last error named: accepts the gap, or passes the poison record over.

        Without an error, goes past a record that is far ahead of the service's clock: returns the token to go on from.
        """
        last, self.last = self.last, None
        if isinstance(last, RecordsExpired):
            self._accept(last, logging.INFO)
        elif isinstance(last, PoisonRecord):
            self.sieve.pass_over(self._driver)
        else:
            driver = self._driver
            past = driver.change(lambda: driver.reading.token_past_ahead())
            if past is None:
                raise InvalidOption(
                    "there is nothing to skip: skip() goes past the gap or the record that an error named"
                )
            self.sieve.note_poison()
            return past
        return None

    def clear(self) -> None:
        """Reading goes on elsewhere: earlier gaps and poison records do not stand there."""
        self.last = None
        self.accepted.clear()
        self.sieve.clear()

    def _accept(self, gap: RecordsExpired, level: int) -> None:
        driver = self._driver
        before = driver.reading.gaps_accepted
        driver.change(lambda: driver.reading.skip_gap(driver.now_us, gap.shard_id))
        if driver.reading.gaps_accepted > before:
            self._listener.gap_accepted(gap, level)
        else:
            self.accepted.add(named(gap))  # to_arrow() went back to before it: it is to be met again
