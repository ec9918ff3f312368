"""Endings: when an iteration is over: all was returned that was held as it began, or all that is before a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamiter.record import Record
from streamiter.stream.mark import Mark

if TYPE_CHECKING:
    from streamiter.stream.reading import Reading


@dataclass(slots=True)
class Ending:
    """Where an iteration ends."""

    before_us: int | None  # the order time that it ends before; None: at the mark
    mark: Mark | None

    def stands_before(self, record: Record | None) -> bool:
        """Whether this record, which comes next, is the first that is not to be returned. A late one always is."""
        return self.before_us is not None and record is not None and record.order_us >= self.before_us

    def is_over(self, reading: Reading, now_us: int, lateness_us: int | None) -> bool:
        """Whether everything was returned that is to be."""
        if self.stands_before(reading.peek()):
            return True
        if self.mark is None and self._is_past_by_clock(reading.service_us, lateness_us):
            # Nothing may ever be written after that time: then it ends with what is held once the time is over.
            self.mark = reading.mark(now_us)
        return self.mark is not None and reading.is_past(self.mark)

    def _is_past_by_clock(self, service_us: int | None, lateness_us: int | None) -> bool:
        return (
            self.before_us is not None and service_us is not None and service_us >= self.before_us + (lateness_us or 0)
        )
