"""Writing: a change becomes a record, in the one open shard that its partition key is hashed to."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

from streamiter.clock import floor_second
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.images import TypedImage
from streamiter.testing.truth.records import (
    EventName,
    PackedImages,
    SpelledOut,
    WrittenRecord,
    told_size,
    written_record,
)

if TYPE_CHECKING:
    from streamiter.testing.truth.service import Service
    from streamiter.testing.truth.shards import SimulatedShard
    from streamiter.testing.truth.simulated_table import SimulatedTable


class Change(Protocol):
    """An item before and after, as typed images."""

    @property
    def key(self) -> TypedImage: ...
    @property
    def old(self) -> TypedImage | None: ...
    @property
    def new(self) -> TypedImage | None: ...
    @property
    def event(self) -> EventName: ...
    @property
    def packed(self) -> PackedImages: ...


def write(
    service: Service, table: SimulatedTable, change: Change, now_us: int, knobs: Knobs, identity: dict[str, str] | None
) -> WrittenRecord:
    """The record of a change to a table's item."""
    shard = table.latest.shard_of(partition_number(change.key[table.hash_key]))
    record = append(
        table,
        shard,
        change,
        number=service.next_number(shard.greatest),
        created_us=floor_second(now_us + knobs.created_shift_us(shard.name, shard.end)),
        now_us=now_us,
        user_identity=identity,
    )
    table.latest.bear_load(shard, now_us, knobs.split_rate, service.next_number)
    return record


def append(
    table: SimulatedTable,
    shard: SimulatedShard,
    change: Change,
    *,
    number: int,
    created_us: int | None,
    now_us: int,
    user_identity: dict[str, str] | None,
    spelled: SpelledOut | None = None,
) -> WrittenRecord:
    """The next record of a shard."""
    stream = table.latest
    view = stream.view
    record = written_record(
        table.origin(shard.id, change.event, view, user_identity),
        number,
        shard.same_time(created_us),
        now_us,
        change.packed,
        told_size(
            change.key,
            change.new if view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES") else None,
            change.old if view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES") else None,
        ),
        spelled,
    )
    shard.add(record)
    table.history.append(record)
    table.rendered.note(record)  # those who follow the stream ask for it soon
    return record


def partition_number(hash_value: dict[str, object]) -> int:
    """The number that a partition key's value is hashed to."""
    [(kind, value)] = hash_value.items()
    text = value if isinstance(value, bytes) else str(value).encode()
    return int.from_bytes(hashlib.md5(kind.encode() + text, usedforsecurity=False).digest())
