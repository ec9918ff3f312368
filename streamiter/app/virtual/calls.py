"""Calls in virtual time: to a store or a source that may be slow, lost or late; and of a user's plain functions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from streamiter.app.virtual.loop import no_loop_running
from streamiter.app.virtual.tap import FAULT, Fault
from streamiter.errors import StreamiterError, Throttled, TransientError

if TYPE_CHECKING:
    from streamiter.app.virtual.process import WorkerProcess

Result = TypeVar("Result")

TIMEOUT_US = 1_500_000  # when a call that is not answered is given up


class Fate(Enum):
    """What becomes of a call."""

    DONE = auto()
    THROTTLED = auto()  # refused, and not done
    LOST = auto()  # the request never arrives
    UNANSWERED = auto()  # it is done, and the answer is lost; or it is done long after it was given up


class Way(NamedTuple):
    """One call's way: to the server and back."""

    there_us: int = 0
    back_us: int = 0
    fate: Fate = Fate.DONE


class Sky(Protocol):
    """Says how calls fare."""

    def way(self, worker: str, kind: str) -> Way:
        """Of one call of a worker; `kind` is "store" or "source"."""

    def takes_us(self, worker: str) -> int:
        """How long a plain function of the user's takes."""


class ClearSky:
    """All calls succeed at once."""

    def way(self, worker: str, kind: str) -> Way:
        """The straight one."""
        return Way()

    def takes_us(self, worker: str) -> int:
        """No time."""
        return 0


class StoreCalls:
    """Calls of one worker to the store. What is under way when the worker dies still arrives."""

    def __init__(self, process: WorkerProcess, sky: Sky) -> None:
        self._process = process
        self._sky = sky

    async def call(self, function: Callable[[], Result]) -> Result:
        """What the store answers; a TransientError where no answer comes in time."""
        times, way = self._process.times, self._sky.way(self._process.name, "store")
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

        def arrive() -> None:
            if way.fate is Fate.LOST:
                return
            told = (None, _refusal("store")) if way.fate is Fate.THROTTLED else _done(function)
            if way.fate is not Fate.UNANSWERED:
                times.after(way.back_us, lambda: self._process.answer(future, *told))

        times.after(way.there_us, arrive)
        if way.fate in (Fate.LOST, Fate.UNANSWERED):
            times.after(TIMEOUT_US, lambda: self._process.answer(future, None, _silence("store")))
        return await future

    def close(self) -> None:
        """Nothing was opened."""


class SourceCalls:
    """Calls of one worker to a source. What goes wrong goes wrong inside: the reader is to see it, as the source says it."""

    def __init__(self, process: WorkerProcess, sky: Sky) -> None:
        self._process = process
        self._sky = sky

    async def call(self, function: Callable[[], Result]) -> Result:
        """What the source's caller makes of it."""
        times, way = self._process.times, self._sky.way(self._process.name, "source")
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        error = {Fate.DONE: None, Fate.THROTTLED: _refusal("source")}.get(way.fate, _silence("source"))
        back_us = TIMEOUT_US if way.fate in (Fate.LOST, Fate.UNANSWERED) else way.back_us

        def arrive() -> None:
            token = FAULT.set(None if error is None else Fault(error, way.there_us % 2))
            try:
                told = _done(function)
            finally:
                FAULT.reset(token)
            times.after(back_us, lambda: self._process.answer(future, *told))

        times.after(min(way.there_us, TIMEOUT_US), arrive)
        return await future

    def close(self) -> None:
        """Nothing was opened."""


class UserCalls:
    """Calls a user's plain functions, as a thread would: no loop runs there. Their results come when the sky says so."""

    def __init__(self, process: WorkerProcess, sky: Sky) -> None:
        self._process = process
        self._sky = sky

    async def call(self, function: Callable[[], Result]) -> Result:
        """What the function gives."""
        await asyncio.sleep(0)
        context = copy_context()
        with no_loop_running():
            result, error = _done(lambda: context.run(function))
        if takes_us := self._sky.takes_us(self._process.name):
            await asyncio.sleep(takes_us / 1e6)
        if error is not None:
            raise error
        told: Result = result
        return told

    def close(self) -> None:
        """Nothing was opened."""


def _done(function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return function(), None
    except Exception as error:
        return None, error


def _refusal(kind: str) -> StreamiterError:
    return Throttled(f"the {kind} was asked too often")


def _silence(kind: str) -> StreamiterError:
    return TransientError(f"the {kind} did not answer within {TIMEOUT_US / 1e6} s")
