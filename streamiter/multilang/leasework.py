"""A lease's work: hands its records to a child, action by action, and goes on with a new child after a failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from streamiter.app.events import Poisoned
from streamiter.app.works import Work
from streamiter.clock import microseconds
from streamiter.errors import LeaseLost as LeaseIsLost
from streamiter.multilang.child import CLOSED_SECONDS, Child
from streamiter.multilang.chunks import Chunks, Undeliverable
from streamiter.multilang.events import ChildFailed, ChildStarted
from streamiter.multilang.marks import Mark, Marks
from streamiter.multilang.talk import Done, Noise, Put, Reply, State, Talk, Wrong
from streamiter.multilang.wire import (
    Action,
    Initialize,
    LeaseLost,
    ProcessRecords,
    ShardEnded,
    ShutdownRequested,
    ToChild,
    to_child,
)

if TYPE_CHECKING:
    from streamiter.app.desk import Desk
    from streamiter.app.pages import Read
    from streamiter.app.processor import Processor
    from streamiter.app.threads import Calls
    from streamiter.app.works import Spawn
    from streamiter.lease import Lease
    from streamiter.lease.wishes import Entry
    from streamiter.multilang.crew import Crew

logger = logging.getLogger("streamiter.multilang")

LONGEST_PAUSE: Final = 60.0
LOOK_SECONDS: Final = 0.5  # how often we look at the time while we wait
NOISE_AT_ONCE: Final = 64  # after so many lines that are no messages, other leases get their turn


class ChildGone(Exception):
    """The child cannot go on. A new one shall go on from the checkpoint."""


class Over(Exception):
    """The lease is no longer ours, and the child need not be told."""


class LeaseWork(Work):
    """One lease, and the child that works on it."""

    def __init__(self, desk: Desk, processor: Processor, threads: Calls, spawn: Spawn) -> None:
        super().__init__(desk, processor, threads, spawn)
        self._crew: Crew = processor.handler.function
        self._wake = asyncio.Event()
        self._is_ended = False
        self._is_stopping = False
        self._why: str | None = None  # how the lease ended
        self._deadline: float | None = None  # for the message that we wait for, by the loop's clock
        self._failures = 0
        self._newest: tuple[str, bool] | None = None  # the last record read, and whether it is the newest
        self._is_empty_due = False  # whether the child shall get a message without records
        self._last: Entry | None = None  # the last record that the child was given
        shard = desk.lease.key if self._crew.pool.is_shared else None
        self._chunks = Chunks(processor.size, self._behind_ms, shard)

    # -- what the runtime tells

    def begin(self, lease: Lease) -> None:
        """Starts a child at once, whether there are records or not."""
        self.spawn(self._run())

    def came(self, read: Read) -> None:
        """A page of the shard came."""
        if read.records:
            self._newest = (read.records[-1].sequence_number, read.caught_up is True)
        elif self._crew.wants_empty and not read.is_end:
            self._is_empty_due = True
            self._wake.set()

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Queues the records."""
        self._chunks.add(entries)
        self._wake.set()

    def end(self) -> None:
        """The shard has ended: the child is told once it has taken all records."""
        self._is_ended = True
        self._wake.set()

    def stop(self) -> None:
        """The lease shall be let go: the child is asked to shut down once its action is done."""
        self._is_stopping = True
        self._wake.set()

    def close(self, why: str) -> None:
        """The lease is no longer ours. If another worker has it, the child is told."""
        super().close(why)
        self._why = why
        self._wake.set()

    # -- children, one after the other

    async def _run(self) -> None:
        while self._why is None:
            before = self.desk.hand.checkpoint
            try:
                await self._with_child()
                return
            except Over:
                return
            except ChildGone as gone:
                if self.desk.hand.checkpoint != before:
                    self._failures = 0
                if not await self._rest(str(gone)):
                    return

    async def _with_child(self) -> None:
        pool = self._crew.pool
        try:
            child = await pool.take(self.desk.lease.key)
        except OSError as error:
            raise ChildGone(f"it cannot be started: {error.strerror}") from error
        child.listeners.add(self._wake.set)
        self._child, is_broken = child, True
        self.desk.tell(ChildStarted(self.processor.name, self.desk.lease.key, child.pid))
        try:
            talk = await self._talk(child)
            is_broken = False
            if talk.marks.is_ended:
                self.desk.hand.finish()
        finally:
            child.listeners.discard(self._wake.set)
            await self._part_with(child, is_broken=is_broken)
        if self._is_stopping:
            self.desk.hand.part()

    async def _part_with(self, child: Child, *, is_broken: bool) -> None:
        try:
            await self._crew.pool.leave(child, is_broken=is_broken)
        except asyncio.CancelledError:
            child.kill_now()
            raise

    async def _rest(self, why: str) -> bool:
        """Reports a failure, and waits for the pause to pass. Returns whether a new child shall go on."""
        child, key, name = self._child, self.desk.lease.key, self.processor.name
        pause = min(LONGEST_PAUSE, self._crew.pause_seconds * 2**self._failures)
        self._failures += 1
        self.desk.failed += 1
        pid, code, tail = (0, None, "") if child is None else (child.pid, child.code, child.tail)
        logger.error(
            "%s: lease %s: the child (pid %d) failed: %s; %s",
            *(name, key, pid, why),
            "the lease is let go" if self._is_stopping else f"a fresh one goes on from the checkpoint in {pause:.0f} s",
        )
        self.desk.tell(ChildFailed(name, key, why, pid, code, tail, pause))
        self._chunks.take_all()
        self._is_ended = self._is_empty_due = False
        self._child = None
        if self._why is None:
            self.desk.hand.read_again(self.desk.now_us() + microseconds(pause))
        loop = asyncio.get_running_loop()
        until = loop.time() + pause
        while self._why is None and not self._is_stopping and loop.time() < until:
            await self._news(until - loop.time())
        if self._is_stopping:
            self.desk.hand.part()
        return self._why is None and not self._is_stopping

    # -- one child

    _child: Child | None = None

    async def _talk(self, child: Child) -> Talk:
        """Talks to the child, from initialize until only the end of its input can follow."""
        checkpoint = self.desk.hand.checkpoint
        if checkpoint is None:
            raise Over
        mark = Mark.of(checkpoint)
        talk = Talk(Marks(mark), self._crew.pool.form)
        number, sub = (checkpoint.partition("/")[0], 0) if mark is None else mark
        await self._act(child, talk, Initialize(self.desk.lease.key, number, sub))
        while talk.state is not State.OVER:
            self._check(talk)
            if self._why == "lost" or talk.state is State.DRAINED:
                await self._act(child, talk, LeaseLost())
            elif self._is_stopping:
                self._give_back()  # the records that the child was not given yet
                await self._act(child, talk, ShutdownRequested())
            elif self._chunks:
                await self._process(child, talk)
            elif self._is_ended and self.desk.hand.is_read:
                await self._act(child, talk, ShardEnded())
            elif self._is_empty_due:
                self._is_empty_due = False
                await self._act(child, talk, ProcessRecords([], self._behind_ms(None)))
            else:
                await self._idle(child, talk)
        return talk

    def _check(self, talk: Talk) -> None:
        """Ends the talk if the runtime has let the lease go: the child had its time to shut down."""
        if self._why is not None and self._why != "lost":
            raise Over

    async def _process(self, child: Child, talk: Talk) -> None:
        if not self.desk.may_deliver():
            self._give_back()
            return
        try:
            chunk = self._chunks.take()
        except Undeliverable as error:
            self._isolate(error)
            return
        entries = chunk.entries
        self._last = entries[-1]
        self.desk.delivered += len(entries)
        self.desk.begin(entries[0].number)
        try:
            with self.desk.span(len(entries)):
                await self._act(child, talk, chunk.action, chunk.line)
        finally:
            self.desk.end(entries[0].number)
        self.desk.ack(entries)

    def _give_back(self) -> None:
        self.desk.give_back(self._chunks.take_all())

    def _isolate(self, error: Undeliverable) -> None:
        """Stops the lease before this record until an operator decides, so that no record is skipped unseen."""
        name, key = self.processor.name, self.desk.lease.key
        past = f"--to {error.number}" if error.number else "--to the number of the record behind it"
        told = "%s: lease %s is in quarantine: %s; `streamiter leases reset STORE %s %s` goes past it, `release` tries it again"
        logger.error(told, name, key, error.why, key, past)
        self.desk.tell(Poisoned(name, key, error.place, type(error.__cause__).__name__, 1, "quarantine"))
        self.desk.quarantine(f"{error.place}: {error.why}")
        self._give_back()

    @property
    def _shard(self) -> str | None:
        return self.desk.lease.key if self._crew.pool.is_shared else None

    def _behind_ms(self, last: Entry | None) -> int:
        if last is None:
            return 0
        record, newest = last.record, self._newest
        if record.created_us is None or (newest is not None and newest == (record.sequence_number, True)):
            return 0
        behind_us: int = microseconds(self._crew.clock.now()) - record.created_us
        return max(0, behind_us // 1000)

    async def _act(self, child: Child, talk: Talk, action: Action, line: bytes | None = None) -> None:
        async with child.turn:
            while (heard := child.take()) is not None:
                await self._hear(child, talk, heard)
            talk.send(action)
            self._await_message()
            await self._write(child, line or to_child(action, talk.form, self._shard))
            while talk.is_waiting:
                await self._hear(child, talk, await self._line(child))
            self._deadline = None

    async def _idle(self, child: Child, talk: Talk) -> None:
        self._wake.clear()
        if not child.turn.locked():
            while (line := child.take()) is not None:
                await self._hear(child, talk, line)
        if child.is_closed or child.is_broken:
            await self._told_end(child)
        if not (self._chunks or self._is_stopping or self._why or self._is_empty_due):
            await self._news(LOOK_SECONDS if self._is_ended else None)

    async def _hear(self, child: Child, talk: Talk, line: bytes) -> None:
        heard = talk.hear(line)
        match heard:
            case Noise():
                child.note_noise(line)
                if child.noise % NOISE_AT_ONCE == 0:  # a child that writes without end must not hold up the others
                    await asyncio.sleep(0)
                    self._look_at_time(child)
            case Reply(answer):
                await self._say(child, talk, answer)
                self._await_message()
            case Put(mark, ask):
                error = await self._put(mark)
                self._crew.pool.form = self._crew.pool.form or ask.form
                await self._say(child, talk, talk.put(ask, mark, error))
                self._await_message()
            case Wrong(why):
                raise ChildGone(why)
            case Done():
                pass

    async def _put(self, mark: Mark) -> str | None:
        """Writes the checkpoint. The error's name as the KCL has it; None if all is well."""
        last = self._last
        is_last = last is not None and last.place == mark.checkpoint
        try:
            await self.desk.hand.put(mark.checkpoint, last.order_us if last is not None and is_last else None)
        except LeaseIsLost:
            return "ShutdownException"
        return None

    async def _say(self, child: Child, talk: Talk, message: ToChild) -> None:
        await self._write(child, to_child(message, talk.form, self._shard))

    async def _write(self, child: Child, line: bytes) -> None:
        writing = asyncio.ensure_future(child.write(line))
        try:
            await asyncio.sleep(0)  # lets the write begin
            self._chunks.make_ahead()
            while not writing.done():
                self._look_at_time(child)
                if child.is_closed:
                    break  # the child reads no more; `_line` raises its end
                await asyncio.wait({writing}, timeout=LOOK_SECONDS)
        finally:
            if not writing.done():
                writing.cancel()

    # -- waiting

    async def _line(self, child: Child) -> bytes:
        while True:
            self._wake.clear()
            if (line := child.take()) is not None:
                return line
            if child.is_closed or child.is_broken or child.is_deaf:
                await self._told_end(child)
            self._look_at_time(child)
            await self._news(LOOK_SECONDS)

    async def _told_end(self, child: Child) -> None:
        """Raises ChildGone, with how the child ended."""
        if child.code is None and not child.is_broken:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSED_SECONDS):
                    while child.code is None:
                        await self._news(LOOK_SECONDS)
        if child.code is None:
            pipe = "input" if child.is_deaf else "output"
            raise ChildGone("another shard of its failed" if child.is_broken else f"it closed its {pipe}, and goes on")
        how = f"it exited with {child.code}" if child.code >= 0 else f"it was ended by signal {-child.code}"
        raise ChildGone(how)

    def _await_message(self) -> None:
        seconds = self._crew.pool.command.seconds
        self._deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds

    def _look_at_time(self, child: Child) -> None:
        if self._why is not None:
            if self._why != "lost":
                raise Over
            limit = asyncio.get_running_loop().time() + self._crew.grace_seconds
            self._deadline = limit if self._deadline is None else min(self._deadline, limit)
        if self._deadline is not None and asyncio.get_running_loop().time() >= self._deadline:
            raise ChildGone("it did not answer in time")

    async def _news(self, seconds: float | None) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)
        self._wake.clear()
