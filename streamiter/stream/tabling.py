"""Tabling: all that a service holds, as one table, that comes whole or not at all."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from streamiter.record import Record
from streamiter.source.base import Source
from streamiter.steps import Call, Steps
from streamiter.stream.course import Course
from streamiter.stream.undo import BATCH

if TYPE_CHECKING:
    import pyarrow


def tabled(course: Course, source: Source) -> Steps[dict[str, pyarrow.Table]]:
    """The table, still to be taken: it counts as returned when it is."""
    outlet = course.outlet
    outlet.enter("to_arrow")
    try:
        undo = outlet.begin_batch()
        undo.rest[BATCH] = yield from _table(course, source)
        outlet.holder.clear()
        return undo.rest
    except BaseException:
        outlet.holder.clear()
        raise


def _table(course: Course, source: Source) -> Steps[pyarrow.Table]:
    from streamiter.stream.table import records_to_table

    records: list[Record] = []
    waiting, stops = course.waiting, course.stops
    stop_before = stops.last
    try:
        yield from waiting.fill(records, sys.maxsize, waiting.ending("caught_up"))
        table: pyarrow.Table = yield Call(partial(records_to_table, records, source.name, source.record_type))
        return table
    except Exception:
        stop = stops.last
        course.outlet.begin_anew()
        stops.last = stop if stop is not stop_before else None  # what skip() goes past
        raise
