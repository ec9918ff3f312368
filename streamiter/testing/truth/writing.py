"""Writing: a change becomes a record, in the one open shard that its partition key is hashed to."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

from streamiter.clock import floor_second
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.images import Image, TypedImage, plain_image
from streamiter.testing.truth.records import EventName, WrittenRecord, record_body

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


def write(
    service: Service, table: SimulatedTable, change: Change, now_us: int, knobs: Knobs, identity: dict[str, str] | None
) -> WrittenRecord:
    """The record of a change to a table's item."""
    shard = table.latest.shard_of(partition_number(change.key[table.hash_key]))
    record = append(
        table,
        shard,
        change,
        sequence_number=str(service.next_number(shard.greatest)),
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
    sequence_number: str,
    created_us: int | None,
    now_us: int,
    user_identity: dict[str, str] | None,
    plain: tuple[Image, Image | None, Image | None] | None = None,
) -> WrittenRecord:
    """The next record of a shard; `plain` is what a test gave as key, new and old image."""
    stream = table.latest
    body = record_body(
        event_id=f"{(table.serial << 64) + len(table.history) + 1:032x}",
        event_name=change.event,
        sequence_number=sequence_number,
        created_us=created_us,
        key=change.key,
        new=change.new,
        old=change.old,
        view=stream.view,
        user_identity=user_identity,
        region=table.region,
    )
    key, new, old = plain or (plain_image(change.key), _plain(change.new), _plain(change.old))
    record = WrittenRecord(
        shard.id, sequence_number, change.event, key, new, old, created_us, now_us, user_identity, body
    )
    shard.add(record)
    table.history.append(record)
    return record


def partition_number(hash_value: dict[str, object]) -> int:
    """The number that a partition key's value is hashed to."""
    [(kind, value)] = hash_value.items()
    text = value if isinstance(value, bytes) else str(value).encode()
    return int.from_bytes(hashlib.md5(kind.encode() + text, usedforsecurity=False).digest())


def _plain(image: TypedImage | None) -> Image | None:
    return None if image is None else plain_image(image)
