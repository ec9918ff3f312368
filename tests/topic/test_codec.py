"""Codecs and keys: what fits a record goes there and back, what does not is refused, and no message quotes a value."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import pickle
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypedDict
from uuid import UUID

import msgspec
import pydantic
import pytest

from streamiter import AsyncStream, Stream
from streamiter.errors import InvalidOption, PoisonRecord, ValueMisfit
from streamiter.log import Entry, MemoryLog
from streamiter.topic import Topic
from streamiter.topic.routing import partition_of


class Kind(enum.Enum):
    GIFT = "gift"


class Struct(msgspec.Struct):
    order_id: int
    kind: Kind | None = None
    total: Decimal = Decimal(0)
    at: datetime | None = None


@dataclasses.dataclass
class Data:
    order_id: int
    kind: Kind | None = None
    total: Decimal = Decimal(0)
    at: datetime | None = None


class Typed(TypedDict):
    order_id: int
    total: float


class Model(pydantic.BaseModel):
    order_id: int = pydantic.Field(alias="orderId")
    total: Decimal = Decimal(0)


AT = datetime(2026, 11, 19, 12, tzinfo=UTC)


def there_and_back(record: Any, value: Any, **options: Any) -> Any:
    topic = Topic(MemoryLog(partitions=3), name="orders", record=record, **options)
    topic.send(value)
    with Stream(topic) as stream:
        return next(stream).payload


@pytest.mark.parametrize(
    "record, value",
    [
        (Struct, Struct(7, Kind.GIFT, Decimal("1.50"), AT)),
        (Data, Data(7, Kind.GIFT, Decimal("1.50"), AT)),
        (Typed, {"order_id": 7, "total": 1.5}),
        (Model, Model(orderId=7, total=Decimal("1.5"))),
        (None, {"order_id": 7, "tags": ["a", None, True]}),
        (None, [1, 2.5, "x"]),
        (None, None),
        (dict, {"a": 1}),
        (int, 7),
        (str, "text"),
        (bytes, b"\x00\xff"),
        (list[int], [1, 2]),
    ],
)
def test_a_value_that_fits_goes_there_and_back(record, value):
    assert there_and_back(record, value) == value


@pytest.mark.parametrize("record", [Struct, Data, Typed])
def test_a_dict_is_taken_for_a_record(record):
    made = there_and_back(record, {"order_id": 7, "total": 2}, partition_by="order_id")
    assert (made["order_id"] if record is Typed else made.order_id) == 7
    assert there_and_back(Model, {"orderId": 7}).order_id == 7


@pytest.mark.parametrize(
    "record, value, told",
    [
        (Struct, {"order_id": "seven"}, "Expected `int`, got `str` at order_id"),
        (Struct, Struct("seven"), "Expected `int`, got `str` at order_id"),
        (Struct, {}, "missing required field `order_id`"),
        (Struct, {"order_id": 1, "kind": "secret"}, "Invalid enum value at kind"),
        (Struct, Data(1), "it is of type Data"),
        (Struct, 7, "it is of type int"),
        (Data, {"order_id": None}, "at order_id"),
        (Typed, {"order_id": 1}, "missing required field `total`"),
        (Model, {"orderId": "secret"}, "int_parsing at orderId"),
        (Model, Struct(1), "it is of type Struct"),
        (bytes, "secret", "it is of type str"),
        (None, object(), "cannot be written as JSON"),
        (None, {"total": float("nan")}, "JSON knows no NaN"),
        (None, {"total": [float("inf")]}, "JSON knows no NaN"),
        (int, "secret", "it is of type str"),
    ],
)
def test_what_does_not_fit_is_refused_and_never_quoted(record, value, told):
    log = MemoryLog()
    with pytest.raises(ValueMisfit) as caught:
        Topic(log, name="orders", record=record).send(value)
    assert told in str(caught.value)
    assert "orders" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert log.ends(0).last is None
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args


class Shout:
    def encode(self, value: str) -> bytes:
        return value.upper().encode()

    def decode(self, payload: bytes) -> str:
        return payload.decode("ascii").lower()


def test_a_codec_of_one_s_own():
    assert there_and_back(None, "hello", codec=Shout()) == "hello"
    assert there_and_back(str, "hello", codec=Shout()) == "hello"
    with pytest.raises(ValueMisfit, match="its codec raised AttributeError"):
        there_and_back(None, 7, codec=Shout())
    with pytest.raises(ValueMisfit, match="it is of type int"):
        there_and_back(str, 7, codec=Shout())


@pytest.mark.parametrize("record", [Struct, Model, None, int])
def test_a_payload_that_is_none_is_a_poison_record(record):
    log = MemoryLog()
    log.append(0, [Entry(b'{"order_id": '), Entry(b"7")])
    with Stream(Topic(log, name="orders", record=record)) as stream:
        with pytest.raises(PoisonRecord, match="JSON" if record is None else record.__name__):
            next(stream)
        stream.skip()
        if record in (None, int):
            assert next(stream).payload == 7


def test_a_model_of_the_reader_s_goes_before_the_record():
    topic = Topic(MemoryLog(), name="orders", record=Struct)
    topic.send(Struct(7))
    with Stream(topic, model=bytes) as stream:
        assert next(stream).payload.startswith(b'{"order_id":7')
    with Stream(topic, model=len) as stream:
        assert next(stream).payload == len(next(iter(_payloads(topic))))


def _payloads(topic: Topic) -> list[bytes]:
    with Stream(topic, model=bytes) as stream:
        return [next(stream).payload]


def test_what_a_record_cannot_be_is_said_when_the_topic_is_declared():
    with pytest.raises(InvalidOption):
        Topic(MemoryLog(), name="orders", record=dict[str, set[object]] | Struct | Data)


# -- keys


@pytest.mark.parametrize("record", [Struct, Data, Typed, Model])
def test_a_name_that_is_no_field_is_refused_when_the_topic_is_declared(record):
    with pytest.raises(InvalidOption, match="order_id"):
        Topic(MemoryLog(), name="orders", record=record, partition_by="order")


def partition(value: Any, **options: Any) -> int:
    return Topic(MemoryLog(partitions=64), name="orders", **options).send(value).partition


def test_the_key_is_as_the_record_has_it():
    assert partition({"order_id": 7}, record=Struct, partition_by="order_id") == partition_of(7, 64)
    assert partition(Struct(7), record=Struct, partition_by="order_id") == partition_of(7, 64)
    assert partition({"id": "7"}, partition_by="id") == partition_of("7", 64)


def test_keys_of_several_names_and_of_functions():
    value = {"shop": "eu", "id": 7, "uuid": str(UUID(int=7))}
    assert partition(value, partition_by=("shop", "id")) == partition_of(("eu", 7), 64)
    assert partition(value, partition_by=lambda value: value["id"] // 2) == partition_of(3, 64)
    assert partition(value, partition_by=lambda value: UUID(value["uuid"])) == partition_of(value["uuid"], 64)


def test_a_key_that_is_none_is_no_key():
    topic = Topic(MemoryLog(partitions=4), name="orders", partition_by="id")
    assert {topic.send({"id": None}).partition for _ in range(4)} == {0, 1, 2, 3}


@pytest.mark.parametrize("partition_by", ["id", lambda value: value["id"]])
def test_a_value_without_its_key_is_refused(partition_by):
    with pytest.raises(ValueMisfit):
        partition({"name": "secret"}, partition_by=partition_by)


def test_what_is_no_key_is_refused():
    with pytest.raises(ValueMisfit, match="a dict is no key"):
        partition({"id": {}}, partition_by="id")
    with pytest.raises(InvalidOption, match="a dict is no key"):
        Topic(MemoryLog(), name="orders").send(1, key={})


def test_an_async_stream_has_the_values_too():
    topic = Topic(MemoryLog(), name="orders", record=Struct)

    async def main() -> list[Any]:
        await topic.sendmany([Struct(1), Struct(2)])
        async with AsyncStream(topic) as stream:
            return [record.payload async for record in stream.follow(until="caught_up")]

    assert asyncio.run(main()) == [Struct(1), Struct(2)]


def test_a_table_has_the_bytes():
    topic = Topic(MemoryLog(), name="orders", record=Struct, partition_by="order_id")
    topic.send(Struct(1))
    with Stream(topic) as stream:
        (row,) = stream.to_arrow().to_pylist()
    assert (row["key"], row["payload"]) == (b"1", msgspec.json.encode(Struct(1)))
