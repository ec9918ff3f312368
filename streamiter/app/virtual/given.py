"""Given records: a source in this process, over records that a test hands out, in shards that it splits and merges."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streamiter.clock import microseconds
from streamiter.envelope import Change, Envelope
from streamiter.errors import InvalidOption, PositionTrimmed, ShardGone
from streamiter.position import After, AtNumber, AtTime, Position
from streamiter.record import ChangeRecord, Record
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardIterator, ShardPage, Source
from streamiter.source.kinesis_record import KinesisRecord


@dataclass
class GivenShard:
    """One shard, as it truly is."""

    id: str
    parents: tuple[str, ...] = ()
    is_closed: bool = False
    records: list[Record] = field(default_factory=list)  # all that were ever written
    trimmed: int = 0  # so many of the first ones are held no more


class GivenRecords(Source[Any]):
    """Records in shards, as a source. `shards` are names, or how many there are to begin with.

    Records older than `retention` seconds are held until `trim` is called, for a test says when that happens.

    `put` takes what stands for a record: a mapping is a row that was inserted, bytes are a Kinesis record's payload, and a
    Record is taken as it is, with the number and the time that it has.
    """

    def __init__(
        self,
        records: Iterable[Any] = (),
        *,
        shards: int | Iterable[str] = 1,
        key: str = "id",
        name: str = "given",
        retention: float = 86_400.0,
    ) -> None:
        names = [f"shard-{number}" for number in range(shards)] if isinstance(shards, int) else list(shards)
        if not names:
            raise InvalidOption("records are given in one shard or more")
        self.shards: dict[str, GivenShard] = {name: GivenShard(name) for name in names}
        self._key = key
        self._name = name
        self._retention_us = microseconds(retention)
        self._now_us: Callable[[], int] = lambda: 0
        self._number = 0
        for record in records:
            self.put(record)

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def retention_us(self) -> int:
        """How long it holds records."""
        return self._retention_us

    def use_clock(self, now_us: Callable[[], int]) -> None:
        """Its time, in microseconds since 1970: that of the world in which it is read."""
        self._now_us = now_us

    # -- what a test does

    def put(self, record: Any, shard: str | None = None) -> Record:
        """Writes a record: to this shard, or to the one that its key leads to. A Record goes to the shard that it names."""
        made = record if isinstance(record, Record) else None
        if made is not None and shard is None and made.shard_id not in self.shards:
            self.shards[made.shard_id] = GivenShard(made.shard_id)
        target = self.shards[shard or (self._shard_of(record) if made is None else made.shard_id)]
        if target.is_closed:
            raise InvalidOption(f"shard {target.id!r} is closed: it takes no more records")
        if made is None:
            self._number += 1
            made = _record(record, target.id, self._number, self._now_us(), self._key)
        target.records.append(made)
        return made

    def split(self, shard: str) -> list[str]:
        """Closes a shard and opens two children."""
        return self._succeed([shard], 2)

    def merge(self, one: str, other: str) -> str:
        """Closes two shards and opens a child of both."""
        return self._succeed([one, other], 1)[0]

    def roll(self, shard: str) -> str:
        """Closes a shard and opens one child."""
        return self._succeed([shard], 1)[0]

    def close_shard(self, shard: str) -> None:
        """Closes a shard without a child."""
        self.shards[shard].is_closed = True

    def trim(self) -> int:
        """Lets go of all records that are older than the retention, as services do; gives how many these were."""
        horizon_us, count = self._now_us() - self._retention_us, 0
        for shard in self.shards.values():
            while shard.trimmed < len(shard.records) and (shard.records[shard.trimmed].created_us or 0) < horizon_us:
                shard.trimmed += 1
                count += 1
        return count

    @property
    def open_shards(self) -> list[str]:
        """The shards that take records."""
        return [shard.id for shard in self.shards.values() if not shard.is_closed]

    def children(self, shard: str) -> list[str]:
        """The shards that follow this one."""
        return [other.id for other in self.shards.values() if shard in other.parents]

    # -- what readers ask

    def list_shards(self, after: str | None) -> ShardPage:
        """All of them."""
        shards = tuple(Shard(shard.id, shard.parents, shard.is_closed) for shard in self.shards.values())
        return ShardPage(shards, None, self._now_us())

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """A place in the list of its records."""
        if shard_id not in self.shards:
            raise ShardGone(f"there is no shard {shard_id!r}")
        shard = self.shards[shard_id]
        place = _index(shard.records, position)
        # As DynamoDB: behind a record that is held no more no shard opens, even where the next one is held.
        if place < shard.trimmed + isinstance(position, After) and shard.trimmed:
            if isinstance(position, After | AtNumber):
                raise PositionTrimmed(f"{shard_id} holds {position} no more")
            place = shard.trimmed
        return ShardIterator(shard_id, place)

    def fetch(self, iterator: ShardIterator, limit: int) -> Page[Any]:
        """What follows, and at a shard's end its children."""
        shard = self.shards[iterator.shard_id]
        if iterator.value < shard.trimmed:
            raise PositionTrimmed(f"{shard.id} holds what comes next no more")
        # Each reader gets a copy: the merge stamps an order on records, and a model is made of them.
        records = [copy.copy(record) for record in shard.records[iterator.value : iterator.value + limit]]
        place = iterator.value + len(records)
        is_tip = place == len(shard.records)
        if shard.is_closed and is_tip:
            children = tuple(
                Shard(child, self.shards[child].parents, self.shards[child].is_closed)
                for child in self.children(shard.id)
            )
            return Page(records, None, self._now_us(), children=children)
        return Page(records, ShardIterator(shard.id, place), self._now_us(), caught_up=is_tip)

    # -- inside

    def _succeed(self, parents: list[str], count: int) -> list[str]:
        for parent in parents:
            self.shards[parent].is_closed = True
        made = []
        for _ in range(count):
            name = f"shard-{len(self.shards)}"
            self.shards[name] = GivenShard(name, tuple(parents))
            made.append(name)
        return made

    def _shard_of(self, record: Any) -> str:
        shards = self.open_shards
        if not shards:
            raise InvalidOption("all shards are closed: none takes records")
        told = record.get(self._key) if isinstance(record, Mapping) else self._number
        number = told if isinstance(told, int) else sum(str(told).encode())
        return shards[number % len(shards)]


