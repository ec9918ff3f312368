"""The process: one worker of an app, simulated: its clock, its loop; it can be killed, stand still, and be asked to leave."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from streamiter.app.events import AppEvent
from streamiter.app.kit import Kit
from streamiter.app.processor import Processor
from streamiter.app.runtime import Runtime
from streamiter.app.threads import Calls
from streamiter.app.virtual.calls import Sky, SourceCalls, StoreCalls, UserCalls
from streamiter.app.virtual.loop import VirtualLoop
from streamiter.app.virtual.times import Times
from streamiter.app.worker import AppWorker
from streamiter.source.base import Source
from streamiter.store import Store

if TYPE_CHECKING:
    from streamiter.app.app import App

WALL_START = 1_750_000_000.0  # 2025-06-15T15:06:40Z
_LAST_ROUNDS = 200  # in which what a killed worker left behind is cleared away


class ProcessClock:
    """The clock of one process: it starts anywhere, and may run too fast or too slow."""

    def __init__(self, times: Times, rate: float = 1.0, offset_us: int = 0) -> None:
        self._times = times
        self.rate = rate
        self._offset_us = offset_us

    @property
    def us(self) -> int:
        """Microseconds that never run backwards."""
        return int(self._times.now_us * self.rate) + self._offset_us

    def when_us(self, due_us: int) -> int:
        """The true moment at which this clock shows that."""
        return int((due_us - self._offset_us) / self.rate) + 1

    def monotonic(self) -> float:
        """The same, in seconds."""
        return self.us / 1e6

    def now(self) -> float:
        """Seconds since 1970."""
        return WALL_START + self._times.now_us / 1e6

    def sleep(self, seconds: float) -> None:
        """Not to be had: it would hold up all workers."""
        raise RuntimeError(
            "in virtual time nothing blocks: write the processor as async def, and await asyncio.sleep()"
        )


class _Repeatable(AppWorker):
    """A worker whose jitter a seed repeats, and which tells when it begins to stop."""

    def __init__(self, app: App, make_calls: Callable[[str, int], Calls], on_stop: Callable[[], None]) -> None:
        super().__init__(app, None, make_calls)
        self._on_stop = on_stop

    def stop(self) -> None:
        self._on_stop()
        super().stop()

    def _runtime(self, processor: Processor, source: Source[Any], retention_us: int, kit: Kit) -> Runtime:
        runtime = super()._runtime(processor, source, retention_us, kit)
        runtime.chance = Random(f"{self._app.worker_id} {processor.name}")
        return runtime


class WorkerProcess:
    """Runs one worker of the app. `processors`, `store` and `on_event` stand in for the app's own."""

    def __init__(self, app: App, name: str, times: Times, sky: Sky, clock: ProcessClock) -> None:
        self.app = copy.copy(app)
        self.app.worker_id = self.name = name
        self.app.clock = self.clock = clock
        self.times = times
        self.is_dead = False
        self.is_told_to_leave = False
        self.leaving_us: int | None = None  # since when it stops, of itself or since it was asked to
        self.error: BaseException | None = None
        self.on_end: Callable[[WorkerProcess], None] | None = None  # told when it ends by itself
        self._sky = sky
        self._is_still = False
        self._loop = VirtualLoop(lambda: clock.us)
        self._loop.set_exception_handler(self._stumbled)
        self._worker: AppWorker | None = None
        self._task: asyncio.Task[None] | None = None

    # -- life

    def start(self, processors: Mapping[str, Processor], store: Store, on_event: Callable[[AppEvent], None]) -> None:
        """It begins."""
        self.app.processors = dict(processors)
        self.app.store = store
        self.app.on_event = on_event
        self._worker = _Repeatable(self.app, self._calls, self._stops)
        self._task = self._loop.create_task(self._worker.run())
        self._task.add_done_callback(self._ended)
        self.times.add(self)

    def kill(self) -> None:
        """It does nothing any more, from now on; not even what a `finally` says."""
        self.is_dead = True
        self.times.remove(self)

    def pause(self) -> None:
        """It stands still, its clock goes on."""
        self._is_still = True

    def go_on(self) -> None:
        """It wakes up."""
        self._is_still = False

    def leave(self) -> None:
        """It is asked to stop, as by SIGTERM."""
        if not self.is_dead:
            self.is_told_to_leave = True
            self._loop.call_soon_threadsafe(self.worker.stop)

    @property
    def is_still(self) -> bool:
        """Whether it stands still."""
        return self._is_still

    @property
    def worker(self) -> AppWorker:
        """The worker that runs."""
        assert self._worker is not None
        return self._worker

    def dispose(self) -> None:
        """Clears away what is left of it, once nothing that it does counts any more."""
        self.is_dead = True
        self.on_end = None
        self.times.remove(self)
        for _ in range(_LAST_ROUNDS):
            tasks = asyncio.all_tasks(self._loop)
            if not tasks:
                break
            for task in tasks:
                task.cancel()
            self._loop.step()
        self._loop.set_exception_handler(lambda *_: None)  # told of tasks that do not let themselves be cancelled
        self._loop.close()

    # -- what lets it on

    @property
    def next_us(self) -> int | None:
        """When it is to be let on."""
        if self._is_still:
            return None
        if self._loop.is_ready:
            return self.times.now_us
        due_us = self._loop.due_us
        return None if due_us is None else max(self.times.now_us, self.clock.when_us(due_us))

    def step(self) -> None:
        """One round of its loop."""
        self._loop.step()

    def answer(self, future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
        """The answer to a call of its own arrives."""
        if not self.is_dead:
            self._loop.call_soon_threadsafe(_give, future, result, error)

    # -- inside

    def _calls(self, name: str, _: int) -> Calls:
        if name == "user":
            return UserCalls(self, self._sky)
        return StoreCalls(self, self._sky) if name == "store" else SourceCalls(self, self._sky)

    def _stops(self) -> None:
        if self.leaving_us is None:
            self.leaving_us = self.times.now_us

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.is_dead = True
        self.times.remove(self)
        if not task.cancelled():
            self.error = task.exception()
        if self.on_end is not None:
            self.on_end(self)

    def _stumbled(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None and self.error is None and not self.is_dead:
            self.error = error


def _give(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
