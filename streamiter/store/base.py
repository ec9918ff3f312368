"""The contract of a store: rows with versions, each changed by compare-and-set; a new backend is one class of these methods.

A row changes only where the writer names the version that stands there. Each write raises the version by one, so a version
that stands still for long enough tells that nothing was written meanwhile: leases rest on that. Methods block, and are called
from several threads at once; reads are consistent (each sees every write that was answered before the read began).

What a backend cannot do it raises in our words:

    Conflict          another row stands there: it comes with the error
    Throttled         asked too often; nothing was written
    TransientError    a fault that may pass: cut connections, time-outs. **A write may have happened all the same.**
    AccessDenied, CredentialsMissing, InvalidStore    final; the message says what to do

A writer that got a TransientError writes again, with the same `expected`. Where the first write had happened, the Conflict
brings the row as this writer wrote it: `is_same` recognises it. So no call waits for ever: a backend sets time limits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Self

from streamiter.errors import Conflict, InvalidOption, StreamiterError
from streamiter.source.sharing import Guard

LEASES = "leases"  # the one kind whose fields are laid out as columns
CALL_SECONDS = 5.0  # no call of a backend takes longer: then it is a TransientError


class Table(NamedTuple):
    """Which rows: what they are, whose they are, and of which stream. One store holds the tables of many apps."""

    kind: str
    app: str
    stream: str = ""

    def __str__(self) -> str:
        return f"{self.kind} of {self.app}" + (f", {self.stream}" if self.stream else "")


class Row(NamedTuple):
    """A row: its key, what it says (JSON's types, whole numbers of up to 63 bits), and the version that stands there.

    Rows of the kind "leases" have exactly the fields of LEASE_FIELDS; what else there is to say stands in "progress".
    """

    key: str
    fields: Mapping[str, Any]
    version: int = 0

    def is_same(self, other: Row | None) -> bool:
        """Whether the other row says the same: how a writer recognises a write of its own whose answer was lost."""
        return other is not None and self.key == other.key and dict(self.fields) == dict(other.fields)


class Write(NamedTuple):
    """A change that is wanted: the row's fields, if this version (None: no row) still stands."""

    row: Row
    expected: int | None


class Move(NamedTuple):
    """Where a lease's checkpoint is to be moved by its processor, while this worker holds it under this fence."""

    key: str
    owner: str
    fence: int
    checkpoint: str
    unless: tuple[str, ...] = ()  # where one of these stands, another transaction has done that work
    progress: Mapping[str, Any] = {}  # what its "progress" is to say of the new place, beside the rest


# What a lease's row says, with what it says where nothing was said.
LEASE_FIELDS: Mapping[str, Any] = {
    "owner": None,  # the worker that holds it
    "checkpoint": "",
    "completed": False,
    "fence": 0,
    "parents": [],
    "progress": {},
}


class Announcement(NamedTuple):
    """What a worker tells the others of a processor, and people who look: nothing depends on it."""

    app: str
    stream: str  # what the processor reads; "" where it is the app's leader
    processor: str
    worker: str
    what: str  # "joined", "here", "left", "asks", "released" and the like; "" for a sign of life that nobody waits for
    to: str = ""  # the worker that it is for; "": all
    leases: Mapping[str, str | None] = {}  # who has which, as far as this worker knows
    valid_seconds: float = 10.0  # for how long it counts as alive without another word; 0: it is gone


class Store(ABC):
    """Where rows are kept. A backend writes the first five methods; the rest have defaults."""

    @abstractmethod
    def scan(self, table: Table) -> list[Row]:
        """All rows of a table, in any order; over several pages, so rows written meanwhile may be missing or not."""

    @abstractmethod
    def read(self, table: Table, key: str) -> Row | None:
        """One row; None where there is none."""

    @abstractmethod
    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        """Writes the row if `expected` stands (None: if there is none), and gives it with its new version; else Conflict."""

    @abstractmethod
    def delete(self, table: Table, key: str, expected: int) -> None:
        """Removes the row if that version stands; else Conflict."""

    @abstractmethod
    def tables(self, kind: str) -> list[Table]:
        """Which tables of this kind have rows: for people who look around. It may read the whole store."""

    def write_all(self, table: Table, writes: Sequence[Write]) -> list[Row | StreamiterError]:
        """Several writes of different rows, each by itself: for each the row, or the error that it alone met."""
        return [self._try_write(table, write) for write in writes]

    def move_checkpoint(self, connection: Any, table: Table, move: Move) -> None:
        """Moves a lease's checkpoint inside the caller's own transaction on this connection; LeaseLost if it is not held so."""
        raise InvalidOption(
            f"{self!r} cannot take part in your transaction: batch.commit() wants an app whose store is SQLite or Postgres"
        )

    async def amove_checkpoint(self, connection: Any, table: Table, move: Move) -> None:
        """The same on a connection whose calls are awaited."""
        raise InvalidOption(
            f"{self!r} cannot take part in your transaction: batch.acommit() wants an app whose store is SQLite or Postgres"
        )

    def alone(self, table: Table) -> AbstractContextManager[None]:
        """Keeps other operators from these rows inside the block, where the store can; Throttled where one is at work.

        Workers take no notice. Nothing but convenience depends on it: each row is compared and set.
        """
        return nullcontext()

    def guard(self, table: Table, key: str, owner: str, fence: int) -> Guard:
        """Where a source can see whether this worker still has the lease, in the same step in which it reads."""
        raise InvalidOption(
            f"{self!r} holds no leases that a log could look at: acks='group' wants a store in the log's Redis"
        )

    def close(self) -> None:  # noqa: B027 - rows in memory hold nothing open
        """Lets go of connections and files. More calls of `close` do nothing."""

    def _try_write(self, table: Table, write: Write) -> Row | StreamiterError:
        try:
            return self.write(table, write.row, write.expected)
        except StreamiterError as error:
            return error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Announcer(ABC):
    """What a store is besides, where its workers can tell each other what they did. Nothing depends on it."""

    @abstractmethod
    def announce(self, told: Announcement) -> None:
        """Tells the other workers, so that they look at the rows at once, and not only at their next round."""

    @abstractmethod
    def listen(self, me: Announcement, after: str | None, seconds: float) -> tuple[str, list[Announcement]]:
        """Waits for announcements of this one's processor, at most so long: the place behind them, and what was said.

        `after` is a place that it gave, or None: then it gives the place where it stands, at once.
        """


def next_version(expected: int | None) -> int:
    """The version that a write leaves."""
    return 1 if expected is None else expected + 1


def check_standing(key: str, expected: int | None, standing: Row | None) -> None:
    """Raises Conflict unless what stands is what was expected."""
    if (None if standing is None else standing.version) != expected:
        raise Conflict(key, expected, standing)
