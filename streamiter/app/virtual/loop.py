"""The virtual loop: asyncio's own, but it never waits: what drives it says what time it is, and lets it do one round."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_RESOLUTION = 1e-6  # moments are whole microseconds


class _NothingToWaitFor:
    """Stands where a loop has its selector: there are no files and sockets in virtual time."""

    def select(self, timeout: float | None = None) -> list[Any]:
        return []

    def close(self) -> None:
        pass


class VirtualLoop(asyncio.BaseEventLoop):
    """One process's event loop. `clock_us` is that process's clock."""

    _ready: Any  # asyncio's own: what runs in the next round ...
    _scheduled: list[Any]  # ... and what waits for its moment, a heap

    def __init__(self, clock_us: Callable[[], int]) -> None:
        super().__init__()
        self._clock_us = clock_us
        self._selector = _NothingToWaitFor()
        self._clock_resolution = _RESOLUTION
        self.set_debug(False)  # it would measure real time

    def time(self) -> float:
        """The process's clock, in seconds."""
        return self._clock_us() / 1e6

    @property
    def is_ready(self) -> bool:
        """Whether there is something to do at once."""
        return bool(self._ready)

    @property
    def due_us(self) -> int | None:
        """When something is due next, by the process's clock; None: never."""
        return round(self._scheduled[0].when() * 1e6) if self._scheduled else None

    def step(self) -> None:
        """One round: all that is ready, and what falls due."""
        with no_loop_running():
            self.stop()
            self.run_forever()

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Calls it at once: `asyncio.to_thread` takes no time here."""
        future: asyncio.Future[T] = self.create_future()
        try:
            with no_loop_running():
                future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass


@contextmanager
def no_loop_running() -> Iterator[None]:
    """As in a thread: no loop runs here. So a virtual loop runs inside a test that is itself a coroutine."""
    outer = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(outer)
