"""Machines: workers' timers over one store in virtual time, which can be killed, held up, and kept from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from streamiter import App
from streamiter.app import AppEvent
from streamiter.app.kit import Kit, Pools
from streamiter.app.runtime import Runtime
from streamiter.app.threads import Inline
from streamiter.app.ticking import WorkerTimers, timers_of
from streamiter.app.virtual.loop import VirtualLoop
from streamiter.app.virtual.process import WALL_START
from streamiter.app.virtual.times import Times
from streamiter.errors import TransientError
from streamiter.store import Row, Store, Table
from streamiter.store.memory import MemoryStore

FAILOVER = 10


class LoopClock:
    """A clock that shows the loop's time; the wall clock may be set."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, ahead: float = 0.0) -> None:
        self._loop = loop
        self.ahead = ahead

    def now(self) -> float:
        return WALL_START + self._loop.time() + self.ahead

    def monotonic(self) -> float:
        return self._loop.time()

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody sleeps on an event loop")


class Everything:
    """One virtual loop, on which all machines of a test run."""

    name = "the test"

    def __init__(self, times: Times) -> None:
        self._times = times
        self.loop = VirtualLoop(lambda: times.now_us)

    @property
    def next_us(self) -> int | None:
        return self._times.now_us if self.loop.is_ready else self.loop.due_us

    def step(self) -> None:
        self.loop.step()


def run_virtually(main: Coroutine[Any, Any, None]) -> None:
    """Runs it to its end, in no time."""
    times = Times()
    everything = Everything(times)
    times.add(everything)
    task = everything.loop.create_task(main)
    assert times.run_until(86_400_000_000, task.done), "nothing is due, and nothing will ever be"
    everything.loop.close()
    task.result()


class Moody(Store):
    """One worker's way to a store, which can be broken for a while."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store or MemoryStore()
        self.is_gone = False

    def _reached(self) -> Store:
        if self.is_gone:
            raise TransientError("the store is gone")
        return self._store

    def scan(self, table: Table) -> list[Row]:
        return self._reached().scan(table)

    def read(self, table: Table, key: str) -> Row | None:
        return self._reached().read(table, key)

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        return self._reached().write(table, row, expected)

    def delete(self, table: Table, key: str, expected: int) -> None:
        self._reached().delete(table, key, expected)

    def tables(self, kind: str) -> list[Table]:
        return self._reached().tables(kind)


class Machine:
    """A worker that runs an app's timers, and can be killed."""

    def __init__(self, app: App, store: Store, *, ahead: float = 0.0) -> None:
        self.events: list[AppEvent] = []
        self.errors: list[BaseException] = []
        app.clock = self.clock = LoopClock(asyncio.get_running_loop(), ahead=ahead)
        self.kit = Kit(
            store, app.clock, Pools(Inline(), Inline(), Inline(), Inline()), self.events.append, self.errors.append
        )
        self.parts: list[Runtime | WorkerTimers] = list(timers_of(app, app.timers.values(), self.kit))
        for part in self.parts:
            part.start()

    async def kill(self) -> None:
        """As if the process had ended: nothing is released."""
        for part in self.parts:
            await part.close()

    async def stop(self) -> None:
        """As SIGTERM does."""
        for part in self.parts:
            part.leave()
        for part in self.parts:
            await part.left.wait()
            await part.close()

    def told(self, kind: type[AppEvent]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]


def make_app(name: str, grace: float = 30) -> App:
    return App("shop", store="memory:", worker_id=name, failover=FAILOVER, grace=grace)


def virtually(test: Callable[[], Any]) -> Callable[[], None]:
    def wrapped() -> None:
        run_virtually(test())

    wrapped.__name__ = test.__name__
    return wrapped
