"""The app: processors, timers and a store under one name; what users declare, and run in as many places as they like."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from streamiter.app.clock import WorkerClock
from streamiter.app.declared import declare
from streamiter.app.events import AppEvent
from streamiter.app.garbage import passing_over_what_lasts
from streamiter.app.observer import Observer
from streamiter.app.policies import Halt, Policy
from streamiter.app.processor import Processor
from streamiter.app.signals import stopping_by_signals
from streamiter.app.stats import AppStats
from streamiter.app.timers import Schedule, Timer, cron, declare_timer, every
from streamiter.app.worker import AppWorker
from streamiter.clock import Clock, microseconds
from streamiter.errors import InvalidOption
from streamiter.lease import Pace
from streamiter.log import Log
from streamiter.source.base import Source
from streamiter.store import Store
from streamiter.stream import options
from streamiter.topic import Codec, Topic
from streamiter.topic.keys import PartitionBy
from streamiter.topic.topic import T

if TYPE_CHECKING:
    from streamiter.app.virtual.trial import Trial
    from streamiter.app.virtual.world import Turnable

logger = logging.getLogger("streamiter.app")

HALT = Halt()

F = TypeVar("F", bound=Callable[..., Any])


class App:
    """Processors under one name. The processes that run it, on one machine or many, share the work through the store.

    `store` is a URL (sqlite:///shop.db, postgresql://..., redis://..., dynamodb://TABLE, kcl+dynamodb://TABLE, memory:) or
    a Store; by default a SQLite file named after the app. `failover` is after how many seconds another worker takes over from
    one that does not answer; `grace` how long records that are being processed may take once the app is to stop.
    """

    def __init__(
        self,
        name: str,
        *,
        store: str | Store | None = None,
        failover: float = 10.0,
        grace: float = 30.0,
        checkpoint_every: float | tuple[float, int] = (1.0, 1000),
        worker_id: str | None = None,
        on_event: Callable[[AppEvent], Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not isinstance(name, str) or not name or not name.isprintable() or "/" in name:
            raise InvalidOption(f"an app's name is a word without slashes, such as 'shop', not {name!r}")
        options.check_seconds("failover", failover)
        options.check_seconds("grace", grace)
        options.check_clock(clock)
        if on_event is not None and not callable(on_event):
            raise InvalidOption(f"on_event= takes a function of one event, not a {type(on_event).__name__}")
        if worker_id is not None and (not isinstance(worker_id, str) or not worker_id.isprintable()):
            raise InvalidOption(f"worker_id= takes a name, not {worker_id!r}")
        seconds, records = checkpoint_every if isinstance(checkpoint_every, tuple) else (checkpoint_every, 1000)
        self.name = name
        self.store: str | Store = f"sqlite:///{name}.db" if store is None else store
        self.pace = Pace(microseconds(failover), microseconds(grace), microseconds(seconds), records)
        self.worker_id = worker_id or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self.clock: Clock = WorkerClock() if clock is None else clock
        self.processors: dict[str, Processor] = {}
        self.timers: dict[str, Timer] = {}
        self.topics: dict[str, Topic[Any]] = {}
        self.on_event = on_event
        self.observer = on_event if isinstance(on_event, Observer) else Observer()
        self._worker: AppWorker | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"<App {self.name}: {', '.join(self.processors) or 'no processors yet'}>"

    # -- what users declare

    def topic(
        self,
        log: str | Log,
        *,
        record: type[T] | None = None,
        partition_by: PartitionBy = None,
        partitions: int | None = None,
        grows: bool = False,
        codec: Codec | None = None,
        name: str | None = None,
        patience: float | None = None,
        on_doubt: Literal["raise", "repeat"] = "raise",
        in_flight: int = 10_000,
        clock: Clock | None = None,
    ) -> Topic[T]:
        """A Topic that the app knows by its name: `streamiter send` finds it, and in `app.test` it is in memory."""
        found = Topic(
            log,
            record=record,
            partition_by=partition_by,
            partitions=partitions,
            grows=grows,
            codec=codec,
            name=name,
            patience=patience,
            on_doubt=on_doubt,
            in_flight=in_flight,
            clock=clock,
        )
        if found.title in self.topics:
            raise InvalidOption(f"{self.name} has a topic {found.title!r} already; say name= for one of them")
        self.topics[found.title] = found
        return found

    def processor(
        self,
        source: str | Source[Any],
        *,
        name: str | None = None,
        order: Literal["shard", "key", "total"] = "shard",
        concurrency: int = 1,
        size: int = 100,
        within: float = 1.0,
        start: Any = "trim_horizon",
        on_error: Policy = HALT,
        where: Callable[[Any], bool] | str | None = None,
        middleware: Sequence[Any] = (),
        model: Any = None,
        key: Callable[[Any], Any] | None = None,
        in_flight: int = 1000,
        acks: Literal["lease", "group"] = "lease",
    ) -> Callable[[F], F]:
        """Declares a processor: the function, or class, below gets the source's records.

        Its first parameter says what it gets: `record`, `value` (what `model` makes of it), `batch` (up to `size` records of
        a lease, gathered `within` so many seconds), or `events`; a second one may be `lease`. A class has `process(batch)`.

        order: "shard" reads each shard in order, its parents first; "key" works on up to `concurrency` keys of a shard at a
        time, each key in order; "total" has one process read everything in one order, while the others stand by.
        start: where reading begins when nothing was read before: "trim_horizon", or a time (a datetime, an arrow, text).
        on_error: what becomes of a record on which the function raises an error: Halt(), Ignore(), Quarantine(), Retry().
        where: only records for which it is true are handed over; the others count as processed.
        key: what a record's key is, with order="key"; by default the row's key, or the partition key.
        in_flight: how many records of a lease wait or are worked on at most.
        acks: "group" shares a consumer group of Redis, named as the processor, with other programs (XREADGROUP, XACK).
        """

        def declared(function: F) -> F:
            found = declare(
                function,
                source=source,
                name=name,
                order=order,
                concurrency=concurrency,
                size=size,
                within=within,
                start=start,
                on_error=on_error,
                where=where,
                middleware=middleware,
                model=model,
                key=key,
                in_flight=in_flight,
                acks=acks,
            )
            if found.name in self.processors:
                raise InvalidOption(f"{self.name} has a processor {found.name!r} already; say name= for one of them")
            if self._worker is not None:
                raise InvalidOption("processors are declared before the app runs")
            self.processors[found.name] = found
            return function

        return declared

    def timer(self, seconds: float, *, on_leader: bool = False, name: str | None = None) -> Callable[[F], F]:
        """Declares a timer: the function below runs at each multiple of so many seconds since 1970: 60 is each full minute.

        It runs in each worker, or, with `on_leader`, in one of them: then it may take `lease`, with a fence for its effects.
        Runs that could not begin in time are skipped and told; an error is told, and the timer goes on.
        """
        return self._timed(every(seconds), on_leader, name)

    def cron(
        self, expression: str, *, timezone: str | tzinfo = "UTC", on_leader: bool = False, name: str | None = None
    ) -> Callable[[F], F]:
        """As `timer`, but at the moments of a cron expression: minute, hour, day, month, weekday in that time zone."""
        return self._timed(cron(expression, timezone), on_leader, name)

    def _timed(self, schedule: Schedule, on_leader: bool, name: str | None) -> Callable[[F], F]:
        def declared(function: F) -> F:
            found = declare_timer(function, schedule, name=name, on_leader=on_leader)
            if found.name in self.timers:
                raise InvalidOption(f"{self.name} has a timer {found.name!r} already; say name= for one of them")
            if self._worker is not None:
                raise InvalidOption("timers are declared before the app runs")
            self.timers[found.name] = found
            return function

        return declared

    # -- running

    def run(self, *, only: Sequence[str] | None = None) -> None:
        """Runs until SIGTERM, SIGHUP or Ctrl-C: nothing new is delivered then, what runs may finish, leases are released.

        A second SIGTERM or Ctrl-C ends it at once. What a processor raises, where its policy is Halt(), comes out of here.
        `only`: the names of the processors and timers that run here; all others do not.
        """
        with passing_over_what_lasts():
            asyncio.run(self._run(only))

    async def serve(self, *, only: Sequence[str] | None = None) -> None:
        """Runs inside your own event loop until `stop()`. Cancelling it stops it the same way. `only` as for `run`."""
        if self._worker is not None:
            raise InvalidOption(f"{self.name} runs already")
        if not self.processors and not self.timers:
            raise InvalidOption(f"{self.name} has nothing to do: declare a processor with @app.processor(source)")
        self._loop = asyncio.get_running_loop()
        worker = self._worker = AppWorker(self, only)
        try:
            await worker.run()
        finally:
            self._worker = self._loop = None

    def stop(self) -> None:
        """Stops the app that runs, as SIGTERM does. Any thread may call it; on the loop's own, nothing more is delivered."""
        loop, worker = self._loop, self._worker
        if loop is None or worker is None:
            return
        if asyncio._get_running_loop() is loop:
            worker.stop()
        else:
            loop.call_soon_threadsafe(worker.stop)

    async def _run(self, only: Sequence[str] | None) -> None:
        with stopping_by_signals(self):
            await self.serve(only=only)

    def test(
        self,
        given: Any = None,
        *,
        until: str | float = "caught_up",
        clock: Turnable | None = None,
        store: Store | None = None,
    ) -> Trial:
        """Runs the processors over what is given, in this thread and in virtual time, and tells what they did.

        `given`: records (mappings are rows that were inserted, bytes are Kinesis payloads, a Record is taken as it is), a
        Simulator, a Source, or a mapping of these by processor; None: the processors' own sources. What an `async def` awaits
        with asyncio.sleep takes no real time. It runs until all that was given is processed, or for
        `until` so many seconds, and then stops as by SIGTERM. Where a policy says Halt(), it raises what run() raises.
        `clock`: of a simulated service behind a Source, to be turned along. `store`: one that the test opens and closes, for
        processors that commit in its database; by default one in memory.
        """
        from streamiter.app.virtual.trial import try_out

        return try_out(self, given, until, clock, store)

    # -- where it stands

    def token(self, processor: str) -> dict[str, Any]:
        """Where a processor's workers stand, as a Stream's token: a Stream, Spark or another fleet can go on from there.

        It is what the store holds. Stop the workers first: what they do afterwards is not in it.
        """
        from streamiter.app.handover import token_of

        return token_of(self, self._named(processor))

    def seed(self, processor: str, token: dict[str, Any]) -> None:
        """Has a processor without leases go on where a token stands: a Stream's, Spark's, Bloop's, or another fleet's."""
        from streamiter.app.handover import seed

        seed(self, self._named(processor), token)

    def _named(self, name: str) -> Processor:
        if name not in self.processors:
            raise InvalidOption(f"{self.name} has no processor {name!r}; it has {', '.join(self.processors) or 'none'}")
        return self.processors[name]

    # -- looking at it

    @property
    def stats(self) -> AppStats:
        """What this worker holds and did."""
        return AppStats(self.name, self.worker_id, {}) if self._worker is None else self._worker.stats()

    def tell(self, event: AppEvent) -> None:
        """Tells `on_event`; an error of its own is logged, and stops nothing."""
        if self.on_event is not None:
            try:
                self.on_event(event)
            except Exception:
                logger.exception("on_event of %s raised an error", self.name)
