"""The hand: for a processor that moves its lease's checkpoint itself, instead of acking records."""

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
    """A processor that moves its leases' checkpoints itself, and brings its own Work, which hands the records over.

    An ack of its Work makes room for other records, and moves no checkpoint: `desk.hand` does that. The Work says when it is
    done with a shard that ended, and when it has let go of a lease.
    """

    __name__: str

    @abstractmethod
    def work(self, desk: Desk, processor: Processor, threads: Calls, spawn: Spawn) -> Work:
        """The Work on one lease."""


class Leases(Protocol):
    """What drives the engine."""

    engine: Engine

    def happen(self, event: Callable[[int], None]) -> None:
        """Passes an event to the engine, and does what the engine then wishes."""

    def read_again(self, lease: HeldLease, again_us: int) -> None:
        """From that moment on, reads again from the checkpoint."""


class Hand:
    """One lease of a processor that moves the checkpoint itself (see lease/byhand.py). To be used on the event loop alone."""

    def __init__(self, leases: Leases, lease: HeldLease) -> None:
        self._leases = leases
        self._lease = lease
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    async def put(self, checkpoint: str, order_us: int | None) -> None:
        """Moves the checkpoint, and returns once the store has it. Raises LeaseLost if the lease is no longer ours."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((checkpoint, written))
        by_hand, key, fence = self._leases.engine.by_hand, self._lease.key, self._lease.fence
        self._leases.happen(lambda now: by_hand.placed(key, fence, checkpoint, order_us, now))
        self.wrote()  # the store may have this checkpoint already
        await written

    def wrote(self) -> None:
        """The store has answered a write of the lease's row."""
        if self._waiting:
            stands = self._leases.engine.by_hand.written(self._lease.key, self._lease.fence)
            for _, written in self._take(lambda checkpoint: checkpoint == stands):
                written.set_result(None)
            if stands is None:
                self.close()

    def close(self) -> None:
        """The lease is no longer ours."""
        for _, written in self._take(lambda _: True):
            written.set_exception(LeaseLost(self._lease.key, self._lease.fence))

    @property
    def is_read(self) -> bool:
        """Whether the shard was read to its end, and every record is acked, so that its processor can be told of the end."""
        return self._leases.engine.by_hand.is_read(self._lease.key, self._lease.fence)

    @property
    def checkpoint(self) -> str | None:
        """The lease's checkpoint; None if the lease is no longer ours."""
        standing = self._leases.engine.by_hand.standing(self._lease.key, self._lease.fence)
        return None if standing is None else standing.checkpoint

    def finish(self) -> None:
        """The processor was told the shard's end, and is done with it: completes the lease."""
        by_hand = self._leases.engine.by_hand
        self._leases.happen(lambda now: by_hand.finished(self._lease.key, self._lease.fence, now))

    def part(self) -> None:
        """The processor has let go of the lease: releases it."""
        by_hand = self._leases.engine.by_hand
        self._leases.happen(lambda now: by_hand.parted(self._lease.key, self._lease.fence, now))

    def read_again(self, again_us: int) -> None:
        """The processor failed, and has no records any more. From that moment on, reads again from the checkpoint."""
        self._leases.read_again(self._lease, again_us)

    def _take(self, wanted: Callable[[str], bool]) -> list[tuple[str, asyncio.Future[None]]]:
        taken = [waiting for waiting in self._waiting if wanted(waiting[0]) and not waiting[1].done()]
        self._waiting = [waiting for waiting in self._waiting if not wanted(waiting[0])]
        return taken
