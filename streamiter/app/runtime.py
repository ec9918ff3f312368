"""The runtime of one processor in one worker: does what the engine wishes, and tells the engine the results.

All of it runs on the event loop. Threads make the calls that block: the store's on their own, so that no renewal waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from streamiter.app.announcing import Announcing
from streamiter.app.commit import Behind, Commit
from streamiter.app.desk import Desk
from streamiter.app.events import AppEvent, Completed, GapStands, HandedOver, LeaseLost, LeaseTaken
from streamiter.app.held import HeldLease
from streamiter.app.kit import Held, Job, Kit
from streamiter.app.observer import Span
from streamiter.app.pages import Read, all_shards
from streamiter.app.publishing import Publishing
from streamiter.app.pulse import Pulse
from streamiter.app.stats import ProcessorStats
from streamiter.app.vitals import Vitals, stats_of
from streamiter.app.watching import Resting, Watching
from streamiter.app.works import work_for
from streamiter.clock import SECOND_US, microseconds
from streamiter.errors import Conflict, StreamiterError, TransientError
from streamiter.lease import Engine, Lease, Worker
from streamiter.lease.wishes import (
    Begin,
    DeleteLease,
    DeleteWorker,
    Deliver,
    Drain,
    Fetch,
    Leave,
    ListShards,
    Look,
    Stop,
    Wish,
    WriteLease,
    WriteWorker,
)
from streamiter.store import Table, Write

logger = logging.getLogger("streamiter.app")

CANCEL_SECONDS = 1.0  # how long the user's coroutines may take to end once they are cancelled
RETRY_US = SECOND_US // 2  # after a listing that failed


class Runtime:
    """Drives one engine."""

    def __init__(self, engine: Engine, job: Job, kit: Kit) -> None:
        self.engine = engine
        self.processor = job.processor
        self.chance = Random()
        self.held: dict[tuple[str, int], Held] = {}
        self.counts = {"delivered": 0, "acked": 0, "failed": 0}
        self._kit = kit
        self._leases, self._workers = job.tables
        self._make_reader = job.make_reader
        self._list_page = job.list_page
        self._watching = Watching(job.watched, kit.threads.source, self.spawn, self._fetch_in)
        self._publishing = Publishing(job.watched, job.processor.name, kit.threads.source, self.spawn)
        self._announcing = Announcing(kit.store, job.word, kit.threads.words, self)
        self._tasks: set[asyncio.Task[None]] = set()
        self._burials: list[asyncio.Task[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._is_pumping, self._due_us = False, 0
        self._vitals = Vitals(engine, job.processor.name, kit.clock, kit.tell)
        self._told = self.stats()
        self.left = asyncio.Event()

    # -- life

    def start(self) -> None:
        """Begins."""
        self._pump()
        self._announcing.start()

    def leave(self) -> None:
        """Lets all leases go, once what runs is done (law 15)."""
        self.happen(self.engine.leave)

    async def close(self) -> None:
        """Ends what still runs. If leases were not released, other workers wait until these expire."""
        if self._timer is not None:
            self._timer.cancel()
        self.left.set()
        for held in self.held.values():
            held.work.desk.is_open = False
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CANCEL_SECONDS)  # a coroutine may hold on to its life
        for held in list(self.held.values()):
            await held.reader.close()
        self._tell_work()

    def stats(self) -> ProcessorStats:
        """What this worker holds of the processor, and what it did."""
        return stats_of(self.held.values(), self.counts, self.now_us())

    # -- for the desks

    def now_us(self) -> int:
        """The worker's own clock."""
        return microseconds(self._kit.clock.monotonic())

    def tell(self, event: AppEvent) -> None:
        """Tells `on_event`."""
        self._kit.tell(event)

    def span(self, lease: HeldLease, records: int) -> AbstractContextManager[Span]:
        """A span around a call of the processor's function."""
        return self._kit.observer.span(self.processor.name, lease, records)

    def fail(self, error: BaseException) -> None:
        """Ends the app with this error."""
        self._kit.fail(error)

    def happen(self, event: Callable[[int], None]) -> None:
        """Passes an event to the engine, and does what the engine then wishes."""
        if not self.left.is_set():
            event(self.now_us())
            self._pump()

    def read_again(self, lease: HeldLease, again_us: int) -> None:
        """A processor that moves its own checkpoint failed: from that moment on, reads again from the checkpoint."""
        at = lease.key, lease.fence
        self.happen(lambda now: self.engine.by_hand.failed(*at, again_us, now))
        standing = self.engine.by_hand.standing(*at)
        if standing is not None:  # what the reader is about to give is not taken any more
            self.held[at] = replace(self.held[at], lease=standing, reader=self._make_reader(standing))

    def commit(self, connection: Any, lease: HeldLease, place: Behind, unless: tuple[str, ...]) -> None:
        """Moves the checkpoint inside the caller's transaction. Raises LeaseLost if another worker has the lease."""
        self._kit.store.move_checkpoint(connection, self._leases, place.move(lease, unless))

    async def acommit(self, connection: Any, lease: HeldLease, place: Behind, unless: tuple[str, ...]) -> None:
        """The same on a connection whose calls are awaited."""
        await self._kit.store.amove_checkpoint(connection, self._leases, place.move(lease, unless))

    async def checkpoint_of(self, lease: HeldLease, commit: Commit) -> str | None:
        """The checkpoint that stands in the store. Asks until the store answers, or the lease is lost."""
        while (lease.key, lease.fence) in self.held:
            try:
                row = await self._kit.threads.store.call(lambda: self._kit.store.read(self._leases, lease.key))
            except TransientError:
                await asyncio.sleep(RETRY_US / SECOND_US)
                continue
            if row is None:
                return None
            standing = Lease.of(row)
            since_us = commit.dates(standing.checkpoint)
            self.happen(partial(self.engine.told, standing, since_us=since_us))
            return standing.checkpoint if (standing.owner, standing.fence) == (lease.owner, lease.fence) else None
        return None

    # -- wishes

    def _pump(self) -> None:
        """Does all that the engine wishes. If that leads to new wishes at once, it does them in the same round, not nested."""
        if self._is_pumping:
            return
        self._is_pumping = True
        try:
            while wishes := self.engine.take_wishes():
                writes = [wish for wish in wishes if isinstance(wish, WriteLease)]
                if writes:  # all of a round are written together
                    self.spawn(self._write_leases(writes))
                for wish in wishes:
                    self._do(wish)
        except BaseException as error:
            self.fail(error)
        finally:
            self._is_pumping = False
        self._set_timer()

    def _do(self, wish: Wish) -> None:
        match wish:
            case Deliver():
                self._deliver(wish)
            case Fetch():
                self._watching.fetching(wish.key)
                self.spawn(self._fetch(wish))
            case Look():
                self.spawn(self._look())
            case WriteWorker():
                self.spawn(self._write_worker(wish))
            case DeleteLease():
                self.spawn(self._delete(self._leases, wish.key, wish.expected))
            case DeleteWorker():
                self._burials.append(self.spawn(self._delete(self._workers, wish.id, wish.expected)))
            case ListShards():
                self.spawn(self._list())
            case Begin():
                self._begin(wish.lease)
            case Drain():
                if (held := self.held.get((wish.key, wish.fence))) is not None:
                    held.work.stop()
            case Stop():
                self._stop(wish)
            case Leave():
                self.spawn(self._leave())

    def _set_timer(self) -> None:
        due_us = None if self.left.is_set() else self.engine.due_us
        if self._timer is not None and self._due_us != due_us:
            self._timer.cancel()
            self._timer = None
        if due_us is not None and self._timer is None:
            self._due_us, loop = due_us, asyncio.get_running_loop()
            self._timer = loop.call_later(max(0, due_us - self.now_us()) / SECOND_US, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._vitals.look_at(self.held, self.now_us()):
            self._tell_work()
        self.happen(self.engine.tick)

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs a coroutine in a task of its own. An unexpected error ends the app."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    # -- the store

    async def _look(self) -> None:
        scan, tables = self._kit.store.scan, (self._leases, self._workers)
        try:
            rows, workers = await self._kit.threads.store.call(lambda: [scan(table) for table in tables])
        except TransientError as error:
            logger.info("%s: the leases cannot be read: %s", self.processor.name, error)
            self.happen(self.engine.look_failed)
            return
        found = [Lease.of(row) for row in rows], [Worker.of(row) for row in workers]
        self.happen(lambda now: self.engine.looked(*found, now))
        self._announcing.looked(*found)

    async def _write_leases(self, wishes: list[WriteLease]) -> None:
        """Writes all leases of a round together: some stores need only one call for them."""
        writes = [Write(wish.lease.row, wish.expected) for wish in wishes]
        try:
            answers = await self._kit.threads.store.call(lambda: self._kit.store.write_all(self._leases, writes))
        except TransientError as error:
            answers = [error] * len(wishes)
        for wish, answer in zip(wishes, answers, strict=True):
            self._answer(wish, answer, Lease.of)
            if (held := self.held.get((wish.lease.key, wish.lease.fence))) is not None:
                held.work.desk.hand.wrote()

    async def _write_worker(self, wish: WriteWorker) -> None:
        store = self._kit.store
        writes = [Write(wish.worker.row, wish.expected)]
        answer: Any
        try:
            (answer,) = await self._kit.threads.store.call(lambda: store.write_all(self._workers, writes))
        except TransientError as error:
            answer = error
        self._answer(wish, answer, Worker.of)

    def _answer(self, wish: Any, answer: Any, of: Callable[[Any], Any]) -> None:
        if isinstance(answer, Conflict):
            standing = None if answer.standing is None else of(answer.standing)
            self.happen(lambda now: self.engine.refused(wish, standing, now))
        elif isinstance(answer, TransientError):
            logger.info("%s: a row cannot be written: %s", self.processor.name, answer)
            self.happen(lambda now: self.engine.failed(wish, now))
        elif isinstance(answer, StreamiterError):
            self.fail(answer)
        else:
            self.happen(lambda now: self.engine.written(wish, answer.version, now))
            self._announcing.wrote(wish)
            self._publishing.wrote(wish)

    async def _delete(self, table: Table, key: str, expected: int) -> None:
        with suppress(Conflict, TransientError):  # it is wished again where the row is still there
            await self._kit.threads.store.call(lambda: self._kit.store.delete(table, key, expected))

    async def _leave(self) -> None:
        """Deletes our own row, last of all: if it went earlier, others would take us for dead."""
        await asyncio.gather(*self._burials, return_exceptions=True)
        await self._announcing.finish()
        await self._publishing.finish()
        self.left.set()

    # -- shards and records

    async def _list(self) -> None:
        try:
            shards, service_us = await self._kit.threads.source.call(partial(all_shards, self._list_page))
        except TransientError as error:
            logger.info("%s: the shards cannot be listed: %s", self.processor.name, error)
            self.happen(self.engine.listing_failed)
            return
        told_us = microseconds(self._kit.clock.now()) if service_us is None else service_us
        self.happen(lambda now: self.engine.shards_listed(shards, told_us, now))

    async def _fetch(self, wish: Fetch) -> None:
        rests: Resting | None = None
        try:
            if (held := self.held.get((wish.key, wish.fence))) is None:
                return
            if held.gap is not None:
                held.gap = None
                await held.reader.restart()
            read = await held.reader.turn(self.now_us())
            if self.held.get((wish.key, wish.fence)) is held:
                self.happen(lambda now: self._take(held, read, now))
                rests = None if read.rests_at is None else Resting(wish.key, wish.fence, read.rests_at)
        finally:
            self._watching.fetched(rests)

    def _fetch_in(self, resting: Resting, rest_us: int) -> None:
        if (resting.key, resting.fence) in self.held:
            self.happen(lambda now: self.engine.fetch_at(resting.key, resting.fence, now + rest_us))

    def _take(self, held: Held, read: Read, now_us: int) -> None:
        key, fence = held.lease.key, held.lease.fence
        if read.error is not None:
            logger.info("%s: lease %s: %s", self.processor.name, key, read.error)
            self.engine.fetch_at(key, fence, now_us + max(1, read.rest_us))
            return
        if read.gap is not None:
            held.gap = read.gap
            logger.error("%s: records of lease %s may be lost: %s", self.processor.name, key, read.gap)
            self.tell(GapStands(self.processor.name, key, read.gap))
            self.engine.found_gap(key, fence, read.gap, now_us)
            return
        if read.records:
            held.pulse.newest_us = read.records[-1].created_us
        held.work.came(read)
        held.pulse.is_at_tip = read.tip_us is not None or (self.processor.order == "total" and not read.records)
        records = read.entries(self.processor.group_to_keep if self.processor.order == "key" else None)
        if read.is_end:
            self.engine.ended(key, fence, now_us, records=records, children=read.children)
            held.work.end()
            return
        again_us = now_us + read.rest_us if read.rest_us else None
        self.engine.paged(key, fence, records, now_us, again_us=again_us, tip_us=read.tip_us, start=read.start)

    # -- leases in work

    def _begin(self, lease: Lease) -> None:
        key, fence = lease.key, lease.fence
        held_lease = HeldLease(key, fence, str(lease.owner), lambda: self.engine.deadline_us(key, fence))
        work = work_for(Desk(self, held_lease), self.processor, self._kit.threads.user, self.spawn)
        self.held[key, fence] = Held(lease, self._make_reader(lease), work, Pulse(lease, self.now_us()))
        logger.info("%s: lease %s taken, fence %d, from %s", self.processor.name, key, fence, lease.checkpoint[:60])
        self.tell(LeaseTaken(self.processor.name, key, fence, lease.checkpoint))
        work.begin(lease)

    def _deliver(self, wish: Deliver) -> None:
        held = self.held[wish.key, wish.fence]
        entries, left_out = self.processor.sift(wish.entries)
        if left_out:
            self.engine.acked(wish.key, wish.fence, left_out, self.now_us())
        if entries:
            held.work.deliver(entries)

    def _stop(self, wish: Stop) -> None:
        held = self.held.pop((wish.key, wish.fence))
        self._watching.forget(wish.key)
        held.work.close(wish.why)
        for name in self.counts:
            self.counts[name] += getattr(held.work.desk, name)
        self.spawn(self._publishing.close(held.reader))
        logger.info("%s: lease %s %s, fence %d", (name := self.processor.name), wish.key, wish.why, wish.fence)
        kind = {"lost": LeaseLost, "released": HandedOver, "completed": Completed}[wish.why]
        self.tell(kind(name, wish.key, wish.fence))

    def _tell_work(self) -> None:
        before, self._told = self._told, self.stats()
        try:
            self._kit.observer.worked(self.processor.name, self._told, before)
        except Exception:
            logger.exception("the observer of %s raised an error", self.processor.name)
