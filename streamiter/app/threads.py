"""Threads: daemon threads beside the event loop that make calls which block, so that none of these holds up the exit."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


class Calls(Protocol):
    """Makes calls that block: on threads, or, in virtual time, at once."""

    async def call(self, function: Callable[[], Result]) -> Result:
        """Makes the call, and returns or raises what it does."""

    def close(self) -> None:
        """Takes no more calls."""


class Threads:
    """Up to `most` daemon threads, each started when there is work for it."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._started = 0
        self._free = threading.Semaphore(0)  # counts threads that wait for work

    async def call(self, function: Callable[[], Result]) -> Result:
        """Makes the call on one of the threads. Cancelling leaves the call to end by itself, unheard."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        if not self._free.acquire(blocking=False) and self._started < self._most:
            self._started += 1
            threading.Thread(target=self._work, name=f"streamiter-{self._name}", daemon=True).start()
        self._jobs.put(_Job(partial(copy_context().run, function), loop, future))
        return await future

    def close(self) -> None:
        """Ends the threads, each after its present call."""
        for _ in range(self._started):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            del job
            self._free.release()


class Inline:
    """Makes each call at once, on the loop itself: for virtual time, where no call waits for anything outside."""

    async def call(self, function: Callable[[], Result]) -> Result:
        """Makes the call, and returns what it returns."""
        await asyncio.sleep(0)
        return function()

    def close(self) -> None:
        """Does nothing: nothing was opened."""


class _Job:
    """One call, and who waits for it."""

    __slots__ = ("function", "future", "loop")

    def __init__(
        self, function: Callable[[], Any], loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any]
    ) -> None:
        self.function, self.loop, self.future = function, loop, future

    def run(self) -> None:
        """Makes the call, and hands over its result, unless the loop is closed by now."""
        try:
            result = self.function()
        except BaseException as error:  # whatever it is, the caller is to see it
            told = error
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(_raise, self.future, told)
        else:
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(_give, self.future, result)


def _give(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _raise(future: asyncio.Future[Any], error: BaseException) -> None:
    if future.done():
        return
    if isinstance(error, StopIteration):  # a future cannot hold one
        error = RuntimeError("a function raised StopIteration")
    future.set_exception(error)
