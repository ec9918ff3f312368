"""The desk: one lease in work: asks before each delivery, reports acks, and has the policy decide on failures."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from streamiter.app.batch import LeaseBatch
from streamiter.app.commit import UNTOLD, Behind, Commit
from streamiter.app.events import AppEvent, Poisoned, Retried
from streamiter.app.hand import Hand
from streamiter.app.policies import Again, Failure, Isolate, Pass, StopApp, Verdict
from streamiter.clock import SECOND_US, microseconds
from streamiter.errors import InvalidOption, LeaseLost, ProcessorFailed
from streamiter.lease.wishes import numbers_of, records_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from streamiter.app.held import HeldLease
    from streamiter.app.observer import Span
    from streamiter.app.processor import Processor
    from streamiter.lease.engine import Engine
    from streamiter.lease.wishes import Entry

logger = logging.getLogger("streamiter.app")


HALTED_PAUSE_US = 24 * 3600 * SECOND_US  # after a failure that ends the app: the record comes again at the next start
LOST_PAUSE_US = SECOND_US  # after an effect was refused since another worker has the lease; by then the rows tell, too


class Host(Protocol):
    """What the desk needs of the runtime: the time, the engine, events, commits."""

    engine: Engine
    processor: Processor
    chance: Random

    def now_us(self) -> int:
        """The worker's own clock."""

    def happen(self, event: Callable[[int], None]) -> None:
        """Passes an event to the engine, and does what the engine then wishes."""

    def tell(self, event: AppEvent) -> None:
        """Tells `on_event`."""

    def span(self, lease: HeldLease, records: int) -> AbstractContextManager[Span]:
        """A span around a call of the processor's function."""

    def fail(self, error: BaseException) -> None:
        """Ends the app with this error."""

    def commit(self, connection: Any, lease: HeldLease, place: Behind, unless: tuple[str, ...]) -> None:
        """Moves the checkpoint inside the caller's transaction."""

    async def acommit(self, connection: Any, lease: HeldLease, place: Behind, unless: tuple[str, ...]) -> None:
        """The same on a connection whose calls are awaited."""

    def read_again(self, lease: HeldLease, again_us: int) -> None:
        """From that moment on, reads again from the checkpoint."""

    async def checkpoint_of(self, lease: HeldLease, commit: Commit) -> str | None:
        """The checkpoint that stands in the store after this commit; None if the lease is no longer ours."""


