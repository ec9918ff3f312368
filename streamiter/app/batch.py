"""Batches: records of one lease that are handed over together, with the place behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from streamiter.app.commit import Commit
from streamiter.app.held import HeldLease
from streamiter.record import Record

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    R = TypeVar("R", bound=Record, default=Record)
else:
    from typing import TypeVar

    R = TypeVar("R")


class LeaseBatch(list[R]):
    """A list of records of one lease, in order. They count as processed when the function that got them returns."""

    def __init__(self, records: Iterable[R], lease: HeldLease, token: Callable[[], Any], commit: Commit) -> None:
        super().__init__(records)
        self.lease = lease
        self._token = token
        self.commit_call = commit

    @property
    def token(self) -> Any:
        """The place behind the last record: with order="total" a Stream's token, else the lease's checkpoint as text."""
        return self._token()

    def commit(self, connection: Any) -> None:
        """Moves the checkpoint behind this batch inside your own transaction on this connection (exactly once).

        The connection is sqlite3's or psycopg's, to the database that is the app's store. Call it once, last, before the
        function returns; then commit the transaction: effect and checkpoint stand together. LeaseLost means that another
        worker has the lease: roll back.
        """
        self.commit_call(connection)

    async def acommit(self, connection: Any) -> None:
        """As `commit`, on a connection whose calls are awaited: psycopg's AsyncConnection, or aiosqlite's."""
        await self.commit_call.along(connection)
