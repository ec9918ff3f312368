"""The daemon: runs apps whose processors are children, until a signal asks it to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from streamiter.app import App, AppEvent
from streamiter.app.clock import WorkerClock
from streamiter.app.signals import stopping_by_signals
from streamiter.clock import Clock
from streamiter.errors import InvalidOption
from streamiter.locate import locate
from streamiter.multilang.command import Command, command_of
from streamiter.multilang.crew import Crew
from streamiter.multilang.guarding import Guard
from streamiter.multilang.pool import Pool
from streamiter.multilang.properties import Properties, words_of
from streamiter.source.base import Source
from streamiter.source.kinesis import KinesisStreams
from streamiter.store import Store
from streamiter.store.kcl import KCLStore

logger = logging.getLogger("streamiter.multilang")

RECORDS: Final = 1000  # how many go into a message by default
GRACE_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """One app of the daemon: what it reads, where it keeps its leases, which command its children run."""

    name: str
    sources: Mapping[str, Source[Any]]  # each by the name under which its leases are kept
    store: str | Store
    command: Command
    start: Any = "trim_horizon"  # as App.processor takes it; "latest" is the moment at which the daemon begins
    records: int = RECORDS
    failover: float = 10.0
    grace: float = GRACE_SECONDS
    worker_id: str | None = None
    children: int | None = None  # how many children share all leases; None: each lease has its own
    wants_empty: bool = False
    pause: float = 1.0  # after a child failed; doubles each time, until a checkpoint moves


class Daemon:
    """Runs plans. `stop()` releases all leases and ends all children."""

    def __init__(
        self,
        plans: Sequence[Plan],
        *,
        on_event: Callable[[AppEvent], Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not plans:
            raise InvalidOption("nothing is to be read: name a source, or a file of properties")
        self._guard = Guard()
        self._pools: list[Pool] = []
        self._is_stopping = False
        self.apps = [self._app(plan, on_event, clock or WorkerClock()) for plan in plans]
        self.name = ", ".join(dict.fromkeys(app.name for app in self.apps))

    def run(self) -> None:
        """Runs until SIGTERM, SIGHUP or Ctrl-C; then the children shut down, and the leases are released.

        A second signal ends it at once.
        """
        asyncio.run(self._run())

    async def serve(self) -> None:
        """Runs inside your own event loop, until `stop()`. If one app fails, the others stop, too."""
        running = [asyncio.ensure_future(app.serve()) for app in self.apps]
        try:
            if self._is_stopping:
                await asyncio.sleep(0)
                self.stop()
            await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
            self.stop()
            await asyncio.gather(*running)
        except asyncio.CancelledError:
            for app in running:
                app.cancel()
            await asyncio.wait(running)
            raise
        finally:
            for pool in self._pools:
                await pool.close()
            await self._guard.close()

    def stop(self) -> None:
        """Does what SIGTERM does. Any thread may call it."""
        self._is_stopping = True
        for app in self.apps:
            app.stop()

    # -- inside

    async def _run(self) -> None:
        with stopping_by_signals(self):
            await self.serve()

    def _app(self, plan: Plan, on_event: Callable[[AppEvent], Any] | None, clock: Clock) -> App:
        app = App(
            plan.name,
            store=plan.store,
            failover=plan.failover,
            grace=plan.grace,
            worker_id=plan.worker_id,
            on_event=on_event,
            clock=clock,
        )
        pool = Pool(plan.command, self._guard, plan.children)
        self._pools.append(pool)
        start = plan.start if plan.start != "latest" else datetime.fromtimestamp(clock.now(), UTC)
        for name, source in plan.sources.items():
            crew: Any = Crew(
                name, pool, clock, grace_seconds=plan.grace, pause_seconds=plan.pause, wants_empty=plan.wants_empty
            )
            app.processor(source, size=plan.records, in_flight=2 * plan.records, within=0.001, start=start)(crew)
        return app


def plan_of(properties: Properties, command: Callable[[Sequence[str]], Command] = command_of) -> Plan:
    """The plan of a KCL application's properties. Its leases are the rows of its own table."""
    values = properties.values
    region = values.get("regionName")
    made = command(words_of(properties.needed("executableName")))
    timeout = properties.number("timeoutInSeconds")
    grace_ms, failover_ms = properties.number("shutdownGraceMillis"), properties.number("failoverTimeMillis")
    endpoint, start = values.get("dynamoDBEndpoint"), _start_of(properties)
    return Plan(
        name=values["applicationName"],
        sources={name_of(_stream_of(properties)): _source_of(properties, region)},
        store=KCLStore(
            values["applicationName"], endpoint_url=endpoint, region=region, starts_at_latest=start == "latest"
        ),
        command=made if timeout is None else replace(made, seconds=float(timeout)),
        start=start,
        records=properties.number("maxRecords") or RECORDS,
        failover=10.0 if failover_ms is None else failover_ms / 1000,
        grace=GRACE_SECONDS if grace_ms is None else grace_ms / 1000,
        worker_id=values.get("workerId") or None,
        wants_empty=properties.flag("callProcessRecordsEvenForEmptyRecordList"),
    )


def _source_of(properties: Properties, region: str | None) -> Source[Any]:
    given: Mapping[str, Any] = {"endpoint_url": properties.values.get("kinesisEndpoint"), "region": region}
    name = _stream_of(properties)
    source: Source[Any] = locate(name, **given) if name.startswith("arn:") else KinesisStreams(name, **given)
    idle_ms = properties.number("idleTimeBetweenReadsInMillis")
    if idle_ms is not None:
        source.poll_interval = source.idle_interval = idle_ms / 1000
    return source


def _stream_of(properties: Properties) -> str:
    return properties.values.get("streamArn") or properties.values["streamName"]


def _start_of(properties: Properties) -> Any:
    since = properties.number("initialPositionInStreamExtended")
    if since is not None:
        return datetime.fromtimestamp(since, UTC)
    is_oldest = properties.values.get("initialPositionInStream", "").upper() == "TRIM_HORIZON"
    return "trim_horizon" if is_oldest else "latest"


def name_of(url: str) -> str:
    """The name under which a source's leases are kept: the stream's, table's or topic's, from its URL or ARN."""
    if url.startswith("arn:"):
        return (url.split("/")[1:2] or [url.rpartition(":")[2]])[0]
    path, _, query = url.partition("?")
    topic = dict(parse_qsl(query)).get("topic")
    return topic or unquote(path.rstrip("/").rpartition("/")[2]) or "stream"
