"""Ticking: runs an app's timers: some in each worker, the others in the worker that has the leader's lease.

The leader is a lease as any other, and its runs are records of it: handed out while the lease is certain (law 9), waited for
when it is let go, their moments its checkpoint.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from streamiter.app.call import finished, uncancelled
from streamiter.app.events import TimerFailed, TimerMissed
from streamiter.app.forms import Form, Handler
from streamiter.app.held import HeldLease
from streamiter.app.kit import Job, Kit
from streamiter.app.pages import Read
from streamiter.app.policies import Halt
from streamiter.app.processor import Processor
from streamiter.app.reader import Reader
from streamiter.app.runtime import Runtime
from streamiter.app.stats import LeaderStats
from streamiter.app.timers import Missed, Tick, Ticker, Timer
from streamiter.clock import SECOND_US, microseconds
from streamiter.lease import Engine, Lease, Order
from streamiter.lease.lease import SINCE, TOTAL
from streamiter.store import Announcement, Table

if TYPE_CHECKING:
    from streamiter.app.app import App

logger = logging.getLogger("streamiter.app")

LOOK_US = 30 * SECOND_US  # how often we look at the wall clock, since somebody may have set it
LEADER = "leader"


class Runs:
    """Runs timers' functions in one worker. Their errors are reported, and stop nothing."""

    def __init__(self, kit: Kit, lease_key: str) -> None:
        self.kit = kit
        self.running: set[str] = set()
        self._lease_key = lease_key

    def now_us(self) -> int:
        """The wall clock."""
        return microseconds(self.kit.clock.now())

    async def run(self, tick: Tick, lease: HeldLease | None = None) -> None:
        """Makes one run, unless it is too late for it."""
        timer = tick.timer
        if timer.name in self.running:
            self.miss([Missed(timer.name, 1, "its run before is still at work")])
            return
        if timer.is_late(tick.created_us, self.now_us()):
            self.miss([Missed(timer.name, 1, "it could not begin in time")])
            return
        self.running.add(timer.name)
        call = partial(timer.function, lease) if timer.wants_lease else timer.function
        try:
            if timer.is_async:
                await self._await(timer, call)
            else:
                await self.kit.threads.user.call(partial(self._call, timer, call))
        except Exception as error:
            logger.exception("timer %s raised an error; it goes on at its next moment", timer.name)
            self.kit.tell(TimerFailed(timer.name, self._lease_key, type(error).__name__))

    def miss(self, missed: Sequence[Missed]) -> None:
        """Reports runs that were missed."""
        for name, count, why in missed:
            logger.warning("timer %s: %d run%s missed: %s", name, count, "" if count == 1 else "s", why)
            self.kit.tell(TimerMissed(name, self._lease_key, count, why))

    async def _await(self, timer: Timer, call: Any) -> None:
        try:
            await uncancelled(call())
        finally:
            self.running.discard(timer.name)

    def _call(self, timer: Timer, call: Any) -> None:
        try:  # here on the thread: it works on when nobody waits for it any more
            finished(call())
        finally:
            self.running.discard(timer.name)


