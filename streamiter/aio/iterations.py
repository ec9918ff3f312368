"""Iterations of an AsyncStream: what its `follow` and `batches` give, each time that a task awaits more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Protocol, TypeVar, cast

from streamiter.aio.alone import alone
from streamiter.record import Record
from streamiter.steps import Steps
from streamiter.stream.course import Course
from streamiter.stream.iteration import Batch, End, Following, Making
from streamiter.stream.output import BATCH

T = TypeVar("T")
R = TypeVar("R")


class Doing(Protocol):
    """Does steps on a course, which it opens first where that was not done yet."""

    async def __call__(self, steps: Callable[[Course], Steps[T]]) -> T:
        """Awaits what they wait for."""


class Follow(AsyncIterator[R]):
    """What `follow` gives: records as they come. Cancelled where it waits, it goes on from there."""

    def __init__(self, do: Doing, end: End) -> None:
        self._do = do
        self._end = end
        self._run: Iterator[R] = iter(())
        self._following: Following | None = None

    def __aiter__(self) -> Follow[R]:
        return self

    async def __anext__(self) -> R:
        for record in self._run:
            return record
        while self._following is None or not self._following.is_over:
            self._run = cast("Iterator[R]", await self._do(self._steps) or ())
            for record in self._run:
                return record
        raise StopAsyncIteration

    def _steps(self, course: Course) -> Steps[Iterator[Record] | None]:
        if self._following is None:
            self._following = Following(course.waiting, self._end)
        following = self._following
        return (yield from alone("follow", lambda _: following.steps(), course))


class InBatches(AsyncIterator[Batch]):
    """What `batches` gives. A batch whose making was cancelled comes next, from its start."""

    def __init__(self, do: Doing, size: int, end: End) -> None:
        self._do = do
        self._size = size
        self._end = end
        self._making: Making | None = None

    def __aiter__(self) -> InBatches:
        return self

    async def __anext__(self) -> Batch:
        made = await self._do(self._steps)
        if made is None:
            raise StopAsyncIteration
        return made.pop(BATCH)  # it counts as returned from here on

    def _steps(self, course: Course) -> Steps[dict[str, Batch] | None]:
        if self._making is None:
            self._making = Making(course.waiting, self._size, self._end)
        making = self._making
        return alone("batches", lambda _: making.steps(), course)
