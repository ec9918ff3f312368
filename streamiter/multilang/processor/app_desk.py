"""The desk of an app's processor in a child: hands records to its work until all are done, and hears what became of each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager
from random import Random
from typing import Any, NoReturn

from streamiter.app.batch import LeaseBatch
from streamiter.app.commit import Commit
from streamiter.app.forms import Form
from streamiter.app.held import HeldLease
from streamiter.app.observer import Observer, Span
from streamiter.app.policies import Again, Failure, Pass, Verdict
from streamiter.app.processor import Processor
from streamiter.app.works import Work
from streamiter.clock import SystemClock, microseconds
from streamiter.errors import InvalidOption
from streamiter.lease.wishes import Entry, Every
from streamiter.record import Record

logger = logging.getLogger("streamiter.multilang")

NO_FENCE = "a MultiLang daemon tells its children no {}: a processor that needs it runs with streamiter worker"


class GivenLease(HeldLease):
    """The lease as a child knows it: its shard, and nothing else."""

    __slots__ = ()

    def __init__(self, key: str) -> None:
        super().__init__(key, 0, "the daemon", lambda: self._refuse("deadline"))

    def __getattribute__(self, name: str) -> Any:
        return self._refuse(name) if name == "fence" else super().__getattribute__(name)

    def _refuse(self, what: str) -> NoReturn:
        raise InvalidOption(NO_FENCE.format(what))

    def __repr__(self) -> str:
        return f"<GivenLease {self.key}>"


class _NoCommit:
    """In place of a batch's commit: the daemon keeps the checkpoint, so no transaction of the processor can move it."""

    begun_us = None

    def __call__(self, _: Any) -> None:
        raise InvalidOption(
            "batch.commit() needs the lease's own store, and a child's lease is the daemon's: run it with streamiter worker"
        )

    async def along(self, connection: Any) -> None:
        self(connection)

    def close(self) -> None:
        """The batch's function is over."""


