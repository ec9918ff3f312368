"""Taking: what `take` gives: lists of what is ready, filled up with what comes within some time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from streamiter.clock import Clock
from streamiter.errors import PoisonRecord, RecordsExpired
from streamiter.record import Record
from streamiter.steps import Steps, within
from streamiter.stream.course import Course

Alone = Callable[[Any], bool]  # whether a record makes a list by itself


def fitting(have: int, came: Sequence[Any], alone: Alone | None) -> tuple[int, bool]:
    """How many of the records that came go into a list that has so many already, and whether it ends with them."""
    if alone is not None:
        for count, record in enumerate(came):
            if alone(record):
                return count or int(not have), True
    return len(came), False


class Taking:
    """Makes lists of records. An error comes after the list of what precedes it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._error: Exception | None = None  # it comes after the list

    def steps(self, course: Course, size: int, seconds: float, alone: Alone | None = None) -> Steps[list[Record]]:
        """Up to so many records. Broken off at a wait, it took none."""
        outlet = course.outlet
        outlet.enter("take")
        try:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            outlet.check_open()
            until = self._clock.monotonic() + seconds
            run = yield from within(outlet.prepare(), self._clock, seconds)
            records = list(islice(run or (), size))
            if run is not None and (len(records) == size or self._clock.monotonic() >= until):
                count, is_whole = fitting(0, records, alone)
                if is_whole:
                    course.driver.reading.give_back(records[count:])
                else:
                    outlet.ready = run
                return records[:count]
            # From here on there are records in hand while others are waited for.
            if records:
                course.driver.reading.give_back(records)
            return (yield from self._fill(course, size, until, alone))
        finally:
            outlet.holder.clear()

    def _fill(self, course: Course, size: int, until: float, alone: Alone | None) -> Steps[list[Record]]:
        records: list[Record] = []
        undo = course.outlet.begin_batch()
        try:
            filling = _wait_for(course, records, size, alone)
            yield from within(filling, self._clock, until - self._clock.monotonic())
        except Exception as error:
            if not records:
                undo.drop()  # nothing was taken
                raise
            if not isinstance(error, RecordsExpired | PoisonRecord):  # these are met again
                self._error = error
        undo.drop()
        return records


def _wait_for(course: Course, records: list[Record], size: int, alone: Alone | None) -> Steps[None]:
    waiting, outlet = course.waiting, course.outlet
    while len(records) < size and not outlet.is_closed and not course.driver.is_drained:
        run = yield from outlet.prepare(None, size - len(records))
        if run is not None:
            came = list(run)
            count, is_whole = fitting(len(records), came, alone)
            records += came[:count]
            if is_whole:
                course.driver.reading.give_back(came[count:])
                return
        else:
            yield from waiting.rest()