def _index(records: list[Record], position: Position) -> int:
    if isinstance(position, After):
        wanted = [n for n, record in enumerate(records, 1) if record.number == position.place.number]
        return wanted[0] if wanted else sum(record.number <= position.place.number for record in records)
    if isinstance(position, AtTime):
        times = [record.created_us or 0 for record in records]
        return next((n for n, time_us in enumerate(times) if time_us >= position.time_us), len(records))
    if isinstance(position, AtNumber):
        return next((n for n, record in enumerate(records) if record.sequence_number == position.text), len(records))
    return 0


def _record(given: Any, shard_id: str, number: int, now_us: int, key: str) -> Record:
    sequence_number = f"{number:021d}"
    if isinstance(given, bytes):
        return KinesisRecord(shard_id, sequence_number, now_us, partition_key=str(number), raw_payload=given)
    if not isinstance(given, Mapping):
        raise InvalidOption(
            f"a record is given as a mapping (a row that was inserted), bytes (a Kinesis payload) or a Record, "
            f"not as a {type(given).__name__}"
        )
    if key not in given:
        raise InvalidOption(f"a row is known by its {key!r}, which this one lacks; say key= for another attribute")
    image = _typed(given)
    change = Change(sequence_number, now_us / 1e6, {key: image[key]}, image, None, None)
    (made,) = ChangeRecord.all_of(shard_id, [Envelope(change, f"event-{number}", "INSERT", "1.1")])
    return made


def _typed(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in DynamoDB's JSON, as boto3 has it; floats, which it refuses, as the text that they print as."""
    from decimal import Decimal

    from boto3.dynamodb.types import TypeSerializer

    serialize = TypeSerializer().serialize
    return {name: serialize(Decimal(repr(value)) if isinstance(value, float) else value) for name, value in row.items()}
