"""The hand: what a processor asks and tells that keeps its lease's checkpoint itself, instead of having records acked."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from streamiter.errors import LeaseLost

if TYPE_CHECKING:
    from streamiter.app.desk import Desk
    from streamiter.app.held import HeldLease
    from streamiter.app.processor import Processor
    from streamiter.app.threads import Calls
    from streamiter.app.works import Spawn, Work
    from streamiter.lease.engine import Engine


class Keeper(ABC):
    """A processor that keeps its leases' checkpoints itself: what hands the records over is its own, too.

    Records that its work acks make room for others, and move no checkpoint: `desk.hand` does. The work says when it is
    through with a shard that ended, and when it has parted with a lease that is let go.
    """

    __name__: str

    @abstractmethod
    def work(self, desk: Desk, processor: Processor, threads: Calls, spawn: Spawn) -> Work:
        """What hands the records of one lease over."""


class Leases(Protocol):
    """What drives the engine."""

    engine: Engine

    def happen(self, event: Callable[[int], None]) -> None:
        """An event for the engine, at this moment; what it wishes then is done."""

    def read_again(self, lease: HeldLease, again_us: int) -> None:
        """What lies behind the checkpoint is read again, from that moment on."""


class Hand:
    """One lease of a processor that says itself where the checkpoint stands (see lease/byhand.py). All of it on the loop."""

    def __init__(self, leases: Leases, lease: HeldLease) -> None:
        self._leases = leases
        self._lease = lease
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    async def put(self, checkpoint: str, order_us: int | None) -> None:
        """Moves the checkpoint; comes back once it stands in the store. LeaseLost where the lease is ours no more."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((checkpoint, written))
        by_hand, key, fence = self._leases.engine.by_hand, self._lease.key, self._lease.fence
        self._leases.happen(lambda now: by_hand.placed(key, fence, checkpoint, order_us, now))
        self.wrote()  # it may stand there already
        await written

    def wrote(self) -> None:
        """A write of the lease's row was answered."""
        if self._waiting:
            stands = self._leases.engine.by_hand.written(self._lease.key, self._lease.fence)
            for _, written in self._take(lambda checkpoint: checkpoint == stands):
                written.set_result(None)
            if stands is None:
                self.close()

    def close(self) -> None:
        """The lease is ours no more."""
        for _, written in self._take(lambda _: True):
            written.set_exception(LeaseLost(self._lease.key, self._lease.fence))

    @property
    def is_read(self) -> bool:
        """Whether the shard was read to its end, and every record acked: its processor is to be told."""
        return self._leases.engine.by_hand.is_read(self._lease.key, self._lease.fence)

    @property
    def checkpoint(self) -> str | None:
        """Where the lease stands; None where it is ours no more."""
        standing = self._leases.engine.by_hand.standing(self._lease.key, self._lease.fence)
        return None if standing is None else standing.checkpoint

    def finish(self) -> None:
        """The processor is through with the shard, whose end it was told: the lease is completed."""
        by_hand = self._leases.engine.by_hand
        self._leases.happen(lambda now: by_hand.finished(self._lease.key, self._lease.fence, now))

    def part(self) -> None:
        """The processor has ended, as the lease is let go: it is released."""
        by_hand = self._leases.engine.by_hand
        self._leases.happen(lambda now: by_hand.parted(self._lease.key, self._lease.fence, now))

    def read_again(self, again_us: int) -> None:
        """The processor failed: what it did not checkpoint is read again, from that moment on. Nothing is out any more."""
        self._leases.read_again(self._lease, again_us)

    def _take(self, wanted: Callable[[str], bool]) -> list[tuple[str, asyncio.Future[None]]]:
        taken = [waiting for waiting in self._waiting if wanted(waiting[0]) and not waiting[1].done()]
        self._waiting = [waiting for waiting in self._waiting if not wanted(waiting[0])]
        return taken
