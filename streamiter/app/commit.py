"""The commit: how a processor moves its lease's checkpoint inside a transaction of its own (law 18).

The store's row is locked from that move until the transaction ends. So a transaction that was thought to have failed, and ends
late, is seen by the one that does its work again: that one finds the checkpoint which the first put, and must roll back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from streamiter.errors import InvalidOption, LeaseLost
from streamiter.lease.lease import ORDER
from streamiter.store import Move

if TYPE_CHECKING:
    from streamiter.app.held import HeldLease
    from streamiter.lease.engine import Engine


class Mover(Protocol):
    """Moves checkpoints, as the runtime does."""

    engine: Engine

    def now_us(self) -> int:
        """The worker's own clock."""

    def commit(self, connection: Any, lease: HeldLease, place: Behind, unless: tuple[str, ...]) -> None:
        """Moves the checkpoint inside the transaction of this connection."""

    async def acommit(self, connection: Any, lease: HeldLease, place: Behind, unless: tuple[str, ...]) -> None:
        """The same on a connection whose calls are awaited."""


class Behind(NamedTuple):
    """The place behind a batch."""

    number: int  # of the batch's last record
    checkpoint: str | None  # None: the place has no checkpoint
    order_us: int | None = None  # the order time of the record before the checkpoint

    def move(self, lease: HeldLease, unless: tuple[str, ...]) -> Move:
        """The move of the lease's checkpoint to this place."""
        move = Move(lease.key, lease.owner, lease.fence, str(self.checkpoint), unless)
        return move if self.order_us is None else move._replace(progress={ORDER: self.order_us})


UNTOLD = (
    "the place behind this batch cannot be told: with order='total', it comes again, and the model or where= now fails on a "
    "record behind it that it took before; call the model inside the function, or use order='shard'"
)


class Commit:
    """One batch's commit. Any thread may call it, as long as the batch is being processed."""

    def __init__(self, mover: Mover, lease: HeldLease, place: Behind, is_held: Callable[[], bool]) -> None:
        self.checkpoint = place.checkpoint
        self.earlier = mover.engine.promises(lease.key, lease.fence)  # of transactions whose end we did not see
        self.begun_us: int | None = None  # when it was first called
        self._mover = mover
        self._lease = lease
        self._place = place
        self._number = place.number
        self._is_held = is_held
        self._is_open = True

    def __call__(self, connection: Any) -> None:
        """Moves the checkpoint behind the batch; the caller's transaction decides whether that stands."""
        self._begin()
        self._mover.commit(connection, self._lease, self._place, self.earlier)
        self._check()  # the row is locked now: a worker that processes the batch again waits for this transaction

    async def along(self, connection: Any) -> None:
        """The same on a connection whose calls are awaited."""
        self._begin()
        await self._mover.acommit(connection, self._lease, self._place, self.earlier)
        self._check()

    def _begin(self) -> None:
        self._check()
        if self.checkpoint is None:
            raise InvalidOption(UNTOLD)
        mover, lease = self._mover, self._lease
        mover.engine.promised(lease.key, lease.fence, self._number, self.checkpoint)
        if self.begun_us is None:
            self.begun_us = mover.now_us()

    def dates(self, standing: str) -> int | None:
        """If only this commit can have put the checkpoint that stands there: the time of its first call. Else None."""
        return self.begun_us if standing == self.checkpoint and standing not in self.earlier else None

    def close(self) -> None:
        """The batch's function is over."""
        self._is_open = False

    def _check(self) -> None:
        if not self._is_held():
            raise LeaseLost(self._lease.key, self._lease.fence)
        if not self._is_open:
            raise InvalidOption(
                "batch.commit() is called while the batch is processed; the function that got it is over"
            )
