"""`spark.read`: what a stream holds, as a DataFrame in the order of `next(stream)`."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from pyspark.errors import AnalysisException, PythonException

from streamiter import DynamoDBStreams, Stream
from streamiter.testing import ManualClock
from tests.stream.helpers import identities, in_order, write

BACKWARDS = (5, 1, 9, 3, 3)


def fill(sim) -> None:
    """Creation times that run backwards inside shards, and below their parents'."""
    sim.shape("S0 => {S1, S2}; T0 => T1")
    now = int(sim.clock.now())
    for place, seconds in enumerate(BACKWARDS):
        for number, shard in enumerate(("S0", "T0", "S1", "S2", "T1")):
            sim.put(shard, created=now - 3600 + seconds - number * place % 3)


def test_order_key_gives_the_order_of_next(reader, sim):
    fill(sim)
    rows = reader.load().orderBy("order_key").collect()
    assert [(row.shard_id, row.sequence_number) for row in rows] == identities(in_order(sim))
    source = DynamoDBStreams(sim.stream_arn, client=sim.client())
    with Stream(source, clock=ManualClock(sim.clock.now())) as stream:
        table = stream.to_arrow()
    assert [row.asDict() for row in rows] == [
        {**row, "created_at": row["created_at"].replace(tzinfo=None)} for row in table.to_pylist()
    ]


def test_tasks_read_closed_shards_and_the_driver_does_not(reader, sim):
    fill(sim)
    closed = {sim.shard_id("S0"), sim.shard_id("T0")}
    frame = reader.load()
    assert frame.rdd.getNumPartitions() == 3, "one each, and one for what is open"
    planned = {call.shard for call in sim.calls.of("GetRecords")}
    assert planned == {"S1", "S2", "T1"}
    sim.calls.clear()
    assert {row.shard_id for row in frame.collect()} > closed


def test_a_window_between_two_times(reader, sim):
    sim.shape("S0 => S1")
    noon = 1_750_000_000
    for seconds in range(6):
        sim.put("S0", created=noon + seconds)
        sim.put("S1", created=noon + 3 + seconds)
    frame = (
        reader.option("startingPosition", "2025-06-15T15:06:42Z")
        .option("endingPosition", "2025-06-15T15:06:46+00:00")
        .load()
    )
    found = [(row.shard_id, row.sequence_number) for row in frame.orderBy("order_key").collect()]
    wanted = in_order(sim, since=noon + 2)
    assert found == identities(wanted)[:7]
    assert [record.created - noon for record in wanted[:8]] == [2, 3, 4, 5, 3, 4, 5, 6], "children go by their floor"


def test_between_two_tokens(reader, sim):
    sim.shape("S0 => {S1, S2}")
    write(sim, "S0", "S1", "S2", rounds=4, every=0)
    clock = ManualClock(sim.clock.now() + 10)
    source = DynamoDBStreams(sim.stream_arn, client=sim.client())
    with Stream(source, clock=clock) as stream:
        records = stream.follow()
        first = [next(records) for _ in range(3)]
        start = stream.token
        middle = [next(records) for _ in range(6)]
        end = stream.token
    assert len(first) == 3
    write(sim, "S1", "S2", rounds=2, every=0)
    sim.calls.clear()
    frame = reader.option("startingPosition", json.dumps(start)).option("endingPosition", json.dumps(end)).load()
    found = frame.orderBy("order_key").collect()
    assert [row.order_key for row in found] == [record.order_key for record in middle]


def test_typed_columns_by_name(reader, sim):
    sim.shape("S0")
    sim.put("S0", key="ann", new={"id": "ann", "paid": Decimal("12.30"), "n": 7, "at": {"x": 1}, "tags": {"a"}})
    sim.put("S0", key="ann", old={"id": "ann", "paid": Decimal("1E+2")}, event="REMOVE")
    schema = "paid decimal(38,2), order_key string, at struct<x: int>, n bigint, tags array<string>, id string"
    first, second = reader.schema(schema).load().orderBy("order_key").collect()
    assert (first.id, first.paid, first.n, first["at"].x, first.tags) == ("ann", Decimal("12.30"), 7, 1, ["a"])
    assert (second.id, second.paid, second.n) == ("ann", Decimal("100.00"), None), "what was removed, as it was"


def test_a_value_that_does_not_fit_names_attribute_shard_and_number_and_not_itself(reader, sim):
    sim.shape("S0")
    sim.put("S0", new={"id": "secret", "paid": Decimal("31.415")})
    number = sim.history[0].sequence_number
    with pytest.raises(PythonException) as raised:
        reader.schema("paid decimal(38,2)").load().collect()
    told = str(raised.value)
    assert f"attribute paid of record {number} of shard {sim.shard_id('S0')} does not fit the schema" in told
    assert "more than 2 digits after the point" in told
    assert "31.415" not in told
    assert "secret" not in told
    assert len(told.splitlines()) < 10, "one readable message"


@pytest.mark.parametrize(
    "options, told",
    [
        ({"tabel": "users"}, "knows no option 'tabel'; did you mean table? It knows: table, streamArn, "),
        ({"startingPosition": "some day"}, "startingPosition: 'some day' is not a time"),
        ({"startingPosition": "LATEST"}, "LATEST is for streams"),
        ({"maxPartitions": "0"}, "maxPartitions: takes a whole number from 1 up"),
        ({"table": "users"}, "not both"),
    ],
)
def test_an_option_that_cannot_be_is_told(reader, options, told):
    with pytest.raises((AnalysisException, PythonException)) as raised:
        reader.options(**options).load().collect()
    assert told in str(raised.value)


def test_trimmed_data_names_shard_and_place(reader, sim):
    sim.shape("S0 ~ S1")
    write(sim, "S0", "S1", rounds=4, every=0)
    source = DynamoDBStreams(sim.stream_arn, client=sim.client())
    with Stream(source, clock=ManualClock(sim.clock.now() + 10)) as stream:
        records = stream.follow()
        for _ in range(3):
            next(records)
        token = stream.token
    sim.roll("S0")
    sim.trim("S0", before=3)
    old = reader.option("startingPosition", json.dumps(token))
    with pytest.raises(PythonException) as raised:
        old.load().collect()
    assert f"records of shard {sim.shard_id('S0')} after record" in str(raised.value)
    assert "failOnDataLoss=false" in str(raised.value)
    found = old.option("failOnDataLoss", "false").load().orderBy("order_key").collect()
    assert [row.sequence_number for row in found if row.shard_id == sim.shard_id("S0")] == [
        record.sequence_number for record in sim.history if record.shard_id == sim.shard_id("S0")
    ][3:]


def test_many_closed_shards_in_few_partitions(reader, sim):
    sim.shape("; ".join(f"A{n} => B{n}" for n in range(6)))
    for n in range(6):
        sim.put(f"A{n}")
        sim.put(f"B{n}")
    frame = reader.option("maxPartitions", "2").load()
    assert frame.rdd.getNumPartitions() == 3
    found = [(row.shard_id, row.sequence_number) for row in frame.orderBy("order_key").collect()]
    assert found == identities(in_order(sim))


def test_where_shards_cannot_be_opened_at_a_time_a_family_is_one_partition(reader, sim):
    fill(sim)
    sim.knobs.knows_at_timestamp = False
    frame = reader.load()
    assert frame.rdd.getNumPartitions() == 2
    found = [(row.shard_id, row.sequence_number) for row in frame.orderBy("order_key").collect()]
    assert found == identities(in_order(sim))


def test_an_empty_stream_is_an_empty_frame(reader, sim):
    sim.shape("S0")
    assert reader.load().collect() == []
