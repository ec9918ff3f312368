"""Calls: how the user's function is called: on the loop or on a thread, through the middleware, and with the lease."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from streamiter.app.threads import Calls
from streamiter.errors import InvalidOption

if TYPE_CHECKING:
    from streamiter.app.processor import Processor


class Withheld(Exception):
    """The function was not called: before a thread was free, the lease was let go, or was no longer certain."""


class Call:
    """One processor's function, ready to be called. On its thread, just before the call, it asks again whether it may have
    the records.

    `is_withheld` tells that it may not, whatever a middleware makes of that: then they were not handed over (law 9).
    """

    def __init__(self, function: Any, processor: Processor, threads: Calls, may_deliver: Callable[[], bool]) -> None:
        self.is_withheld = False
        self._function = function
        self._is_async = processor.handler.is_async
        self._middleware = processor.middleware
        self._threads = threads
        self._may_deliver = may_deliver

    async def __call__(self, *arguments: Any) -> None:
        """Calls the function, and raises what it raises."""
        first, *rest = arguments
        await uncancelled(self._through(0, first, rest))

    async def _through(self, depth: int, first: Any, rest: list[Any]) -> None:
        if depth < len(self._middleware):
            handed: list[Coroutine[Any, Any, None]] = []

            def call_next(told: Any) -> Coroutine[Any, Any, None]:
                handed.append(self._through(depth + 1, told, rest))
                return handed[-1]

            await self._middleware[depth](first, call_next)
            for coroutine in handed:
                if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                    finished(coroutine, "middleware called call_next(record) and did not await it")
        elif self._is_async:
            finished(await self._function(first, *rest))
        else:
            await self._threads.call(partial(self._on_a_thread, first, *rest))

    def _on_a_thread(self, *arguments: Any) -> None:
        if not self._may_deliver():
            self.is_withheld = True
            raise Withheld
        finished(self._function(*arguments))


def finished(
    result: Any, told: str = "the function returned what is still to be run: write it as async def, without yield"
) -> None:
    """Refuses a coroutine or a generator that a plain function returned: its record would count as processed, but was not."""
    if result is None or not (inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result)):
        return
    if inspect.iscoroutine(result):
        result.close()
    raise InvalidOption(told)


async def uncancelled(called: Awaitable[Any]) -> None:
    """Awaits a function of the user. If it raises CancelledError though we were not cancelled, that is an ordinary error."""
    try:
        await called
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise RuntimeError("the function was cancelled from within: it awaited what somebody cancelled") from error
