"""An app's processor as a child: its function, model=, where=, middleware and on_error= work as in a worker, shard by shard."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, cast

from streamiter.app import App
from streamiter.app.desk import Desk
from streamiter.app.forms import Form
from streamiter.app.processor import Processor
from streamiter.app.threads import Threads
from streamiter.app.works import Work, work_for
from streamiter.errors import InvalidOption
from streamiter.multilang.processor.app_desk import ChildDesk, GivenLease
from streamiter.multilang.processor.app_records import records_of
from streamiter.multilang.processor.forms import Hooks, awaited
from streamiter.multilang.processor.record import Batch, ChildLease, LastCall

logger = logging.getLogger("streamiter.multilang")


def hooks_of_app(app: App, name: str | None) -> Hooks:
    """The hooks of one of the app's processors. Raises InvalidOption if it is not clear which, or if it cannot be a child."""
    names = ", ".join(app.processors) or "none"
    if name is None and len(app.processors) != 1:
        raise InvalidOption(f"{app.name} has several processors, or none ({names}): name one of them")
    if name is not None and name not in app.processors:
        raise InvalidOption(f"{app.name} has no processor {name!r}; it has {names}")
    processor = next(iter(app.processors.values())) if name is None else app.processors[name]
    if processor.order == "total":
        raise InvalidOption(
            f"{processor.name} has order='total', and a child gets one shard: run it with streamiter worker"
        )
    if app.timers:
        logger.warning("%s: its timers do not run in a child: %s", app.name, ", ".join(app.timers))
    work = _AppWork(processor)
    return Hooks(
        awaited(work.process),
        initialize=awaited(work.initialize),
        lease_lost=awaited(work.lease_lost),
        shard_ended=awaited(work.shard_ended),
        shutdown_requested=awaited(work.shutdown_requested),
    )


class _AppWork:
    """One shard of one processor."""

    def __init__(self, processor: Processor) -> None:
        self._processor = processor
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads = Threads("child", max(1, processor.concurrency))
        self._work: Work | None = None

    async def initialize(self, lease: ChildLease) -> None:
        """Begins the work on the shard."""
        self._desk = ChildDesk(self._processor, GivenLease(lease.key))

    async def process(self, batch: Batch) -> None:
        """Returns when all records are processed, or `on_error=` has dealt with them; raises if it says that the app ends."""
        records = records_of(self._processor, batch)
        if self._work is None:
            self._work = work_for(cast("Desk", self._desk), self._processor, self._threads, self._spawn)
        await self._desk.hand_out(records, self._work)

    async def lease_lost(self, _: LastCall) -> None:
        """Cancels what still runs."""
        await self._close("lost")

    async def shard_ended(self, _: LastCall) -> None:
        """The shard has no more records."""
        if self._work is not None:
            self._work.end()
        await self._close("completed")

    async def shutdown_requested(self, _: LastCall) -> None:
        """Tells the processor that the lease will be let go."""
        if self._work is not None:
            self._work.stop()
            await self._settle()

    async def _close(self, why: str) -> None:
        if self._work is not None:
            work, self._work = self._work, None
            if self._processor.handler.form is Form.EVENTS:
                work.stop()  # its function sees the iterator end, and returns
            work.close(why)
            await self._settle()

    async def _settle(self) -> None:
        """Waits until all that the work has begun is done. An `events` function is not waited for: its iterator ends later."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
