"""A log in Spark: batch and streaming, by `format("streamiter")` and its URL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamiter import Stream
from streamiter.log import Entry, SqliteLog
from streamiter.spark.datasource import UrlFormat
from tests.stream.helpers import soon


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    log = SqliteLog(tmp_path / "orders.db", "orders")
    log.grow(3)
    return log


def url_of(log: SqliteLog) -> str:
    return f"sqlite:///{log._path}?topic=orders"


def write(log: SqliteLog, *numbers: int, partitions: int = 3) -> None:
    for number in numbers:
        log.append(number % partitions, [Entry(b"%d" % number, b"key", (("n", b"%d" % number),))])


def batch_of(log: SqliteLog, **options: str) -> Any:
    source = UrlFormat({"url": url_of(log), **options})
    return source.reader(source.schema())


def payloads(reader: Any) -> list[bytes]:
    """What all tasks of a batch read."""
    batches = [batch for task in reader.partitions() for batch in reader.read(task)]
    return [payload for batch in batches for payload in batch.column("payload").to_pylist()]


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


def test_tasks_share_the_partitions_of_a_batch(log: SqliteLog, tmp_path: Path) -> None:
    """Without Spark: what is planned, and what each task reads of it."""
    write(log, *range(50), partitions=2)
    reader = batch_of(log)
    planned = reader.partitions()
    assert sorted(part.shard_id for task in planned for part in task.parts) == [
        "0",
        "1",
    ]  # ranges, and no rows; 2 is empty
    write(log, *range(50, 60), partitions=2)  # after the plan: not of this batch
    found = [
        int(payload)
        for task in planned
        for batch in reader.read(task)
        for payload in batch.column("payload").to_pylist()
    ]
    assert sorted(found) == list(range(50))


def test_a_batch_from_a_token_tells_what_was_trimmed_since(log: SqliteLog) -> None:
    write(log, *range(6), partitions=2)
    with Stream(log) as stream:
        for _ in range(3):
            next(stream)
        token = json.dumps(stream.token)
    for partition in range(2):
        log.trim(partition, 100)  # all of it
    reader = batch_of(log, startingPosition=token)
    with pytest.raises(Exception, match="may be lost|trimmed|no longer"):
        payloads(reader)
    reader = batch_of(log, startingPosition=token, failOnDataLoss="false")
    assert payloads(reader) == []


def test_a_batch_of_a_log_that_was_emptied_is_empty(log: SqliteLog) -> None:
    write(log, *range(6))
    for partition in range(3):
        log.trim(partition, 100)
    reader = batch_of(log)
    assert payloads(reader) == []


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
