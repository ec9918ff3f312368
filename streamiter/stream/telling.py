"""Telling: when `on_event` hears of the noted events: between two records, before the next one comes out."""

from __future__ import annotations

from collections.abc import Callable

from streamiter.clock import SECOND_US
from streamiter.driving import Driver
from streamiter.stream.listener import Listener
from streamiter.stream.stats import Stats


class Telling:
    """Tells a listener how a driver's reading goes. Without an order (`is_ordered=False`) no record is late."""

    def __init__(self, listener: Listener, driver: Driver, stats: Callable[[], Stats], *, is_ordered: bool) -> None:
        self._listener = listener
        self._driver = driver
        self._stats = stats
        self._is_ordered = is_ordered

    @property
    def is_telling_here(self) -> bool:
        """Whether `on_event` runs at this moment, on this thread."""
        return self._listener.is_telling_here

    def check_not_telling(self) -> None:
        """Refuses what would turn the stream while `on_event` is being told of it."""
        self._listener.check_not_telling()

    def tell(self) -> bool:
        """Tells the noted events, and of the next record if it is late; returns whether late records are told of."""
        self.tell_noted()
        if not self._is_ordered or not self._listener.tells_late:
            return False
        record = self._driver.peek()
        if record is not None and record.late:
            self._listener.late(record, self._driver.reading.age_us(record) / SECOND_US)
        return True

    def tell_ahead(self) -> None:
        """No record comes out: if one waits for a time far ahead, tells of it."""
        driver = self._driver
        ahead = driver.change(lambda: driver.reading.ahead)
        if ahead is not None:
            self._listener.ahead(ahead)

    def tell_noted(self) -> None:
        """Tells the noted events, and how far reading has come if it is time for that."""
        if self._listener.listens:
            self._listener.tell()
            if self._listener.is_progress_due(self._driver.now_us):
                self._listener.progress(self._stats(), self._driver.now_us)

    def tell_last(self) -> None:
        """Reading ended: tells how far it came."""
        if self._listener.listens:
            self._listener.last_progress(self._stats(), self._driver.now_us)
