"""Packed Kinesis records: tokens in the middle of one, iterators that expire there, poison; and models of payloads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import msgspec
import pydantic
import pytest

from streamiter import PoisonRecord
from streamiter.testing import KinesisHandle, Simulator
from streamiter.token import load_token
from tests.stream.helpers import drain, take, until_raises
from tests.stream.kinesis.conftest import Open
from tests.stream.kinesis.history import assert_came, in_order, write

# -- packed records


def test_a_token_in_the_middle_of_a_packed_record_goes_on_behind_it(
    sim: Simulator, orders: KinesisHandle, open_stream: Open
):
    orders.put("S0", "a")
    orders.put_packed("S0", [("k", b"%d" % number) for number in range(5)])
    orders.put_packed("S0", [("k", b"only")])
    orders.put_packed("S0", [("k", b"x"), ("k", b"y")])
    wanted = in_order(orders)
    sim.clock.advance(10)
    for cut in range(len(wanted) + 1):
        first = open_stream()
        came = take(first, sim.clock, cut)
        token = json.loads(json.dumps(first.token))
        first.close()
        if 2 <= cut <= 6:
            place = load_token(token).lanes[0].place
            assert place is not None and place[1] == cut - 2
        assert_came(came + drain(open_stream(token), sim.clock, quiet=5), wanted)


def test_an_iterator_that_expires_in_the_middle_of_a_packed_record(
    sim: Simulator, orders: KinesisHandle, open_stream: Open
):
    for _ in range(6):
        orders.put_packed("S0", [("k", b"%d" % number) for number in range(4)])
    sim.knobs.page_size = 2
    stream = open_stream(prefetch_bytes=1)
    came = take(stream, sim.clock, 6)
    opened = sim.calls.total("GetShardIterator", shard="S0")
    sim.clock.advance(minutes=6)
    assert_came(came + drain(stream, sim.clock), in_order(orders))
    assert sim.calls.total("GetShardIterator", shard="S0") > opened, "it is known to have expired, and not asked"


def test_a_poison_record_in_a_packed_one_is_skipped_alone(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    orders.put_packed("S0", [("k", b"1"), ("k", b"x"), ("k", b"3")])
    stream = open_stream(model=int)
    came, error = until_raises(PoisonRecord, stream, sim.clock)
    assert [record.payload for record in came] == [1]
    assert "x" not in str(error).replace("next", "").replace("fix", "")
    stream.skip()
    assert [record.payload for record in drain(stream, sim.clock)] == [3]
    assert stream.stats.poison == 1


# -- models


@dataclass
class Order:
    id: str
    n: int


class StructOrder(msgspec.Struct):
    id: str
    n: int


class PydanticOrder(pydantic.BaseModel):
    id: str
    n: int


@pytest.mark.parametrize("model", [Order, StructOrder, PydanticOrder])
def test_a_model_takes_the_payload(sim: Simulator, orders: KinesisHandle, open_stream: Open, model: Any):
    orders.put("S0", '{"id": "a", "n": 1}')
    [record] = drain(open_stream(model=model), sim.clock)
    assert record.payload == model(id="a", n=1)
    assert record["payload"] == record.payload
    assert record.raw_payload == b'{"id": "a", "n": 1}'


# -- tables


def test_to_arrow_has_the_columns_of_a_payload(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    names = [
        *("stream_arn", "shard_id", "sequence_number", "order_key", "created_at"),
        *("partition_key", "payload", "sub_sequence_number", "explicit_hash_key"),
    ]
    stream = open_stream()
    assert stream.to_arrow().column_names == names
    write(sim, orders, "S0", "S1")
    orders.put_packed("S0", [("a", b"1"), ("b", b"2")])
    table = stream.to_arrow()
    assert table.column_names == names
    wanted = in_order(orders)
    assert table["payload"].to_pylist() == [told.payload for told in wanted]
    assert table["sub_sequence_number"].to_pylist() == [told.sub for told in wanted]
    assert set(table["stream_arn"].to_pylist()) == {orders.arn}
    assert table["order_key"].to_pylist() == sorted(table["order_key"].to_pylist())
