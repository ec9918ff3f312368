"""Endings: when an iteration is over: it returned all records that the service held as it began, or all before a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamiter.reading import Mark
from streamiter.record import Record

if TYPE_CHECKING:
    from streamiter.driving import Driver
    from streamiter.reading import Reading


@dataclass(slots=True)
class Ending:
    """Where an iteration ends."""

    before_us: int | None  # the order time that it ends before; None: at the mark
    mark: Mark | None
    reading: Reading | None = None  # that the mark is of

    def stands_before(self, record: Record | None) -> bool:
        """Whether the iteration ends before this record, which comes next. A late record still comes out."""
        return self.before_us is not None and record is not None and record.order_us >= self.before_us

    def is_over(self, driver: Driver) -> bool:
        """Whether the iteration returned all its records."""
        if self.stands_before(driver.peek()):
            return True
        reading = driver.reading
        if self.mark is None and self._is_past_by_clock(reading):
            # Nothing may ever be written after that time: then it ends with what is held once the time is over.
            self._set_mark(driver)
        elif self.mark is not None and self.reading is not reading:
            self._set_mark(driver)  # reading began anew meanwhile: work was broken off, or the caller moved it
        return self.mark is not None and reading.is_past(self.mark)

    def _set_mark(self, driver: Driver) -> None:
        self.mark, self.reading = driver.mark(), driver.reading

    def _is_past_by_clock(self, reading: Reading) -> bool:
        service_us = reading.service_us
        if self.before_us is None or service_us is None:
            return False
        return service_us >= self.before_us + reading.book.lateness_us
