"""Wishes: what an engine wants done; the runtime does it, and tells the engine what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import count, repeat
from typing import Any, NamedTuple, overload

import msgspec

from streamiter.lease.lease import Lease, Worker

# A record's checkpoint: as text, or as a function that tells it for as long as it can be told, and None afterwards. The
# function is told whether the lease is let go with this place, and nothing is out: then no record behind it is delivered.
Checkpoint = str | Callable[[bool], str | None]


@dataclass(frozen=True, slots=True)
class Rows:
    """The records of a page in columns."""

    places: Sequence[Checkpoint]
    groups: Sequence[Any] | None  # None: no record is of any
    records: Sequence[Any]

    @classmethod
    def of(cls, rows: Iterable[tuple[Checkpoint, Any, Any]]) -> Rows:
        """Made of checkpoint, group and record of each."""
        columns = list(zip(*rows, strict=True))
        return cls(*columns) if columns else cls((), None, ())


Given = Rows | Iterable[tuple[Checkpoint, Any, Any]]  # for each record its checkpoint, its group, and itself


class Came(NamedTuple):
    """What a page brought: the answer to `Fetch`."""

    records: Given
    again_us: int | None = None  # when the next one is to be asked for; None: at once
    tip_us: int | None = None  # it came to the shard's tip of this moment of the service's
    start: str | None = None  # the checkpoint before these records, where their source says it anew


class Look(NamedTuple):
    """Scan all leases and all workers; answered by `looked`, or `look_failed`."""


class WriteLease(NamedTuple):
    """Write this lease if the expected version stands (None: no row); answered by `written`, `refused` or `failed`."""

    ticket: int
    lease: Lease
    expected: int | None


class WriteWorker(NamedTuple):
    """Write this worker's own row; answered as WriteLease is."""

    ticket: int
    worker: Worker
    expected: int | None


class DeleteLease(NamedTuple):
    """Remove a lease of a shard that is gone. No answer is waited for: it is wished again where it is still there."""

    key: str
    expected: int


class DeleteWorker(NamedTuple):
    """Remove a worker's row: our own when we leave, or one that stood still for long. No answer is waited for."""

    id: str
    expected: int


class ListShards(NamedTuple):
    """List all shards of the stream; answered by `shards_listed`, or `listing_failed`."""


class Begin(NamedTuple):
    """This lease is ours now: open its processor. Pages and deliveries follow."""

    lease: Lease


class Fetch(NamedTuple):
    """The next page of a lease, after this place: the runtime may still have an iterator that stands there."""

    key: str
    fence: int
    after: str


class Deliver(NamedTuple):
    """Hand these records to the processor, if `may_deliver` still says so; answered by `acked`, `nacked` or `returned`."""

    key: str
    fence: int
    entries: Sequence[Entry]


class Drain(NamedTuple):
    """The lease is to be let go: nothing more is delivered, what is out may finish. Tell its processor."""

    key: str
    fence: int


class Stop(NamedTuple):
    """The lease is ours no more: close its processor."""

    key: str
    fence: int
    why: str  # "lost", "released", "completed"


class Leave(NamedTuple):
    """All is released: the worker can exit."""


class Every(Enum):
    """The group of a record that may be of any: it goes out when all before it are done, and none behind it before it is."""

    GROUP = auto()


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A record on its way through a lease's pipeline.

    There are thousands of them, and what the garbage collector looks at costs as much as all else of an entry. Nothing that an
    entry names ever names the entry.
    """

    number: int  # counts the records of this lease since it was taken
    place: Checkpoint  # the one that stands once this record and all before it are acked
    group: Any  # records of the same group keep their order; None: of none; Every.GROUP: of every one
    record: Any
    behind: Any = None  # the last record before its place, where that is another: those in between were left out

    @property
    def order_us(self) -> int | None:
        """The order time of the last record before its place; None where records have none."""
        return getattr(self.record if self.behind is None else self.behind, "order_us", None)

    def upto(self, last: Entry) -> Entry:
        """This one with the place behind a later one: what lies between them is done when this one is."""
        behind = last.record if last.behind is None else last.behind
        return Entry(self.number, last.place, self.group, self.record, behind)


class Entries(Sequence[Entry]):
    """Entries of no group that stand one behind the other, in columns: one is made when it is looked at by itself.

    Most never are: a batch goes out, and is acked, as a whole.
    """

    __slots__ = ("first", "places", "records")

    def __init__(self, first: int, places: Sequence[Checkpoint], records: Sequence[Any]) -> None:
        self.first = first  # the number of the first one
        self.places = places
        self.records = records

    @property
    def numbers(self) -> range:
        """Their numbers."""
        return range(self.first, self.first + len(self.records))

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Entry]:
        return map(Entry, count(self.first), self.places, repeat(None), self.records)

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> Entries: ...
    def __getitem__(self, at: int | slice) -> Entry | Entries:
        if isinstance(at, slice):
            start, _, step = at.indices(len(self))
            assert step == 1, "entries stand one behind the other"
            return Entries(self.first + start, self.places[at], self.records[at])
        return Entry(self.numbers[at], self.places[at], None, self.records[at])

    def __repr__(self) -> str:
        return repr(tuple(self))


def numbers_of(entries: Sequence[Entry]) -> Sequence[int]:
    """The numbers of these."""
    return entries.numbers if isinstance(entries, Entries) else [entry.number for entry in entries]


def records_of(entries: Sequence[Entry]) -> Sequence[Any]:
    """The records of these."""
    return entries.records if isinstance(entries, Entries) else [entry.record for entry in entries]


Wish = (
    Look
    | WriteLease
    | WriteWorker
    | DeleteLease
    | DeleteWorker
    | ListShards
    | Begin
    | Fetch
    | Deliver
    | Drain
    | Stop
    | Leave
)
