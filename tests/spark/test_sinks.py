"""Sinks and helpers: Delta, Parquet, feeding from an iterator, the latest per key, variants."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import functions as F

from streamiter import DynamoDBStreams, InvalidOption, Stream
from streamiter.spark import as_variant, feed, latest_per_key, merge_delta
from streamiter.spark.columns.variant import plain_text
from streamiter.testing import ManualClock
from tests.spark.queries import end_of
from tests.stream.helpers import identities, in_order, write

BIG = Decimal("12345678901234567890123456789012345678")


def put(sim, shard, name, n, event="INSERT"):
    image = {"id": name, "n": n}
    return sim.put(shard, key=name, new=None if event == "REMOVE" else image, old=image, event=event)


def test_merge_delta_keeps_a_table_as_the_source_is(queries, sim, tmp_path):
    path = str(tmp_path / "delta")
    sim.shape("S0 => S1")
    put(sim, "S0", "ann", 1)
    put(sim, "S0", "bob", 1)
    put(sim, "S1", "ann", 2, "MODIFY")
    put(sim, "S1", "bob", 1, "REMOVE")
    schema = "id string, n decimal(38,0), event_name string, order_key string, created_at timestamp"
    queries.run(schema=schema, each=merge_delta(path, ["id"]))
    assert rows_of(path) == {"ann": 2}
    put(sim, "S1", "ann", 2, "REMOVE")
    put(sim, "S1", "eve", BIG)
    queries.run(schema=schema, each=merge_delta(path, ["id"]))
    assert rows_of(path) == {"eve": BIG}
    version = DeltaTable(path).version()
    queries.run(schema=schema, each=merge_delta(path, ["id"]))
    assert DeltaTable(path).version() == version
    assert DeltaTable(path).transaction_version(queries.query.id) is not None


def rows_of(path):
    return {row["id"]: row["n"] for row in DeltaTable(path).to_pyarrow_table().to_pylist()}


def test_merge_delta_needs_the_columns_that_it_goes_by(spark, tmp_path):
    frame = spark.createDataFrame([("a", 1)], "id string, n int")
    with pytest.raises(InvalidOption, match="needs the columns event_name, order_key"):
        merge_delta(str(tmp_path / "delta"), ["id"])(frame, 0)
    frame = frame.selectExpr("id", "'INSERT' event_name", "'1' order_key")
    with pytest.raises(InvalidOption, match="app_id="):
        merge_delta(str(tmp_path / "delta"), ["id"])(frame, 0)
    merge = merge_delta(str(tmp_path / "delta"), ["id"], app_id="by hand")
    merge(frame, 3)
    merge(frame.withColumn("event_name", F.lit("REMOVE")), 3)
    assert DeltaTable(str(tmp_path / "delta")).to_pyarrow_table().num_rows == 1, "batch 3 is in the log already"


def test_merge_delta_with_a_name_of_its_own_takes_a_new_checkpoints_batches(spark, tmp_path):
    """They count from 0 again; taken for those of the old checkpoint, they would be lost without a word."""
    path = str(tmp_path / "delta")
    merge = merge_delta(path, ["id"], app_id="users")
    try:
        for n, query in enumerate(("old", "new")):
            spark.sparkContext.setLocalProperty("sql.streaming.queryId", query)
            merge(changes(spark, "id string, n int", ("ann", n)), 0)
            merge(changes(spark, "id string, n int", ("ann", 7)), 0)
            assert rows_of(path) == {"ann": n}
    finally:
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)


def changes(spark, columns: str, *rows):
    return spark.createDataFrame(
        [("INSERT", str(at), *row) for at, row in enumerate(rows)], f"event_name string, order_key string, {columns}"
    )


def test_attributes_may_have_any_name(spark, tmp_path):
    """DynamoDB takes dots, blanks and quotes in names; Spark and Delta read them as something else where they may."""
    by = ["user.id", 'the "id"']
    columns = '`user.id` string, `the "id"` string, `n.m n` int'
    merge = merge_delta(tmp_path / "delta", by, app_id="a")
    merge(changes(spark, columns, ("ann", "x", 1), ("bob", "x", 1), ("ann", "x", 2)), 0)
    merge(changes(spark, columns, ("bob", "x", 7)), 1)
    rows = DeltaTable(str(tmp_path / "delta")).to_pyarrow_table().to_pylist()
    assert {(row["user.id"], row['the "id"']): row["n.m n"] for row in rows} == {("ann", "x"): 2, ("bob", "x"): 7}
    quoted = changes(spark, "`a``b` string, `c.d` int", ("ann", 1), ("ann", 2))
    assert [row["c.d"] for row in latest_per_key(quoted, ["a`b"]).collect()] == [2]


def test_merge_delta_adds_the_columns_that_a_new_schema_brings(spark, tmp_path):
    path = str(tmp_path / "delta")
    merge = merge_delta(path, ["id"], app_id="a")
    merge(changes(spark, "id string, n int", ("ann", 1), ("bob", 1)), 0)
    merge(changes(spark, "id string, n int, m int", ("ann", 2, 5), ("eve", 3, 6)), 1)
    rows = {row["id"]: (row["n"], row["m"]) for row in DeltaTable(path).to_pyarrow_table().to_pylist()}
    assert rows == {"ann": (2, 5), "bob": (1, None), "eve": (3, 6)}


@pytest.mark.parametrize(
    "before, after, told",
    [
        ("decimal(10,1)", "decimal(38,2)", "is decimal(10,1) in the table, and decimal(38,2) in the batch"),
        ("int", "decimal(38,2)", "is integer in the table, and decimal(38,2) in the batch"),
        ("int", "bigint", "is integer in the table, and long in the batch"),
        ("string", "int", "is string in the table, and integer in the batch"),
    ],
)
def test_merge_delta_rounds_and_converts_nothing(spark, tmp_path, before, after, told):
    path = str(tmp_path / "delta")
    merge = merge_delta(path, ["id"], app_id="a")
    frame = changes(spark, "id string, text string", ("ann", "1"))
    merge(frame.selectExpr("event_name", "order_key", "id", f"cast(text as {before}) n"), 0)
    other = frame.selectExpr("event_name", "order_key", "id", f"cast('2' as {after}) n")
    with pytest.raises(InvalidOption) as raised:
        merge(other, 1)
    assert f"column n {told}" in str(raised.value)
    assert DeltaTable(path).transaction_version("a") == 0


def test_merge_delta_takes_what_a_wider_column_holds(spark, tmp_path):
    path = str(tmp_path / "delta")
    merge = merge_delta(path, ["id"], app_id="a")
    merge(changes(spark, "id string, n bigint, d decimal(38,2)", ("ann", 1, Decimal("1.25"))), 0)
    merge(changes(spark, "id string, n int, d decimal(10,1)", ("ann", 7, Decimal("2.5"))), 1)
    [row] = DeltaTable(path).to_pyarrow_table().to_pylist()
    assert (row["n"], row["d"]) == (7, Decimal("2.50"))


def test_merge_delta_refuses_rows_that_nothing_tells_apart(spark, tmp_path):
    """An attribute with another name is null in each row: all would be one."""
    merge = merge_delta(str(tmp_path / "delta"), ["ID", "n"], app_id="a")
    with pytest.raises(InvalidOption, match="by=: column ID is null in 1 of 1 rows"):
        merge(changes(spark, "ID string, n int", (None, 1), (None, 1)), 0)


def test_a_parquet_sink_has_each_row_once(queries, sim, tmp_path):
    sim.shape("S0 => {S1, S2}")
    write(sim, "S0", "S1", "S2", rounds=3, every=0)
    frame = queries.frame().select("order_key", "shard_id", "sequence_number")
    for _ in range(2):
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(queries.checkpoint))
        writer = writer.option("path", str(tmp_path / "rows")).trigger(availableNow=True)
        assert end_of(writer.start) is None
        write(sim, "S1", "S2", rounds=1, every=0)
    rows = sorted(pq.read_table(tmp_path / "rows").to_pylist(), key=lambda row: row["order_key"])
    found = [(row["shard_id"], row["sequence_number"]) for row in rows]
    assert found == identities(in_order(sim, sim.history[:11]))


def test_feed_saves_the_token_after_each_write(spark, sim, tmp_path):
    sim.shape("S0 => S1")
    write(sim, "S0", "S1", rounds=4, every=0)
    clock = ManualClock(sim.clock.now() + 10)
    token_file = tmp_path / "token.json"
    frames = []

    def fails_at_second(frame):
        if len(frames) == 1:
            raise OSError("disk full")
        frames.append(frame)

    source = DynamoDBStreams(sim.stream_arn, client=sim.client())
    with Stream(source, clock=clock) as stream, pytest.raises(OSError, match="disk full"):
        feed(stream, spark, fails_at_second, token_file, size=3)
    with Stream(source, json.loads(token_file.read_text()), clock=clock) as stream:
        assert feed(stream, spark, frames.append, token_file, size=3) == 5
    rows = [row for frame in frames for row in frame.orderBy("order_key").collect()]
    assert [(row.shard_id, row.sequence_number) for row in rows] == identities(in_order(sim))


def test_feed_goes_on_with_the_same_stream_after_a_write_that_failed(spark, sim, tmp_path):
    """Nothing that was not written counts as read: the stream stands before it again."""
    sim.shape("S0 => S1")
    write(sim, "S0", "S1", rounds=4, every=0)
    token_file = tmp_path / "token.json"
    frames = []
    fails = [OSError("disk full"), KeyboardInterrupt()]

    def write_at_third_try(frame):
        if len(frames) == 1 and fails:
            raise fails.pop()
        frames.append(frame)

    source = DynamoDBStreams(sim.stream_arn, client=sim.client())
    with Stream(source, clock=ManualClock(sim.clock.now() + 10)) as stream:
        for kind in (KeyboardInterrupt, OSError):
            with pytest.raises(kind):
                feed(stream, spark, write_at_third_try, token_file, size=3)
            assert stream.token == json.loads(token_file.read_text())
        assert feed(stream, spark, write_at_third_try, token_file, size=3) == 5
    rows = [row for frame in frames for row in frame.orderBy("order_key").collect()]
    assert [(row.shard_id, row.sequence_number) for row in rows] == identities(in_order(sim))


def test_the_latest_per_key(spark):
    both = '{"a":{"S":"x"},"b":{"N":"1"}}', '{"b":{"N":"1"},"a":{"S":"x"}}'
    rows = [(both[0], "1", "old"), (both[1], "3", "new"), ('{"a":{"S":"y"},"b":{"N":"1"}}', "2", "only")]
    frame = spark.createDataFrame(rows, "keys string, order_key string, text string")
    last = latest_per_key(frame).orderBy("text").collect()
    assert [row.text for row in last] == ["new", "only"], "nobody promises the order of a key's two attributes"
    assert latest_per_key(frame, ["text"]).count() == 3
    with pytest.raises(InvalidOption, match="needs the column id"):
        latest_per_key(frame, ["id"])


def test_variants_keep_numbers_exactly(spark):
    image = json.dumps({"n": {"N": str(BIG)}, "m": {"M": {"x": {"L": [{"N": "0.10"}, {"NULL": True}]}}}})
    frame = spark.createDataFrame([(image,), (None,)], "image string").select(as_variant("image").alias("v"))
    first, second = frame.selectExpr("variant_get(v, '$.n', 'decimal(38,0)') n", "to_json(v) text").collect()
    assert first.n == BIG
    assert json.loads(first.text)["m"] == {"x": [0.1, None]}
    assert second.text is None


def test_what_no_variant_holds_exactly_stays_text():
    told = {"a": {"N": "1E+125"}, "b": {"N": "-1.5E-3"}, "c": {"NS": ["1", "1E-130"]}, "d": {"N": "100"}}
    assert json.loads(plain_text(json.dumps(told))) == {"a": "1E+125", "b": -0.0015, "c": [1, "1E-130"], "d": 100}
