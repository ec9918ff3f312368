"""Alone: steps of a course that one task at a time may do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streamiter.record import Record
from streamiter.steps import Steps
from streamiter.stream.course import Course
from streamiter.stream.iteration import T


def alone(what: str, steps: Callable[[Course], Steps[T]], course: Course) -> Steps[T]:
    """Does the steps, with no other task in between; `what` is the name of the method in messages."""
    course.outlet.enter(what)
    try:
        return (yield from steps(course))
    finally:
        course.outlet.holder.clear()


def awaited(course: Course) -> Steps[bool]:
    """Gets records ready as soon as there are any; gives whether there are: else the stream is closed or drained."""
    run = yield from course.waiting.next_run(None)
    if run is None:
        course.waiting.end()
    return _readied(course, run)


def due(course: Course) -> Steps[bool]:
    """Gets records ready that are due at this moment; gives whether there are any."""
    course.outlet.check_open()
    return _readied(course, (yield from course.outlet.prepare()))


def _readied(course: Course, run: Iterator[Record] | None) -> bool:
    if run is not None:
        course.outlet.ready = run
    return run is not None
