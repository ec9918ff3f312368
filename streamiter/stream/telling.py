"""Telling: when `on_event` is told of what was noted: between two records, before the one that comes next."""

from __future__ import annotations

from streamiter.clock import SECOND_US
from streamiter.stream.driver import Driver
from streamiter.stream.listener import Listener
from streamiter.stream.tally import Tally


class Telling:
    """Tells a listener how a driver's reading goes. Without an order (`is_ordered=False`) no record is late."""

    def __init__(self, listener: Listener, driver: Driver, tally: Tally, *, is_ordered: bool) -> None:
        self._listener = listener
        self._driver = driver
        self._tally = tally
        self._is_ordered = is_ordered

    def tell(self) -> bool:
        """Tells what was noted, and of the record that comes next if it is late; gives whether late ones are told."""
        self.tell_noted()
        if not self._is_ordered or not self._listener.tells_late:
            return False
        reading = self._driver.reading
        record = reading.peek()
        if record is not None and record.late:
            self._listener.late(record, reading.age_us(record) / SECOND_US)
        return True

    def tell_noted(self) -> None:
        """Tells what was noted, and how far reading came where it is time for that."""
        if self._listener.listens:
            self._listener.tell()
            if self._listener.is_progress_due(self._driver.now_us):
                self._listener.progress(self._tally.stats(self._driver), self._driver.now_us)

    def tell_last(self) -> None:
        """Reading ended: tells how far it came."""
        if self._listener.listens:
            self._listener.last_progress(self._tally.stats(self._driver), self._driver.now_us)
