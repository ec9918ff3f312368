"""Works: hand one lease's records to the user's function, in the form that it takes."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from streamiter.app.call import Call, finished, uncancelled
from streamiter.app.desk import Desk
from streamiter.app.feed import Events, Feed
from streamiter.app.forms import Form
from streamiter.app.threads import Calls

if TYPE_CHECKING:
    from streamiter.app.pages import Read
    from streamiter.app.processor import Processor
    from streamiter.lease import Lease
    from streamiter.lease.wishes import Entry

logger = logging.getLogger("streamiter.app")

BEGIN_ANEW_SECONDS = 1.0  # how long to wait after an `events` function returned too early

Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


class Work(ABC):
    """Hands the records of one lease over. The engine says which, and when."""

    def __init__(self, desk: Desk, processor: Processor, threads: Calls, spawn: Spawn) -> None:
        self.desk = desk
        self.processor = processor
        self.threads = threads
        self.spawn = spawn
        self.tasks: set[asyncio.Task[None]] = set()

    @abstractmethod
    def deliver(self, entries: Sequence[Entry]) -> None:
        """Hands these over."""

    def begin(self, lease: Lease) -> None:  # noqa: B027 - most begin with their first records
        """The lease is ours, and stands here. No record was delivered yet."""

    def came(self, read: Read) -> None:  # noqa: B027 - most care for records alone
        """A page came, perhaps an empty one. Its records are delivered afterwards."""

    def end(self) -> None:  # noqa: B027 - most need not know
        """The shard was read to its end: no more records will be delivered."""

    def stop(self) -> None:  # noqa: B027 - most need do nothing: the engine delivers nothing more
        """The worker lets the lease go."""

    def close(self, why: str) -> None:
        """The lease is no longer ours ("lost", "released", "completed"). Cancels what still runs for a lost one."""
        self.desk.is_open = False
        self.desk.hand.close()
        if why == "lost":
            for task in self.tasks:
                task.cancel()

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine in a task of its own, until the lease is lost."""
        task = self.spawn(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def call(self, function: Any, number: int | None = None) -> Call:
        """The function, ready to be called. `number` is that of its one record, if that may fill a hole."""
        return Call(function, self.processor, self.threads, partial(self.desk.may_deliver, number))

    def arguments(self, first: Any) -> tuple[Any, ...]:
        """The function's arguments."""
        return (first, self.desk.lease) if self.processor.handler.wants_lease else (first,)

    def prepared(self, entry: Entry) -> Any:
        """The record or value to hand over. Raises what its key, `where` or the model raises."""
        self.processor.check_key(entry)
        record = self.processor.prepare(entry.record)
        return self.processor.value_of(record) if self.processor.handler.form is Form.VALUE else record


class OneByOne(Work):
    """Hands over one record after the other."""

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Hands them over in order, each once the one before it is done."""
        self.run(self._walk(entries))

    async def _walk(self, entries: Sequence[Entry]) -> None:
        handler = self.processor.handler
        self.desk.delivered += len(entries)
        is_here = handler.is_async or self.processor.middleware
        with self.desk.span(len(entries)) as span:
            done, error = await (self._walk_here if is_here else self._walk_on_a_thread)(entries)
            if error is not None:
                span.fail(error)
        self.desk.ack(entries[done.acked : done.count])
        rest = entries[done.count :]
        if error is not None:
            self.desk.give_back(rest[1:])
            self.desk.fail(rest[:1], error)
        else:
            self.desk.give_back(rest)

    async def _walk_here(self, entries: Sequence[Entry]) -> tuple[_Done, Exception | None]:
        call = self.call(self.processor.handler.function)
        done = _Done(self.desk, entries)
        for entry in entries:
            if not self.desk.may_deliver():
                break
            self.desk.begin(entry.number)
            try:
                await call(*self.arguments(self.prepared(entry)))
            except Exception as error:
                return done, None if call.is_withheld else error
            finally:
                self.desk.end(entry.number)
            done.count += 1
            done.ack_now_and_then()
        return done, None

    async def _walk_on_a_thread(self, entries: Sequence[Entry]) -> tuple[_Done, Exception | None]:
        function, desk, done = self.processor.handler.function, self.desk, _Done(self.desk, entries)
        loop = asyncio.get_running_loop()

        def walk() -> Exception | None:
            for entry in entries:
                if not desk.may_deliver():
                    break
                desk.begin(entry.number)
                try:
                    finished(function(*self.arguments(self.prepared(entry))))
                except Exception as error:
                    return error
                finally:
                    desk.end(entry.number)
                done.count += 1
                if done.is_ack_due:
                    loop.call_soon_threadsafe(done.ack_now_and_then)
            return None

        return done, await self.threads.call(walk)


class _Done:
    """How far a walk over records has come, so that a long one can ack now and then."""

    EVERY_US = 200_000

    def __init__(self, desk: Desk, entries: Sequence[Entry]) -> None:
        self.count = 0
        self.acked = 0
        self._desk = desk
        self._entries = entries
        self._acked_us = desk.now_us()

    @property
    def is_ack_due(self) -> bool:
        """Whether some time has passed since the last ack."""
        return self._desk.now_us() - self._acked_us >= self.EVERY_US

    def ack_now_and_then(self) -> None:
        """Acks what is done, if some time has passed."""
        if self.is_ack_due and self.acked < self.count:
            self._acked_us = self._desk.now_us()
            upto = self.count
            self._desk.ack(self._entries[self.acked : upto])
            self.acked = upto


class SideBySide(Work):
    """Hands over records of different keys at once. The engine keeps each key in order."""

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Begins a call for each of them."""
        self.desk.delivered += len(entries)
        for entry in entries:
            self.run(self._one(entry))

    async def _one(self, entry: Entry) -> None:
        if not self.desk.may_deliver(entry.number):
            self.desk.give_back([entry])
            return
        call = self.call(self.processor.handler.function, entry.number)
        self.desk.begin(entry.number)
        raised: Exception | None = None
        with self.desk.span(1) as span:
            try:
                await call(*self.arguments(self.prepared(entry)))
            except Exception as error:
                raised = error
                span.fail(error)
            finally:
                self.desk.end(entry.number)
        if call.is_withheld:
            self.desk.give_back([entry])
        elif raised is None:
            self.desk.ack([entry])
        else:
            self.desk.fail([entry], raised)


class Batches(Work):
    """Hands over batch after batch."""

    def __init__(self, desk: Desk, processor: Processor, threads: Calls, spawn: Spawn) -> None:
        super().__init__(desk, processor, threads, spawn)
        self._handed = -1  # the number of the last record that the function ever got

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Hands them over in one batch."""
        self.run(self._one(entries, self.processor.handler.function))

    async def _one(self, entries: Sequence[Entry], function: Any) -> None:
        if not self.desk.may_deliver():
            self.desk.give_back(entries)
            return
        place = 0
        try:
            if self.processor.prepares(entries) and not self._is_prepared(entries):
                for place, entry in enumerate(entries):  # noqa: B007 - which of them it was
                    self.processor.prepare(entry.record)
        except Exception as error:  # a record that cannot be read: what comes before it goes first
            if place:
                self.desk.give_back(entries[place:])
                await self._one(entries[:place], function)
            else:
                self.desk.give_back(entries[1:])
                self.desk.fail(entries[:1], error)
            return
        self.desk.delivered += len(entries)
        self._handed = max(self._handed, entries[-1].number)
        batch = self.desk.batch(entries)
        call = self.call(function)
        self.desk.begin(entries[0].number)
        raised: Exception | None = None
        with self.desk.span(len(entries)) as span:
            try:
                await call(*self.arguments(batch))
            except Exception as error:
                raised = error
                span.fail(error)
            finally:
                batch.commit_call.close()
                self.desk.end(entries[0].number)
        if call.is_withheld:
            self.desk.give_back(entries)
        else:
            await self.desk.settle(entries, batch.commit_call, raised)

    def _is_prepared(self, entries: Sequence[Entry]) -> bool:
        """Whether the reader has checked them: the total order gives batches of good records, or one bad record by itself."""
        return self.processor.order == "total" and len(entries) > 1 and entries[0].number > self._handed


class Instances(Batches):
    """For a class: makes an instance for each lease, and tells it of the lease's life."""

    def __init__(self, desk: Desk, processor: Processor, threads: Calls, spawn: Spawn) -> None:
        super().__init__(desk, processor, threads, spawn)
        self._instance: Any = None
        self._is_stopping = False

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Hands them to the instance, which it makes for the first ones."""
        self.run(self._begin(entries))

    def stop(self) -> None:
        """Tells it that the lease is about to be released."""
        if not self._is_stopping:
            self._is_stopping = True
            self.spawn(self._hook("shutdown_requested"))

    def close(self, why: str) -> None:
        """Tells it how the lease ended."""
        super().close(why)
        if why == "lost":
            self.spawn(self._hook("lease_lost"))
        elif why == "completed":
            self.spawn(self._hook("shard_ended"))

    async def _begin(self, entries: Sequence[Entry]) -> None:
        if self._instance is None:
            try:
                instance = self.processor.handler.function()
                await self._call(getattr(instance, "initialize", None), self.desk.lease)
            except Exception as error:
                self.desk.fail(entries, error)
                return
            self._instance = instance
        await self._one(entries, self._instance.process)

    async def _hook(self, name: str) -> None:
        hook = getattr(self._instance, name, None)
        try:
            await self._call(hook)
        except Exception:
            logger.exception("%s: %s() raised an error", self.processor.name, name)

    async def _call(self, function: Any, *arguments: Any) -> None:
        if function is None:
            return
        if asyncio.iscoroutinefunction(function):
            await function(*arguments)
        else:
            finished(await self.threads.call(partial(function, *arguments)))


class Streams(Work):
    """For an `events` function: runs it for as long as the lease is ours."""

    def __init__(self, desk: Desk, processor: Processor, threads: Calls, spawn: Spawn) -> None:
        super().__init__(desk, processor, threads, spawn)
        self._feed: Feed | None = None
        self._is_ended = False
        self._kept: list[Entry] = []  # entries that came after a run had ended, for the next one
        self._is_stopping = False

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Puts them into the feed of the run, which begins with the first ones."""
        self.desk.delivered += len(entries)
        if self._feed is None:
            self._feed = Feed(self.desk, self.processor.in_flight)
            if self._is_ended:
                self._feed.end()
            self.run(self._go(self._feed))
        if self._feed.is_closed:
            self._kept.extend(entries)
        else:
            self._feed.put(entries)

    def end(self) -> None:
        """Tells the feed that no more will come, so that a function that waits for more gets what there is."""
        self._is_ended = True
        if self._feed is not None:
            self._feed.end()

    def stop(self) -> None:
        """Ends the iterator."""
        self._is_stopping = True
        if self._feed is not None:
            self._feed.close()

    def close(self, why: str) -> None:
        """Ends the iterator; cancels the run of a lost lease."""
        self.stop()
        super().close(why)

    async def _go(self, feed: Feed) -> None:
        is_plain = self.processor.model is None and self.processor.where is None
        prepare = None if is_plain else self.processor.prepare
        events: Events[Any] = Events(feed, self.desk.lease, prepare)
        error: Exception | None = None
        try:
            await uncancelled(self.processor.handler.function(*self.arguments(events)))
        except Exception as raised:
            error = raised
        was_closed = feed.is_closed
        feed.tell_acked()
        unacked = feed.take_unacked()
        feed.close()
        if error is not None and unacked:
            self.desk.fail(unacked, error)
        else:
            self._note_return(unacked, error, was_closed=was_closed)
            with suppress(asyncio.CancelledError):
                if not was_closed:
                    await asyncio.sleep(BEGIN_ANEW_SECONDS)
            self.desk.give_back(unacked)
        kept, self._kept, self._feed = self._kept, [], None
        self.desk.give_back(kept)

    def _note_return(self, unacked: Sequence[Entry], error: Exception | None, *, was_closed: bool) -> None:
        if error is not None:
            logger.error("%s raised an error with no record in its hands", self.processor.name, exc_info=error)
        elif not was_closed:
            logger.warning(
                "%s returned while its lease %s goes on: it begins anew, and %d records that it did not ack come again",
                self.processor.name,
                self.desk.lease.key,
                len(unacked),
            )


def work_for(desk: Desk, processor: Processor, threads: Calls, spawn: Spawn) -> Work:
    """The work that fits the processor's form."""
    form = processor.handler.form
    if form is Form.KEEPER:
        made: Work = processor.handler.function.work(desk, processor, threads, spawn)
        return made
    kinds: dict[Form, type[Work]] = {Form.EVENTS: Streams, Form.CLASS: Instances, Form.BATCH: Batches}
    kind = kinds.get(form, SideBySide if processor.order == "key" else OneByOne)
    return kind(desk, processor, threads, spawn)
