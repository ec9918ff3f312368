"""A log in Spark: batch and streaming, by `format("streamiter")` and its URL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamiter import Stream
from streamiter.log import Entry, SqliteLog
from tests.stream.helpers import soon


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    log = SqliteLog(tmp_path / "orders.db", "orders")
    log.grow(3)
    return log


def url_of(log: SqliteLog) -> str:
    return f"sqlite:///{log._path}?topic=orders"


def write(log: SqliteLog, *numbers: int) -> None:
    for number in numbers:
        log.append(number % 3, [Entry(b"%d" % number, b"key", (("n", b"%d" % number),))])


def test_a_batch_is_all_of_it_in_order(spark: SparkSession, log: SqliteLog) -> None:
    write(log, *range(50))
    frame = spark.read.format("streamiter").option("url", url_of(log)).load()
    assert frame.columns[-3:] == ["key", "payload", "headers"]
    rows = frame.orderBy("order_key").collect()
    assert [int(row.payload) for row in rows] == list(range(50))
    assert json.loads(rows[7].headers) == [{"name": "n", "value": "7"}]
    with Stream(log) as stream:
        assert [row.order_key for row in rows] == [record.order_key for record in stream.follow(until="caught_up")]


def test_a_batch_begins_at_a_token(spark: SparkSession, log: SqliteLog) -> None:
    write(log, *range(20))
    with Stream(log) as stream:
        for _ in range(8):
            next(stream)
        token = json.dumps(stream.token)
    frame = spark.read.format("streamiter").option("url", url_of(log)).option("startingPosition", token).load()
    assert sorted(int(row.payload) for row in frame.collect()) == list(range(8, 20))


def test_a_query_goes_on_from_its_checkpoint(spark: SparkSession, log: SqliteLog, tmp_path: Path) -> None:
    def run(name: str) -> list[int]:
        frame = spark.readStream.format("streamiter").option("url", url_of(log)).load()
        writer = frame.writeStream.format("memory").queryName(name).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        assert query.awaitTermination(120)
        return sorted(int(row.payload) for row in spark.table(name).collect())

    write(log, *range(10))
    assert run("logs") == list(range(10))
    write(log, *range(10, 15))
    query = spark.readStream.format("streamiter").option("url", url_of(log)).load()
    seen: list[int] = []

    def take(batch, _) -> None:
        seen.extend(int(row.payload) for row in batch.orderBy("order_key").collect())

    started = query.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        soon(lambda: seen == list(range(10, 15)))
        write(log, 15, 16)
        soon(lambda: seen == list(range(10, 17)))
    finally:
        started.stop()