class ChildDesk:
    """The desk of one shard, with the methods of an app's desk. It has the records of one action of the daemon at a time."""

    def __init__(self, processor: Processor, lease: HeldLease) -> None:
        self.lease = lease
        self.is_open = True
        self.hand = _NoCommit()  # closing it does nothing
        self.delivered = self.acked = self.failed = 0
        self._processor = processor
        self._observer = Observer()
        self._clock = SystemClock()
        self._chance = Random()
        self._waiting: list[Entry] = []  # in the shard's order
        self._out: dict[int, Entry] = {}
        self._pausing: set[int] = set()  # failed, and waiting to be handed out again
        self._tries: dict[int, int] = {}
        self._error: BaseException | None = None
        self._numbers = 0
        self._news = asyncio.Event()

    async def hand_out(self, records: Sequence[Record], work: Work) -> None:
        """Has the work process all of these. Raises a processor's error if its policy says that the app ends."""
        for record in records:
            self._waiting.append(
                Entry(self._numbers, record.sequence_number, self._processor.group_to_keep(record), record)
            )
            self._numbers += 1
        kept, _ = self._processor.sift(tuple(self._waiting))
        self._waiting = list(kept)
        while self._waiting or self._out:
            self._news.clear()
            entries = self._next()
            if entries:
                work.deliver(entries)
            await self._news.wait()
            if self._error is not None:
                raise self._error

    def _next(self) -> list[Entry]:
        """The records that can be handed out now."""
        processor, form = self._processor, self._processor.handler.form
        if processor.order == "key":
            chosen = self._next_by_key()
        elif form is Form.EVENTS:
            chosen = [] if self._pausing else self._waiting[: max(0, processor.in_flight - len(self._out))]
        elif self._out:
            chosen = []
        else:
            chosen = self._waiting[: processor.size] if processor.hands_out_many else list(self._waiting)
        numbers = {entry.number for entry in chosen}
        seen = self._seen if processor.order == "key" else len(chosen)
        self._waiting[:seen] = [entry for entry in self._waiting[:seen] if entry.number not in numbers]
        self._out |= {entry.number: entry for entry in chosen}
        return chosen

    @property
    def _seen(self) -> int:
        """How many records to look through for other keys. To look through all, each time, would cost more than it gains."""
        return max(64, 8 * self._processor.concurrency)

    def _next_by_key(self) -> list[Entry]:
        """One record of each key. A record whose key cannot be found waits for all before it, and all behind it wait for it."""
        held = {entry.group for entry in self._out.values()} - {None}
        chosen: list[Entry] = []
        for entry in self._waiting[: self._seen]:
            is_alone = not self._out and not chosen
            if Every.GROUP in held or len(chosen) + len(self._out) >= self._processor.concurrency:
                break
            if entry.group not in held and (is_alone or entry.group is not Every.GROUP):
                chosen.append(entry)
            held |= {entry.group} - {None}
        return chosen

    # -- what works ask and tell

    def may_deliver(self, _: int | None = None) -> bool:
        """True: the daemon gives the shard to this child alone."""
        return self.is_open

    def may_begin(self, _: int) -> bool:
        """True, for the same reason."""
        return self.is_open

    def now_us(self) -> int:
        """The time, from which the pauses between the acks of a long run are measured."""
        return microseconds(self._clock.monotonic())

    def begin(self, number: int) -> None:
        """The processor has this record."""

    def end(self, number: int) -> None:
        """The processor has it no more."""

    def span(self, records: int) -> AbstractContextManager[Span]:
        """A span around a call of the processor's function."""
        return self._observer.span(self._processor.name, self.lease, records)

    def batch(self, entries: Sequence[Entry]) -> LeaseBatch[Any]:
        """A batch of these records."""
        commit: Any = _NoCommit()
        return LeaseBatch([entry.record for entry in entries], self.lease, lambda: entries[-1].place, commit)

    async def settle(self, entries: Sequence[Entry], _: Commit, error: Exception | None) -> None:
        """The batch's function is over."""
        if error is None:
            self.ack(entries)
        else:
            self.fail(entries, error)

    def ack(self, entries: Sequence[Entry]) -> None:
        """These are processed."""
        self.acked += len(entries)
        for entry in entries:
            self._out.pop(entry.number, None)
            self._tries.pop(entry.number, None)
        self._news.set()

    def give_back(self, entries: Sequence[Entry]) -> None:
        """These were not processed: they are handed out again."""
        for entry in entries:
            if self._out.pop(entry.number, None) is not None:
                self._waiting.append(entry)
        self._waiting.sort(key=lambda entry: entry.number)
        self._news.set()

    def fail(self, entries: Sequence[Entry], error: Exception) -> None:
        """The processor raised an error on these: its policy decides."""
        self.failed += 1
        first = entries[0]
        tries = self._tries[first.number] = self._tries.get(first.number, 0) + 1
        processor, records = self._processor, [entry.record for entry in entries]
        told = (
            f"{processor.name}: shard {self.lease.key}, record {first.record.sequence_number}: {type(error).__name__}"
        )
        verdict = processor.on_error.decide(
            Failure(processor.name, self.lease.key, records, error, tries), self._chance
        )
        if not isinstance(verdict, Verdict):
            self._error = InvalidOption(f"{processor.on_error!r} decided {verdict!r}, which is no verdict")
        elif isinstance(verdict, Again):
            logger.warning("%s (try %d); again in %.1f s", told, tries, verdict.after_seconds, exc_info=error)
            self._pausing |= {entry.number for entry in entries}
            asyncio.get_running_loop().call_later(verdict.after_seconds, self._again, entries)
        elif isinstance(verdict, Pass):
            logger.warning("%s; passed over", told, exc_info=error)
            self.ack(entries)
        else:  # a child cannot set its shard apart: it ends, and the daemon begins a fresh one
            self._error = error
        self._news.set()

    def _again(self, entries: Sequence[Entry]) -> None:
        self._pausing -= {entry.number for entry in entries}
        self.give_back(entries)
