"""The tap: a source that keeps account of what it gave: the true order of each shard, and how far each was read."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from streamiter.app.virtual.given import GivenRecords
from streamiter.lease.lease import END
from streamiter.merge import TIP_EMPTIES
from streamiter.position import Place, Position
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.base import TRAITS, Page, ShardIterator, ShardPage, Source

Identity = tuple[str, int]


def identity(record: Record) -> Identity:
    """What a record is known by in its shard, in every reader's hands."""
    return record.sequence_number, getattr(record, "sub_sequence_number", 0)


class Fault:
    """What goes wrong with one of the calls that are made at this moment: with the first, or with one after it."""

    def __init__(self, error: Exception, after: int) -> None:
        self._error = error
        self._after = after

    def meet(self) -> None:
        """A call is made."""
        self._after -= 1
        if self._after < 0:
            raise self._error


FAULT: ContextVar[Fault | None] = ContextVar("fault", default=None)


def _meet_fault() -> None:
    fault = FAULT.get()
    if fault is not None:
        fault.meet()


class Tap(Source[Any]):
    """Passes all on to a source, and notes it."""

    def __init__(self, source: Source[Any]) -> None:
        self.source = source
        for trait in TRAITS:
            setattr(self, trait, getattr(source, trait))
        self.shards: dict[str, Shard] = {}  # all that were ever told of
        self.seen: dict[str, dict[Identity, int]] = {}  # by shard: each record that was read, and its place, from 1
        self.tips: dict[str, int] = {}  # by shard: how often it was read to its tip, or its end
        self.ended: set[str] = set()  # shards that were read to their end
        self.listings = 0
        self.calls = 0
        self._places: dict[
            str, dict[Identity, int]
        ] = {}  # the same, with those that were trimmed before they were read
        self._numbers: dict[str, dict[int, int]] = {}  # by shard: the place of the first record with a number
        self._order: dict[str, list[Identity]] = {}  # the records of `_places` by their place
        self._empties: dict[str, int] = {}

    @property
    def name(self) -> str:
        """The source's."""
        return self.source.name

    @property
    def retention_us(self) -> int:
        """The source's."""
        return self.source.retention_us

    @property
    def connections(self) -> int:
        """The source's."""
        return self.source.connections

    def list_shards(self, after: str | None) -> ShardPage:
        """Notes the shards."""
        _meet_fault()
        self.calls += 1
        page = self.source.list_shards(after)
        for shard in page.shards:
            self.shards[shard.id] = shard
        if page.next is None:
            self.listings += 1
        return page

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """As the source."""
        _meet_fault()
        return self.source.open_iterator(shard_id, position)

    def place_behind(self, iterator: ShardIterator) -> Place | None:
        """As the source."""
        return self.source.place_behind(iterator)

    def fetch(self, iterator: ShardIterator, limit: int) -> Page[Any]:
        """Notes the records, and whether the page came to the tip."""
        _meet_fault()
        self.calls += 1
        page = self.source.fetch(iterator, limit)
        shard_id = iterator.shard_id
        if isinstance(self.source, GivenRecords) and iterator.value > len(self._places.get(shard_id, ())):
            self.note(shard_id, self.source.shards[shard_id].records[: iterator.value])
        self.note(shard_id, page.records)
        seen, places = self.seen.setdefault(shard_id, {}), self._places[shard_id]
        for record in page.records:
            seen.setdefault(identity(record), places[identity(record)])
        for child in page.children:
            self.shards.setdefault(child.id, child)
        empties = self._empties[shard_id] = 0 if page.records else self._empties.get(shard_id, 0) + 1
        if page.next is None:
            self.ended.add(shard_id)
        if page.next is None or page.caught_up or empties >= TIP_EMPTIES:
            self.tips[shard_id] = self.tips.get(shard_id, 0) + 1
        return page

    def identify(self, record: Record) -> object | None:
        """As the source."""
        return self.source.identify(record)

    def last(self, shard_id: str) -> int | None:
        """The greatest number of a record that came of this shard."""
        return max(self._numbers.get(shard_id, {}), default=None)

    def note(self, shard_id: str, records: Sequence[Record]) -> None:
        """Notes the places of records that follow those of the shard that were noted, or are among them."""
        places, numbers = self._places.setdefault(shard_id, {}), self._numbers.setdefault(shard_id, {})
        order = self._order.setdefault(shard_id, [])
        for record in records:
            place = places.setdefault(identity(record), len(places) + 1)
            if place > len(order):
                order.append(identity(record))
            numbers.setdefault(int(record.sequence_number or 0), place)

    def place(self, record: Record) -> int:
        """A record's place in its shard, from 1."""
        return self._places[record.shard_id][identity(record)]

    def before(self, record: Record) -> Identity | None:
        """The record before it in its shard; None: it is the first."""
        place = self.place(record)
        return self._order[record.shard_id][place - 2] if place > 1 else None

    def place_of(self, shard_id: str, checkpoint: str) -> int:
        """The place up to which a checkpoint says that all was processed."""
        if checkpoint == END:
            return len(self._places.get(shard_id, {}))
        number, _, since = checkpoint.partition("/")
        if not number.isdigit():
            return 0
        return self._numbers.get(shard_id, {}).get(int(number), 0) + int(since or 0)