class Desk:
    """What a run of the processor may ask and report about its lease. Only `may_deliver` may be called off the event loop."""

    def __init__(self, host: Host, lease: HeldLease) -> None:
        self.lease = lease
        self.hand = Hand(host, lease)
        self.is_open = True  # False once the lease is no longer ours
        self._host = host
        self._tries: dict[int, int] = {}
        self._begun_us: dict[
            int, int
        ] = {}  # by the number of a record: when the processor got it, alone or as a batch's first
        self.delivered = 0
        self.acked = 0
        self.failed = 0

    def begin(self, number: int) -> None:
        """Notes that the processor gets this record, or the batch that begins with it."""
        self._begun_us[number] = self._host.now_us()

    def may_begin(self, number: int) -> bool:
        """Whether this record may be handed over at this very moment (law 9). If so, notes that the processor has it."""
        now_us = self._host.now_us()
        is_allowed = self._host.engine.may_deliver(self.lease.key, self.lease.fence, now_us, number)
        if is_allowed:
            self._begun_us[number] = now_us
        return is_allowed

    def end(self, number: int) -> None:
        """Notes that the processor is done with it."""
        self._begun_us.pop(number, None)

    @property
    def busy_since_us(self) -> int | None:
        """Since when the processor has had the record that it has had for longest."""
        return min(list(self._begun_us.values()), default=None)

    def span(self, records: int) -> AbstractContextManager[Span]:
        """A span around a call of the processor's function with so many records."""
        return self._host.span(self.lease, records)

    def may_deliver(self, number: int | None = None) -> bool:
        """Whether records, or the one of this number, may be handed over at this very moment (law 9)."""
        return self._host.engine.may_deliver(self.lease.key, self.lease.fence, self._host.now_us(), number)

    def ack(self, entries: Sequence[Entry]) -> None:
        """These are processed."""
        if entries:
            self.acked += len(entries)
            if self._tries:
                for entry in entries:
                    self._tries.pop(entry.number, None)
            numbers = numbers_of(entries)
            self._host.happen(lambda now: self._host.engine.acked(self.lease.key, self.lease.fence, numbers, now))

    def give_back(self, entries: Sequence[Entry]) -> None:
        """These were not handed over: they come again."""
        if entries:
            numbers = [entry.number for entry in entries]
            self._host.happen(lambda now: self._host.engine.returned(self.lease.key, self.lease.fence, numbers, now))

    def quarantine(self, why: str) -> None:
        """Stops the lease, in all workers, until an operator releases or resets it."""
        key, fence = self.lease.key, self.lease.fence
        self._host.happen(lambda now: self._host.engine.quarantine(key, fence, why, now))

    def now_us(self) -> int:
        """The worker's own clock."""
        return self._host.now_us()

    def tell(self, event: AppEvent) -> None:
        """Tells `on_event`."""
        self._host.tell(event)

    def batch(self, entries: Sequence[Entry]) -> LeaseBatch[Any]:
        """A batch of these records."""
        last = entries[-1]
        place = last.place
        checkpoint = place if isinstance(place, str) else place(False)

        def token() -> Any:
            if checkpoint is None:
                raise InvalidOption(UNTOLD)
            return checkpoint if isinstance(place, str) else json.loads(checkpoint)

        behind = Behind(last.number, checkpoint, last.order_us if isinstance(place, str) else None)
        commit = Commit(self._host, self.lease, behind, lambda: self.is_open)
        return LeaseBatch(records_of(entries), self.lease, token, commit)

    async def settle(self, entries: Sequence[Entry], commit: Commit, error: Exception | None) -> None:
        """The batch's function is over. If it committed, the store tells how far the checkpoint came."""
        if commit.begun_us is not None:
            standing = await self._host.checkpoint_of(self.lease, commit)
            if standing is None:
                error = LeaseLost(self.lease.key, self.lease.fence)
            elif standing == commit.checkpoint:
                if error is not None:
                    name = self._host.processor.name
                    logger.warning("%s failed after it had committed its batch", name, exc_info=error)
                error = None
            elif standing in commit.earlier:  # a transaction of other records than these, which ended late
                error = LeaseLost(self.lease.key, self.lease.fence)
            elif error is None:
                error = InvalidOption(
                    "batch.commit(connection) was called, but the transaction was not committed when the function "
                    "returned: call connection.commit() behind it, or use `with connection:`"
                )
        if error is None:
            self.ack(entries)
        else:
            self.fail(entries, error)

    def fail(self, entries: Sequence[Entry], error: Exception) -> None:
        """The processor raised an error on these. Its policy decides, unless it failed because the lease is lost."""
        processor, engine = self._host.processor, self._host.engine
        if isinstance(error, LeaseLost) or not self.is_open:
            logger.info("%s: lease %s is lost: %s", processor.name, self.lease.key, type(error).__name__)
            numbers = [entry.number for entry in entries]
            again_us = self._host.now_us() + LOST_PAUSE_US
            self._host.happen(lambda now: engine.nacked(self.lease.key, self.lease.fence, numbers, again_us, now))
            self._host.happen(engine.look_now)
            return
        self.failed += 1
        first = entries[0]
        tries = self._tries[first.number] = self._tries.get(first.number, 0) + 1
        name = type(error).__name__
        records = [entry.record for entry in entries]
        try:
            verdict = processor.on_error.decide(
                Failure(processor.name, self.lease.key, records, error, tries), self._host.chance
            )
            if not isinstance(verdict, Verdict):
                raise InvalidOption(f"{processor.on_error!r} decided {verdict!r}, which is no verdict")
        except Exception as broken:
            logger.exception("%s: its policy %r raised an error; the app stops", processor.name, processor.on_error)
            verdict, error = StopApp(), broken
        place = f"record {first.record.sequence_number or '(without a number)'}"
        told = f"{processor.name}: lease {self.lease.key}, {place}: {name}"
        key, fence = self.lease.key, self.lease.fence
        numbers = [entry.number for entry in entries]
        if isinstance(verdict, Again):
            again_us = self._host.now_us() + max(1, microseconds(verdict.after_seconds))
            logger.warning("%s (try %d); again in %.1f s", told, tries, verdict.after_seconds, exc_info=error)
            self._host.tell(Retried(processor.name, key, place, name, tries, verdict.after_seconds))
            self._host.happen(lambda now: engine.nacked(key, fence, numbers, again_us, now))
            return
        words = {StopApp: "halt", Pass: "ignore", Isolate: "quarantine"}[type(verdict)]
        self._host.tell(Poisoned(processor.name, key, place, name, tries, words))
        if isinstance(verdict, Pass):
            logger.warning("%s; passed over", told, exc_info=error)
            self.ack(entries)
        elif isinstance(verdict, Isolate):
            logger.error("%s; the lease is in quarantine until `streamiter leases release`", told, exc_info=error)
            self.quarantine(f"{place}: {name}")
            self.give_back(entries)
        else:
            self._host.fail(ProcessorFailed(processor.name, key, place, error))
            self._host.happen(lambda now: engine.nacked(key, fence, numbers, now + HALTED_PAUSE_US, now))
