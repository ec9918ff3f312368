"""Virtual time: an event loop that never waits, answers that arrive in the order that a tape says, a source over a world."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

from streamiter.driving.threads import Answer
from streamiter.position import Position
from streamiter.source.base import Page, ShardIterator, ShardPage, Source
from tests.worlds import DAY, NOW, SECOND, STREAM, Tape, World
from tests.worlds.pages import Pages

T = TypeVar("T")


class _Jumping(selectors.SelectSelector):
    """Gives what is there, and moves time on instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        found = super().select(0)
        assert found or timeout is not None, "all tasks wait, and nothing will ever wake them"
        if not found:
            self.seconds += max(timeout or 0.0, 0.0)
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time()` is virtual."""

    def __init__(self) -> None:
        self.jumping = _Jumping()
        super().__init__(self.jumping)

    def time(self) -> float:
        return self.jumping.seconds


def run(main: Coroutine[Any, Any, T]) -> T:
    """As asyncio.run, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def virtual_us() -> int:
    """The time of the loop that runs; NOW where none does: before it began."""
    try:
        return round(asyncio.get_running_loop().time() * SECOND)
    except RuntimeError:
        return 0


class Arriving:
    """In place of threads: each answer arrives by itself some virtual time after its call, as the tape says."""

    def __init__(self, most: int, ring: Callable[[], None], tape: Tape) -> None:
        self.under_way = 0
        self._most = most
        self._ring = ring
        self._tape = tape
        self._here: list[Answer] = []
        self._is_closed = False

    @property
    def room(self) -> int:
        return self._most - self.under_way

    @property
    def has_answers(self) -> bool:
        return bool(self._here)

    def submit(self, job: Any, call: Callable[[], Any]) -> None:
        self.under_way += 1
        asyncio.get_running_loop().call_later(self._tape.draw(6) / 50, self._arrive, job, call)

    def aside(self, job: Any, call: Callable[[], Any]) -> bool:
        return False  # nothing is watched here

    def _arrive(self, job: Any, call: Callable[[], Any]) -> None:
        if self._is_closed:
            return
        try:
            self._here.append(Answer(job, call(), None))
        except Exception as error:
            self._here.append(Answer(job, None, error))
        self._ring()

    def wait(self, seconds: float) -> None:
        raise AssertionError("a task must not block its thread")

    def answers(self, wait_seconds: float = 0.0) -> list[Answer]:
        found, self._here = self._here, []
        self.under_way -= len(found)
        return found

    def close(self, wait_seconds: float = 0.5) -> None:
        self._is_closed = True


class WorldSource(Source):
    """A world as a source, by the time of the loop that runs."""

    name = STREAM
    retention_us = DAY
    listings_per_second = 10.0

    def __init__(self, world: World, tape: Tape | None = None, now_us: Callable[[], int] = virtual_us) -> None:
        self.world = world
        self.fault: Callable[[str], None] = lambda operation: None  # may raise
        self._now_us = now_us
        self._pages = Pages(world, tape or Tape(), SECOND)

    @property
    def _service_us(self) -> int:
        return NOW + self._now_us()

    def list_shards(self, after: str | None) -> ShardPage:
        self.fault("list")
        return ShardPage(tuple(self.world.rows(self._service_us)), None, self._service_us)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        self.fault("open")
        self._pages.opened(shard_id)
        return ShardIterator(shard_id, self.world.open(shard_id, position, self._service_us))

    def fetch(self, iterator: ShardIterator, limit: int) -> Page:
        self.fault("fetch")
        page, _ = self._pages.fetch(iterator.shard_id, iterator.value, self._service_us)
        return page


class CancelledAt(Awaitable[T]):
    """Awaits something, and cancels it where it waits for the nth time; `waits` counts on over several."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.waits = 0

    async def run(self, awaited: Awaitable[T]) -> T:
        self._awaited = awaited
        return await self

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._awaited.__await__()
        try:
            wanted = next(steps)
            while True:
                self.waits += 1
                if self.waits == self.at:
                    if asyncio.isfuture(wanted):
                        wanted._asyncio_future_blocking = False
                    wanted = steps.throw(asyncio.CancelledError())
                    raise AssertionError("it went on waiting, though it was cancelled")
                try:
                    found = yield wanted
                except BaseException as error:
                    wanted = steps.throw(error)
                else:
                    wanted = steps.send(found)
        except StopIteration as done:
            result: T = done.value
            return result