class WorkerTimers:
    """The timers that run in each worker."""

    def __init__(self, timers: Sequence[Timer], kit: Kit, grace_us: int) -> None:
        self.left = asyncio.Event()
        self._runs = Runs(kit, "")
        self._ticker = Ticker(timers, self._runs.now_us())
        self._grace_us = grace_us
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_leaving = False

    def start(self) -> None:
        """Begins."""
        self._tick()

    def leave(self) -> None:
        """Begins no more runs. Those under way may finish within the grace."""
        if not self._is_leaving:
            self._is_leaving = True
            self._later(self._grace_us, self.left.set)
            self._check_left()

    async def close(self) -> None:
        """Ends what still runs."""
        self._cancel()
        self.left.set()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- inside

    def _tick(self) -> None:
        now_us = self._runs.now_us()
        ticks, missed = self._ticker.take(now_us, self._runs.running)
        self._runs.miss(missed)
        for tick in ticks:
            task = asyncio.get_running_loop().create_task(self._runs.run(tick))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        self._later(_rest_us(self._ticker, now_us), self._tick)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._runs.kit.fail(error)
        self._check_left()

    def _check_left(self) -> None:
        if self._is_leaving and not self._tasks:
            self._cancel()
            self.left.set()

    def _later(self, rest_us: int, call: Any) -> None:
        self._cancel()
        self._timer = asyncio.get_running_loop().call_later(rest_us / SECOND_US, call)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Ticks(Reader):
    """The leader's reader: what is due, page by page, from the moments that its lease's checkpoint names."""

    def __init__(self, timers: Sequence[Timer], runs: Runs, lease: Lease) -> None:
        self._runs = runs
        self._ticker = Ticker(timers, runs.now_us(), _moments(lease.checkpoint))

    async def turn(self, now_us: int) -> Read:
        """The runs that are due now, and how long to rest until more may be."""
        wall_us, before = self._runs.now_us(), dict(self._ticker.last)
        ticks, missed = self._ticker.take(wall_us, self._runs.running)
        self._runs.miss(missed)
        handed: Any = ticks
        return Read(handed, self._places(ticks, before), rest_us=_rest_us(self._ticker, wall_us))

    async def restart(self) -> None:
        """There are no gaps in time."""

    def _places(self, ticks: Sequence[Tick], before: Mapping[str, int]) -> list[str]:
        """The checkpoint behind each run. A run that is not over counts as missed if the leader changes."""
        waiting = {tick.timer.name for tick in ticks}
        last = {name: moment_us for name, moment_us in self._ticker.last.items() if name not in waiting}
        last |= {name: moment_us for name, moment_us in before.items() if name in waiting}
        places = []
        for tick in ticks:
            last[tick.timer.name] = tick.created_us
            places.append(json.dumps(last, sort_keys=True))
        return places


def timers_of(app: App, timers: Iterable[Timer], kit: Kit) -> Iterator[Runtime | WorkerTimers]:
    """The parts that run these timers of the app in one worker."""
    timers = list(timers)
    leaders = [timer for timer in timers if timer.on_leader]
    others = [timer for timer in timers if not timer.on_leader]
    if leaders:
        yield leader_runtime(app, leaders, kit)
    if others:
        yield WorkerTimers(others, kit, app.pace.grace_us)


def leader_runtime(app: App, timers: Sequence[Timer], kit: Kit) -> Runtime:
    """A runtime that competes for the leader's lease, and runs the timers while it has it."""
    runs = Runs(kit, LEADER)
    engine = Engine(
        app.worker_id,
        microseconds(app.clock.monotonic()),
        shards=None,
        pace=app.pace,
        order=Order(by_key=True, concurrency=len(timers), buffer=1_000_000),
        wall_us=microseconds(app.clock.now()),
    )
    # Tables of their own: in a KCL's table each lease is one of a shard.
    tables = Table(LEADER, app.name), Table("candidates", app.name)

    def no_shards(_: str | None) -> Any:
        raise AssertionError("the leader's one lease has no shards")

    word = Announcement(app.name, "", LEADER, app.worker_id, "", valid_seconds=app.pace.failover_us / SECOND_US)
    return Runtime(
        engine, Job(_processor(runs), tables, lambda lease: Ticks(timers, runs, lease), no_shards, word), kit
    )


def leader_stats(engine: Engine, now_us: int) -> LeaderStats | None:
    """Who leads, as the engine of the leader's one lease knows."""
    lease = engine.owned(TOTAL, now_us)
    return None if lease is None else LeaderStats(str(lease.owner), lease.fence, lease.progress.get(SINCE))


def _processor(runs: Runs) -> Processor:
    nothing: Any = None  # its reader is made of timers
    return Processor(
        name=LEADER,
        source=nothing,
        handler=Handler(Form.RECORD, runs.run, wants_lease=True, is_async=True),
        order="key",
        concurrency=1,
        size=1,
        within_seconds=0,
        start=None,
        on_error=Halt(),
        where=None,
        middleware=(),
        model=None,
        in_flight=1,
        key=_timer_of,
    )


def _timer_of(tick: Any) -> str:
    """Runs of one timer come one after the other; those of different timers side by side."""
    name: str = tick.timer.name
    return name


def _moments(checkpoint: str) -> dict[str, int]:
    return json.loads(checkpoint) if checkpoint.startswith("{") else {}


def _rest_us(ticker: Ticker, now_us: int) -> int:
    next_us = ticker.next_us
    return LOOK_US if next_us is None else max(1, min(LOOK_US, next_us - now_us))
