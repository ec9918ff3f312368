"""What checkers make of a user's code: each `assert_type` is checked by mypy and by pyright, both strictly.

It is not run: what is checked is the type of each expression, and that the mistakes at its end are found.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_type

import arrow
import msgspec

from streamiter import (
    App,
    AsyncStream,
    Batch,
    ChangeRecord,
    DynamoDBStreams,
    KinesisChange,
    KinesisRecord,
    KinesisStreams,
    LogRecord,
    Page,
    Record,
    ShardIterator,
    ShardPage,
    Source,
    Stats,
    Stream,
    Topic,
)
from streamiter.log import MemoryLog, SqliteLog, open_log
from streamiter.position import Position
from streamiter.topic import Written

Row = dict[str, Any]


@dataclass
class User:
    """A model that is a class."""

    id: str


class Point(msgspec.Struct):
    """A model that is a struct."""

    x: Decimal


def make_pair(image: Row) -> tuple[str, int]:
    """A model that is a function."""
    return str(image["id"]), len(image)


# -- a table, named or as a source


def by_name() -> None:
    stream = Stream("dynamodb://users")
    assert_type(stream, Stream[ChangeRecord[Row]])
    assert_type(next(stream), ChangeRecord[Row] | None)
    assert_type(stream.token, Row)
    assert_type(stream.stats, Stats)
    assert_type(stream.follow(), Iterator[ChangeRecord[Row]])
    assert_type(stream.batches(10), Iterator[Batch[ChangeRecord[Row]]])
    for record in stream.follow(until="caught_up"):
        assert_type(record.new, Row | None)
        assert_type(record.old, Row | None)
        assert_type(record.key, Row)
        assert_type(record["new"], Row | None)
        assert_type(record["key"], Row)
        assert_type(record["meta"], Row)
        assert_type(record.created_at, arrow.Arrow | None)
        assert_type(record.event_name, str | None)
        assert_type(record.late, bool)
        assert_type(record.clock, int)
        assert_type(record.order_key, str)
        assert_type(record.user_identity, Row | None)
    with stream as inside:
        assert_type(inside, Stream[ChangeRecord[Row]])
    for maybe in stream:
        assert_type(maybe, ChangeRecord[Row] | None)


def by_source() -> None:
    stream = Stream(DynamoDBStreams("users"), "latest", lateness=None, on_gap="skip")
    assert_type(stream, Stream[ChangeRecord[Row]])


def batches_are_sequences() -> None:
    for batch in Stream("users").batches(100):
        assert_type(batch[0], ChangeRecord[Row])
        assert_type(batch[1:], list[ChangeRecord[Row]])
        assert_type(batch.token, Row)
        wanted: Sequence[ChangeRecord] = batch
        assert_type(len(wanted), int)
        changed: MutableSequence[ChangeRecord] = batch
        changed.reverse()


# -- models


def models() -> None:
    assert_type(Stream("users", model=User), Stream[ChangeRecord[User]])
    assert_type(Stream(DynamoDBStreams("users"), model=Point), Stream[ChangeRecord[Point]])
    paired = Stream("users", model=make_pair)
    assert_type(paired, Stream[ChangeRecord[tuple[str, int]]])
    for record in paired.follow():
        assert_type(record.new, tuple[str, int] | None)
        assert_type(record["old"], tuple[str, int] | None)
        assert_type(record.key, Row)


# -- logs


def of_a_log() -> None:
    log = SqliteLog("orders.db", "orders")
    stream = Stream(log)
    assert_type(stream, Stream[LogRecord[bytes]])
    for record in stream.follow():
        assert_type(record.payload, bytes)
        assert_type(record.key, bytes | None)
    assert_type(Stream(log, model=User), Stream[LogRecord[User]])
    assert_type(AsyncStream(MemoryLog()), AsyncStream[LogRecord[bytes]])
    assert_type(AsyncStream(open_log("sqlite:///orders.db?topic=orders"), model=User), AsyncStream[LogRecord[User]])


# -- topics


def of_a_topic() -> None:
    users = Topic("sqlite:///users.db?topic=users", record=User, partition_by="id", partitions=16)
    assert_type(users, Topic[User])
    assert_type(App("shop").topic("sqlite:///users.db?topic=users", record=Point), Topic[Point])
    assert_type(Stream(users), Stream[LogRecord[User]])
    assert_type(AsyncStream(users), AsyncStream[LogRecord[User]])
    for record in Stream(users).follow():
        assert_type(record.payload, User)
    sent = users.send(User("ann"))
    assert_type(sent.number, int)
    users.send({"id": "ann"}, key=("eu", 7))
    for place in users.sendmany([User("ann"), User("bob")]):
        assert_type(place, Written)


async def sending() -> None:
    users = Topic("sqlite:///users.db?topic=users", record=User)
    assert_type((await users.send(User("ann"))).partition, int)
    assert_type((await users.sendmany([User("ann")]))[0], Written)


# -- Kinesis


def payloads() -> None:
    stream = Stream(KinesisStreams("events"))
    assert_type(stream, Stream[KinesisRecord[bytes]])
    for record in stream.follow():
        assert_type(record.payload, bytes)
        assert_type(record.partition_key, str | None)
    assert_type(Stream(KinesisStreams("events"), model=User), Stream[KinesisRecord[User]])


def changes_by_way_of_kinesis() -> None:
    stream = Stream(KinesisStreams("changes", records="dynamodb", duplicates="drop"))
    assert_type(stream, Stream[KinesisChange[Row] | KinesisRecord[bytes]])
    for record in stream.follow():
        if isinstance(record, KinesisChange):
            assert_type(record.new, Row | None)
            assert_type(record.table_name, str | None)
    typed = Stream(KinesisStreams("changes", records="dynamodb"), model=User)
    assert_type(typed, Stream[KinesisChange[User] | KinesisRecord[User]])


# -- asyncio


async def awaited() -> None:
    stream = AsyncStream("dynamodb://users")
    assert_type(stream, AsyncStream[ChangeRecord[Row]])
    assert_type(await anext(stream), ChangeRecord[Row])
    assert_type(await stream.next(), ChangeRecord[Row] | None)
    assert_type(await stream.take(10, within=1.0), list[ChangeRecord[Row]])
    assert_type(await stream.open(), AsyncStream[ChangeRecord[Row]])
    assert_type(stream.token, Row)
    assert_type(stream.stats, Stats)
    async for record in stream:
        assert_type(record.new, Row | None)
    async for batch in stream.batches(10, until="caught_up"):
        assert_type(batch, Batch[ChangeRecord[Row]])
        assert_type(batch.token, Row)
    async with AsyncStream(DynamoDBStreams("users"), "latest", model=User, inline=True) as inside:
        assert_type(inside, AsyncStream[ChangeRecord[User]])
        async for modelled in inside.follow():
            assert_type(modelled.new, User | None)
    assert_type(AsyncStream(KinesisStreams("events")), AsyncStream[KinesisRecord[bytes]])
    assert_type(
        AsyncStream(KinesisStreams("changes", records="dynamodb")),
        AsyncStream[KinesisChange[Row] | KinesisRecord[bytes]],
    )


# -- a source of one's own


class Reading(Record):
    """A record of one's own."""

    celsius: float = 0.0


class Thermometers(Source[Reading]):
    """A source of one's own."""

    page_limit = 1

    @property
    def name(self) -> str:
        return "thermometers"

    def list_shards(self, after: str | None) -> ShardPage:
        return ShardPage((), None, None)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        return ShardIterator(shard_id, position)

    def fetch(self, iterator: ShardIterator, limit: int) -> Page[Reading]:
        return Page([Reading(iterator.shard_id, "1", None)], None, None)


def own_source() -> None:
    source: Source[Reading] = Thermometers()
    assert_type(Stream(source), Stream[Reading])
    for record in Stream(Thermometers()).follow():
        assert_type(record.celsius, float)


# -- whoever takes any stream, or writes none of the types


def plain(stream: Stream) -> ChangeRecord | None:
    return next(stream)


def generic(stream: Stream[Record]) -> Record | None:
    return next(stream)


def takes_all() -> None:
    assert_type(plain(Stream("users")), ChangeRecord[Row] | None)
    generic(Stream("users"))
    generic(Stream(KinesisStreams("events")))
