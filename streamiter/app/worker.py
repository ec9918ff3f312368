"""The worker: runs all processors of an app in one process: opens what they share, starts them, and ends them together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from streamiter.app.forms import Form
from streamiter.app.kit import Job, Kit, Pools
from streamiter.app.pages import ShardPages
from streamiter.app.processor import Processor
from streamiter.app.reader import Reader, ShardReader
from streamiter.app.runtime import Runtime
from streamiter.app.stats import AppStats
from streamiter.app.threads import Calls, Threads
from streamiter.app.ticking import WorkerTimers, leader_stats, timers_of
from streamiter.app.timers import Timer
from streamiter.app.total import TotalReader
from streamiter.clock import SECOND_US, Clock, microseconds
from streamiter.errors import InvalidOption, StreamiterError
from streamiter.lease import Engine, Lease, Order, Shards
from streamiter.lease.lease import AT_TIME, START
from streamiter.locate import locate
from streamiter.reading.patience import Patience, retrying
from streamiter.source.base import Source
from streamiter.source.sharing import SharedSource
from streamiter.store import Announcement, Table
from streamiter.store.locate import open_store
from streamiter.stream.starting import parse_position
from streamiter.token import Token

if TYPE_CHECKING:
    from streamiter.app.app import App

logger = logging.getLogger("streamiter.app")

PATIENCE_US = 60 * SECOND_US  # how long we try at the start while a service does not answer
STORE_CALLS = 4  # at once; a store's connection serves one at a time in any case
SOURCE_CALLS = 32  # for each processor, so that none waits for another's calls
WORD_CALLS = 2  # for each processor: one listens, the other announces
USER_CALLS = 1000  # threads start as they are needed; so many that a function that hangs takes none from others


class AppWorker:
    """Runs an app's processors until it is stopped, or one of them fails. `make_calls` gives threads for calls that block."""

    def __init__(self, app: App, only: Sequence[str] | None, make_calls: Callable[[str, int], Calls] = Threads) -> None:
        self._app = app
        self._make_calls = make_calls
        self._processors, self._timers = selected(app, only)
        self._runtimes: dict[str, Runtime] = {}
        self._parts: list[Runtime | WorkerTimers] = []
        self._calls: list[Calls] = []
        self._sources: list[tuple[Source[Any], Calls]] = []
        self._error: BaseException | None = None
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Runs until all leases are released. Raises the error of a processor or of the store."""
        app = self._app
        store = open_store(app.store)
        try:
            store_calls, user_calls = self._threads("store", STORE_CALLS), self._threads("user", USER_CALLS)

            def kit() -> Kit:
                pools = Pools(
                    store_calls, self._threads("source", SOURCE_CALLS), user_calls, self._threads("words", WORD_CALLS)
                )
                return Kit(store, app.clock, pools, app.tell, self._fail, app.observer)

            if await self._open_all(kit):
                self._parts = [*self._runtimes.values(), *timers_of(app, self._timers, kit())]
                for part in self._parts:
                    part.start()
                await self._until_left()
        finally:
            for part in self._parts:
                await part.close()
            for source, calls in self._sources:
                await calls.call(source.close)
            for calls in self._calls:
                calls.close()
            store.close()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Lets all leases go, once the calls under way are done."""
        if not self._stopping.is_set():
            self._stopping.set()
            for part in self._parts:
                part.leave()

    def stats(self) -> AppStats:
        """What this worker holds, and what it did."""
        processors = {name: told.stats() for name, told in self._runtimes.items()}
        now_us = microseconds(self._app.clock.monotonic())
        others = [part for part in self._parts if isinstance(part, Runtime) and part not in self._runtimes.values()]
        leader = leader_stats(others[0].engine, now_us) if others else None
        return AppStats(self._app.name, self._app.worker_id, processors, leader)

    # -- inside

    async def _until_left(self) -> None:
        waits = [asyncio.ensure_future(part.left.wait()) for part in self._parts]
        everyone = asyncio.gather(*waits)
        try:
            while True:
                try:
                    await asyncio.shield(everyone)
                    return
                except asyncio.CancelledError:
                    if self._stopping.is_set():
                        raise  # twice: at once
                    self.stop()
        finally:
            for wait in waits:
                wait.cancel()

    def _fail(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error
            logger.error("%s stops: %s", self._app.name, error)
            if not isinstance(error, StreamiterError):  # of ours, perhaps: then nothing is sure to be released
                pace = self._app.pace
                seconds = (pace.grace_us + pace.failover_us) / SECOND_US
                asyncio.get_running_loop().call_later(seconds, self._give_up)
        self.stop()

    def _give_up(self) -> None:
        for part in self._parts:
            part.left.set()

    def _threads(self, name: str, most: int) -> Calls:
        calls = self._make_calls(name, most)
        self._calls.append(calls)
        return calls

    async def _open_all(self, make_kit: Callable[[], Kit]) -> bool:
        """Opens all sources. Returns False if the app was stopped meanwhile: a service may not answer for a long time."""
        opening = asyncio.ensure_future(self._open_each(make_kit))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                return False
            await opening
            return True
        finally:
            opening.cancel()
            stopping.cancel()

    async def _open_each(self, make_kit: Callable[[], Kit]) -> None:
        for processor in self._processors:
            self._runtimes[processor.name] = await self._open(processor, make_kit)

    async def _open(self, processor: Processor, make_kit: Callable[[], Kit]) -> Runtime:
        """The runtime of a processor. Checks first that its source exists."""
        kit, source = make_kit(), locate(processor.source)
        self._sources.append((source, kit.threads.source))
        retention_us = await kit.threads.source.call(partial(_look_up, source, self._app.clock))
        if processor.acks == "group" and self._make_calls is Threads:
            source = await kit.threads.source.call(partial(self._shared, processor, source, kit))
        return self._runtime(processor, source, retention_us, kit)

    def _shared(self, processor: Processor, source: Source[Any], kit: Kit) -> Source[Any]:
        """The source, read as a consumer of a group that other programs share."""
        shared = source.shared(processor.name, self._app.name)
        shared.check(partial(kit.store.guard, self._leases(processor), "", "", 0))
        return shared

    def _leases(self, processor: Processor) -> Table:
        return Table("leases", self._app.name, processor.name)

    def _runtime(self, processor: Processor, source: Source[Any], retention_us: int, kit: Kit) -> Runtime:
        app = self._app
        tables = self._leases(processor), Table("workers", app.name, processor.name)
        listing_us = microseconds(source.listing_interval)
        start, now_us, wall_us = (
            _start(processor, app),
            microseconds(app.clock.monotonic()),
            microseconds(app.clock.now()),
        )
        shards = None if processor.order == "total" else Shards(start, retention_us, listing_us, wall_us - now_us)
        engine = Engine(
            app.worker_id,
            now_us,
            shards=shards,
            start=start,
            pace=app.pace,
            order=replace(_order(processor), source=source.name if source.counts_anew else None),
            wall_us=wall_us,
        )

        is_inline = self._make_calls is not Threads

        def reader(lease: Lease) -> Reader:
            if processor.order == "total":
                is_many = processor.hands_out_many
                within = processor.within_seconds if is_many else 0.0
                alone = processor.refuses if is_many and processor.looks_at_each else None
                size = processor.size
                return TotalReader(source, lease, size=size, within_seconds=within, alone=alone, inline=is_inline)
            limit = source.page_limit
            if isinstance(source, SharedSource):
                limit = min(limit, processor.in_flight)  # a record that one consumer of a group has goes to no other
                source.join(lease.key, kit.store.guard(tables[0], lease.key, str(lease.owner), lease.fence))
            return ShardReader(ShardPages(source, lease, limit), kit.threads.source)

        seconds = app.pace.failover_us / SECOND_US
        word = Announcement(app.name, _stream_of(source.name), processor.name, app.worker_id, "", valid_seconds=seconds)
        job = Job(processor, tables, reader, source.list_shards, word, None if is_inline else source)
        return Runtime(engine, job, kit)


def selected(app: App, only: Sequence[str] | None) -> tuple[list[Processor], list[Timer]]:
    """The processors and timers of these names; all of them, where none are named."""
    if only is None:
        return list(app.processors.values()), list(app.timers.values())
    if isinstance(only, str):
        raise InvalidOption(f"only= takes a list of names, such as [{only!r}]")
    if not only:
        raise InvalidOption("only= names nothing to run")
    known = {**app.processors, **app.timers}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise InvalidOption(f"{app.name} has no processor or timer {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    timers = [timer for name, timer in app.timers.items() if name in only]
    left_out = [name for name, timer in app.timers.items() if timer.on_leader and name not in only]
    if left_out and any(timer.on_leader for timer in timers):
        raise InvalidOption(
            f"the leader runs all timers that have on_leader=True: name {', '.join(left_out)} too, or give that timer an app "
            "of its own"
        )
    return [processor for name, processor in app.processors.items() if name in only], timers


def _look_up(source: Source[Any], clock: Clock) -> int:
    """How long the source holds records. Raises if there is no such stream; waits for a service that does not answer."""
    return retrying(lambda: (source.name, source.retention_us), clock, Patience(PATIENCE_US))[1]


def _stream_of(name: str) -> str:
    """A stream's name, without the rest of its ARN, or the app of its log."""
    if name.startswith("arn:"):
        return (name.split("/")[1:2] or [name])[0]
    return name.rpartition(":")[2].rpartition(".")[2]


def _start(processor: Processor, app: App) -> str:
    """The processor's start, in the engine's notation."""
    position = parse_position(processor.start, "", app.clock)
    if not isinstance(position, Token) or position.lanes:
        raise InvalidOption(
            f"{processor.name}: start= takes 'trim_horizon' or a time; seed leases from a token by `streamiter leases import`"
        )
    return START if position.start is None else f"{AT_TIME}/{position.start}"


def _order(processor: Processor) -> Order:
    if processor.order == "total":  # nothing is read on before all that was read is acked: see total.py
        is_open = processor.handler.form is Form.EVENTS
        return Order(batch=processor.size, buffer=1, is_open=is_open)
    if processor.order == "key":
        return Order(by_key=True, concurrency=processor.concurrency, buffer=processor.in_flight)
    if processor.handler.form is Form.EVENTS:
        return Order(batch=processor.in_flight, buffer=processor.in_flight, is_open=True)
    if processor.handler.form is Form.KEEPER:
        return Order(batch=processor.in_flight, buffer=processor.in_flight, is_open=True, by_hand=True)
    within_us = microseconds(processor.within_seconds) if processor.hands_out_many and processor.size > 1 else 0
    return Order(batch=processor.size, buffer=processor.in_flight, within_us=within_us)
