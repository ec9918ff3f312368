"""Watching: a processor whose function tells a witness what it got, did and failed on, and is otherwise the user's own."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Protocol

from streamiter.app.call import finished
from streamiter.app.feed import Events
from streamiter.app.forms import Form, Handler
from streamiter.app.held import HeldLease
from streamiter.app.policies import Failure, Pass, Policy, Verdict
from streamiter.app.processor import Processor
from streamiter.record import Record


class Witness(Protocol):
    """Is told what one worker's processor did."""

    def delivered(self, lease: HeldLease, records: Sequence[Record]) -> None:
        """The function has these from now on."""

    def done(self, lease: HeldLease, records: Sequence[Record]) -> None:
        """It is through with these."""

    def failed(self, lease: HeldLease, records: Sequence[Record], error: BaseException | None) -> None:
        """It raised an error on these; without an error: it gave them back."""

    def passed(self, records: Sequence[Record]) -> None:
        """These count as processed without it: `where` or a middleware left them out, or a policy passed them over."""


@dataclass
class _Turn:
    """One way through the middleware: the lease, once the function was called."""

    lease: HeldLease | None = None


_record: ContextVar[Record | None] = ContextVar("record", default=None)
_turn: ContextVar[_Turn | None] = ContextVar("turn", default=None)


@dataclass(frozen=True, slots=True)
class WatchedProcessor(Processor):
    """The processor, watched."""

    witness: Witness | None = field(default=None)

    def value_of(self, record: Record) -> Any:
        """Notes which record a value is of."""
        _record.set(record)
        return Processor.value_of(self, record)

    def wants(self, record: Record) -> bool:
        """Notes what is left out."""
        wants = Processor.wants(self, record)
        if not wants and self.witness is not None:
            self.witness.passed([record])
        return wants


def watched(processor: Processor, witness: Witness, **changes: Any) -> WatchedProcessor:
    """The processor with a witness, and, where told, with other members, such as another source."""
    members = {told.name: getattr(processor, told.name) for told in dataclasses.fields(Processor)} | changes
    handler = processor.handler
    watch = _Watch(handler, witness)
    members["handler"] = dataclasses.replace(
        handler, function=watch.function(), wants_lease=handler.form is not Form.CLASS
    )
    members["on_error"] = _WatchedPolicy(processor.on_error, witness)
    if processor.middleware:
        members["middleware"] = (watch.around, *processor.middleware)
    return WatchedProcessor(**members, witness=witness)


class _WatchedPolicy(Policy):
    def __init__(self, policy: Policy, witness: Witness) -> None:
        self._policy = policy
        self._witness = witness

    def decide(self, failure: Failure, chance: Random) -> Verdict:
        verdict = self._policy.decide(failure, chance)
        if isinstance(verdict, Pass):
            self._witness.passed(failure.records)
        return verdict

    def __repr__(self) -> str:
        return repr(self._policy)


class _Watch:
    def __init__(self, handler: Handler, witness: Witness) -> None:
        self._handler = handler
        self._witness = witness

    def function(self) -> Any:
        if self._handler.form is Form.EVENTS:
            return self._events
        if self._handler.form is Form.CLASS:
            return self._instance
        call = self._call_async if self._handler.is_async else self._call
        return partial(call, self._handler.function, self._handler.wants_lease)

    async def around(self, first: Any, call_next: Callable[[Any], Any]) -> None:
        """Stands before the user's middleware: it tells what became of records, which the function alone does not."""
        turn, records = _Turn(), self._records(first)
        token = _turn.set(turn)
        try:
            await call_next(first)
        except Exception as error:
            if turn.lease is not None:
                self._witness.failed(turn.lease, records, error)
            raise
        else:
            if turn.lease is not None:
                self._witness.done(turn.lease, records)
            else:
                self._witness.passed(records)
        finally:
            _turn.reset(token)

    def _records(self, first: Any) -> list[Record]:
        if isinstance(first, list):
            return list(first)
        if self._handler.form is Form.VALUE:
            record = _record.get()
            return [] if record is None else [record]
        return [first]

    def _begin(self, first: Any, lease: HeldLease) -> tuple[list[Record], bool]:
        records, turn = self._records(first), _turn.get()
        self._witness.delivered(lease, records)
        if turn is not None:
            turn.lease = lease
        return records, turn is None

    def _call(self, function: Any, wants_lease: bool, first: Any, lease: HeldLease) -> None:
        records, is_last = self._begin(first, lease)
        try:
            finished(function(*((first, lease) if wants_lease else (first,))))
        except Exception as error:
            if is_last:
                self._witness.failed(lease, records, error)
            raise
        if is_last:
            self._witness.done(lease, records)

    async def _call_async(self, function: Any, wants_lease: bool, first: Any, lease: HeldLease) -> None:
        records, is_last = self._begin(first, lease)
        try:
            finished(await function(*((first, lease) if wants_lease else (first,))))
        except Exception as error:
            if is_last:
                self._witness.failed(lease, records, error)
            raise
        if is_last:
            self._witness.done(lease, records)

    def _instance(self) -> Any:
        return _WatchedInstance(self._handler.function(), self)

    async def _events(self, events: Events[Any], lease: HeldLease) -> None:
        seen = _WatchedEvents(events, self._witness)
        arguments = (seen, lease) if self._handler.wants_lease else (seen,)
        try:
            await self._handler.function(*arguments)
        except Exception as error:
            self._witness.failed(lease, seen.take_handed(), error)
            raise
        self._witness.failed(lease, seen.take_handed(), None)


class _WatchedInstance:
    """An instance of the user's class."""

    def __init__(self, instance: Any, watch: _Watch) -> None:
        self._instance = instance
        self._watch = watch
        self.process = self._process_async if watch._handler.is_async else self._process

    def _process(self, batch: Any) -> None:
        self._watch._call(self._instance.process, False, batch, batch.lease)

    async def _process_async(self, batch: Any) -> None:
        await self._watch._call_async(self._instance.process, False, batch, batch.lease)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._instance, name)


class _WatchedEvents(Events[Any]):
    """The iterator, which tells what it gives, and what asking for the next one acks."""

    def __init__(self, events: Events[Any], witness: Witness) -> None:
        self.__dict__.update(events.__dict__)
        self._witness = witness
        self._handed: list[Record] = []

    def take_handed(self) -> list[Record]:
        handed, self._handed = self._handed, []
        return handed

    async def records(self) -> AsyncGenerator[Any, None]:
        async for record in super().records():
            yield record
            self._all_done()

    async def take(self, n: int, within: float | None = None) -> list[Any]:
        self._all_done()
        return await super().take(n, within)

    def ack(self, record: Record) -> None:
        kept = [told for told in self._handed if told is not record]
        if len(kept) < len(self._handed):
            self._handed = kept
            self._witness.done(self.lease, [record])
        super().ack(record)

    def _given(self, entry: Any) -> Any:
        record = super()._given(entry)
        self._handed.append(entry.record)
        self._witness.delivered(self.lease, [entry.record])
        return record

    def _all_done(self) -> None:
        if self._handed:
            self._witness.done(self.lease, self.take_handed())
