"""The event loop: waits that a task makes on it, woken by threads that bring answers; and the loop's own time."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from streamiter.clock import Clock, SystemClock
from streamiter.driving.threads import Calls
from streamiter.errors import StreamiterError
from streamiter.steps import Answers, Call, Pause, Steps, Wait

T = TypeVar("T")

FOREVER = 3600.0  # a wait for a call; then it is looked whether it was answered, and waited for again
TURN_SECONDS = 0.005  # after so long without a wait the other tasks of the loop have a turn,
TURN_STEPS = 256  # ... or after so many steps: in virtual time none passes between waits


class LoopClock(SystemClock):
    """The machine's clock; its pauses are counted by the event loop, whose time may be virtual."""

    def __init__(self) -> None:
        super().__init__()
        self._loop: AbstractEventLoop | None = None
        self._offset = 0.0

    def monotonic(self) -> float:
        return self._offset + (super().monotonic() if self._loop is None else self._loop.time())

    def go_by(self, loop: AbstractEventLoop) -> None:
        """This loop is the one that runs now; time goes on from where it stood."""
        if loop is not self._loop:
            before, had_none = self.monotonic(), self._loop is None
            self._loop = loop
            self._offset = 0.0 if had_none else before - loop.time()


class _Waiting:
    """A task that waits."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.is_woken = False
        self.future: Future[None] = loop.create_future()
        self._loop = loop

    def wake(self) -> None:
        """May be called on any thread."""
        if not self.is_woken:
            self.is_woken = True
            with suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(_end, self.future)


class Bell:
    """Wakes the task that waits for it: one at most."""

    def __init__(self) -> None:
        self._waiting: _Waiting | None = None

    def ring(self) -> None:
        """What the task waits for may be there. Called on any thread."""
        waiting = self._waiting
        if waiting is not None:
            waiting.wake()

    async def wait(self, seconds: float, is_there: Callable[[], bool]) -> None:
        """Waits until it is there or the bell is rung, by the loop's time at most so long."""
        loop = asyncio.get_running_loop()
        waiting = self._waiting = _Waiting(loop)
        timer = None
        try:
            if not is_there():  # looked at once threads can wake it: none comes between
                timer = loop.call_later(seconds, _end, waiting.future)
                await waiting.future
        finally:
            self._waiting = None
            if timer is not None:
                timer.cancel()


class OnLoop:
    """Does steps in a task: what they wait for is awaited, and where there is nothing to wait for, nothing is."""

    def __init__(self, clock: Clock, make_calls: Callable[[int, Callable[[], None]], Calls]) -> None:
        self.is_closed = False
        self.has_answers: Callable[[], bool] = bool
        self._clock = clock
        self._make_calls = make_calls
        self._answers = Bell()
        self._end = Bell()
        self._steps = 0  # since the other tasks had a turn
        self._turn_at = 0.0

    def calls(self, most: int) -> Calls:
        """Makes calls whose answers wake the task."""
        return self._make_calls(most, self._answers.ring)

    def close(self) -> None:
        """Nothing is waited for any more. Called on any thread."""
        self.is_closed = True
        self._answers.ring()
        self._end.ring()

    async def finish(self, steps: Steps[T]) -> T:
        """Does all the steps. Cancelled, it is broken off where it waits."""
        if isinstance(self._clock, LoopClock):
            self._clock.go_by(asyncio.get_running_loop())
        try:
            wish = next(steps)
            while True:
                try:
                    found = await self._wait(wish)
                except BaseException as error:
                    wish = steps.throw(error)
                else:
                    wish = steps.send(found)
        except StopIteration as done:
            result: T = done.value
            return result

    async def turn(self) -> None:
        """Lets the other tasks of the loop go on, where they had no turn for a while."""
        loop, self._steps = asyncio.get_running_loop(), self._steps + 1
        if self._steps >= TURN_STEPS or loop.time() - self._turn_at >= TURN_SECONDS:
            await asyncio.sleep(0)
            self._had_turn()

    def _had_turn(self) -> None:
        self._steps, self._turn_at = 0, asyncio.get_running_loop().time()

    async def _wait(self, wish: Wait) -> Any:
        if isinstance(wish, Call):
            return await self._call(wish.make)
        if isinstance(wish, Answers) and self._is_answered():
            return await self.turn()
        if isinstance(wish, Answers):
            await self._answers.wait(wish.seconds, self._is_answered)
        else:
            await self._pause(wish)
        self._had_turn()
        return None

    def _is_answered(self) -> bool:
        return self.is_closed or self.has_answers()

    async def _pause(self, pause: Pause) -> None:
        if isinstance(self._clock, LoopClock):
            await self._end.wait(pause.seconds, lambda: self.is_closed)
            return
        own = getattr(self._clock, "pause", None)
        if own is not None:
            await own(pause.seconds)
        else:  # a clock that knows no event loop may well block the thread that it is called on
            await self._call(lambda: self._clock.sleep(pause.seconds))

    async def _call(self, make: Callable[[], T]) -> T:
        """Makes one call off the loop. Cancelled, or where the stream is closed, it is left to end by itself."""
        return await _answered(self.calls(1), make, self._answers, lambda: self.is_closed)

    async def call_aside(self, make: Callable[[], T]) -> T:
        """The same for another task than that which reads, also of a stream that is closed."""
        bell = Bell()
        return await _answered(self._make_calls(1, bell.ring), make, bell, bool)


async def _answered(calls: Calls, make: Callable[[], T], bell: Bell, is_over: Callable[[], bool]) -> T:
    calls.submit(None, make)
    try:
        while not calls.has_answers and not is_over():
            await bell.wait(FOREVER, lambda: calls.has_answers or is_over())
        for answer in calls.answers():
            if answer.error is not None:
                raise answer.error
            found: T = answer.result
            return found
    finally:
        calls.close(0.0)
    raise StreamiterError("the stream was closed meanwhile")


def _end(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)
