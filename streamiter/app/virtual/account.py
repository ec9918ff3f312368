"""The account: what the workers of a world delivered, finished and failed on, of one processor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streamiter.app.held import HeldLease
from streamiter.app.virtual.tap import Identity, Tap, identity
from streamiter.app.virtual.times import Times
from streamiter.record import Record


class Delivery(NamedTuple):
    """A record that a worker's function got."""

    seconds: float  # since the world began
    worker: str
    processor: str
    lease: str
    fence: int
    record: Record


class Failed(NamedTuple):
    """A record on which a function raised an error."""

    seconds: float
    worker: str
    processor: str
    lease: str
    record: Record
    error: BaseException


class Account:
    """Of one processor, over all workers. What is told here is true: it is told by the function itself."""

    def __init__(self, processor: str, times: Times, tap: Tap) -> None:
        self.processor = processor
        self.tap = tap
        self.deliveries: list[Delivery] = []
        self.failures: list[Failed] = []
        self.finished: dict[str, set[Identity]] = {}  # by shard: what was processed, or passed over
        self.happened = 0  # how often something was told
        self.is_closed = False  # nothing that is told counts any more
        self._times = times

    def voice_of(self, worker: str) -> Voice:
        """What one worker's processor tells."""
        return Voice(self, worker)

    def is_finished(self) -> bool:
        """Whether every record that was given is processed."""
        return all(places.keys() <= self.finished.get(shard, set()) for shard, places in self.tap.seen.items())

    def delivered(self, worker: str, lease: HeldLease, records: Sequence[Record]) -> None:
        """A function got these."""
        seconds = self._times.now_us / 1e6
        self.deliveries += [
            Delivery(seconds, worker, self.processor, lease.key, lease.fence, record) for record in records
        ]

    def done(self, worker: str, lease: HeldLease, records: Sequence[Record]) -> None:
        """It is through with these."""
        self._finish(records)

    def failed(self, worker: str, lease: HeldLease, records: Sequence[Record], error: BaseException | None) -> None:
        """It failed on these, or gave them back."""
        if error is not None:
            seconds = self._times.now_us / 1e6
            self.failures += [Failed(seconds, worker, self.processor, lease.key, record, error) for record in records]

    def passed(self, worker: str, records: Sequence[Record]) -> None:
        """These are passed over."""
        self._finish(records)

    def _finish(self, records: Sequence[Record]) -> None:
        self.happened += 1
        for record in records:
            self.finished.setdefault(record.shard_id, set()).add(identity(record))

    def _finish_places(self, shard_id: str, records: Iterable[Identity]) -> None:
        self.happened += 1
        self.finished.setdefault(shard_id, set()).update(records)


class Voice:
    """One worker's witness."""

    def __init__(self, account: Account, worker: str) -> None:
        self._account = account
        self._worker = worker

    def delivered(self, lease: HeldLease, records: Sequence[Record]) -> None:
        """Tells the account."""
        if not self._account.is_closed:
            self._account.delivered(self._worker, lease, records)

    def done(self, lease: HeldLease, records: Sequence[Record]) -> None:
        """Tells the account."""
        if not self._account.is_closed:
            self._account.done(self._worker, lease, records)

    def failed(self, lease: HeldLease, records: Sequence[Record], error: BaseException | None) -> None:
        """Tells the account."""
        if not self._account.is_closed:
            self._account.failed(self._worker, lease, records, error)

    def passed(self, records: Sequence[Record]) -> None:
        """Tells the account."""
        if not self._account.is_closed:
            self._account.passed(self._worker, records)
