"""Spark's side: a local session that reads the canned server, by streamiter's data source and in the ways that others take."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from benchmarks.readers import plain
from benchmarks.readers.worker import CREDENTIALS, Tally, Task, Watch, serve
from streamiter.clock import SystemClock
from streamiter.images import decode_image, image_text
from streamiter.record import ChangeRecord, Record
from streamiter.spark import ensure_java, register
from streamiter.spark.batch import BatchReader
from streamiter.spark.columns.columns import standard_schema
from streamiter.spark.datasource import DynamoDBStreamsFormat
from streamiter.spark.machine.slots import slots_of
from streamiter.spark.planning.parts import AT_ONCE, Partition, Rows, ShardRange
from streamiter.spark.tasks.settling import settle
from streamiter.spark.tasks.shards import ShardReader
from streamiter.spark.tasks.turns import in_turns
from streamiter.spark.tasks.worker import _source_of

FRAME = (
    "order_key string, event_id string, event_name string, sequence_number string, new_image string, old_image string"
)


class TupleReader(BatchReader):
    """The same reader, but its rows go over as tuples."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, Partition)
        source, floors = _source_of(self._options, partition.stream)  # kept from task to task, as for rows in batches
        reader = ShardReader(source, floors, SystemClock())
        for records in in_turns([_pages(reader, chain) for chain in partition.chains], AT_ONCE):
            for record in records:
                assert isinstance(record, ChangeRecord)
                yield _tuple(record, partition.stream)
        source.close()
        settle()


def _pages(reader: ShardReader, chain: Sequence[ShardRange | Rows]) -> Iterator[list[Record]]:
    """The pages of a chain of shards; nothing of a backlog comes as rows."""
    for part in chain:
        assert isinstance(part, ShardRange)
        yield from reader.read(part)


def _tuple(record: ChangeRecord, stream: str) -> tuple[Any, ...]:
    keys, new, old = map(record.raw_image, ("Keys", "NewImage", "OldImage"))
    return (
        record.event_id,
        record.event_name,
        stream,
        record.shard_id,
        record.sequence_number,
        record.order_key,
        record.created_at and record.created_at.datetime,
        image_text(keys),
        image_text(new),
        image_text(old),
        record.size_bytes,
        None,
    )


class TupleFormat(DynamoDBStreamsFormat):
    """`dynamodb_streams`, as tuples."""

    @classmethod
    def name(cls) -> str:
        return "as_tuples"

    def reader(self, schema: StructType) -> DataSourceReader:
        return TupleReader(self._parsed(), schema)


class EmptyReader(DataSourceStreamReader):
    """A source that always has a next offset, and never a row: what a micro-batch costs by itself."""

    def initialOffset(self) -> dict[str, int]:
        return {"batch": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return {"batch": start["batch"] + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return iter(())


class EmptyFormat(DataSource):
    """`empty`."""

    @classmethod
    def name(cls) -> str:
        return "empty"

    def schema(self) -> StructType:
        return standard_schema()

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return EmptyReader()


def session(master: str) -> SparkSession:
    """A session on this machine alone."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["AWS_ACCESS_KEY_ID"] = CREDENTIALS["aws_access_key_id"]
    os.environ["AWS_SECRET_ACCESS_KEY"] = CREDENTIALS["aws_secret_access_key"]
    os.environ["AWS_DEFAULT_REGION"] = CREDENTIALS["region_name"]
    ensure_java()
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")  # what is told is the bench's own
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.driver.memory", "6g")  # a list of 200k rows passes through the driver
    spark = builder.config("spark.log.level", "OFF").getOrCreate()
    register(spark)
    for kind in (TupleFormat.with_slots(slots_of(spark)), EmptyFormat):
        spark.dataSource.register(kind)
    return spark


class Actions:
    """What the side does, in its session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def noop(self, task: Task, watch: Watch) -> list[Any]:
        """A backlog into the noop sink."""
        with watch:
            _into_noop(self._load(task, "dynamodb_streams", **task.options))
        return [task.records]

    def tuples(self, task: Task, watch: Watch) -> list[Any]:
        """The same, as tuples."""
        with watch:
            _into_noop(self._load(task, "as_tuples"))
        return [task.records]

    def list_of_rows(self, task: Task, watch: Watch) -> list[Any]:
        """What is done without a data source: a list from a boto3 loop, then createDataFrame."""
        with watch:
            rows = [_row(record) for page in plain.pages(task) for record in page]
            _into_noop(self._spark.createDataFrame(rows, FRAME))
        return [len(rows)]

    def micro_batches(self, task: Task, watch: Watch) -> list[Any]:
        """Milliseconds of a micro-batch: ours, and an empty source's."""
        with watch:
            stream = self._spark.readStream
            ours = stream.format("dynamodb_streams").option("maxRecordsPerTrigger", "100")
            ours = ours.option("streamArn", task.arn).option("endpointUrl", task.endpoint_url)
            found = [_batch_milliseconds(ours.load(), task), _batch_milliseconds(stream.format("empty").load(), task)]
        return [task.records, *found]

    def check(self, task: Task, watch: Watch) -> list[Any]:
        """What is read, not how fast."""
        tally = Tally(images=task.options["images"])
        with watch:
            options = {name: value for name, value in task.options.items() if name == "maxPartitions"}
            frame = self._load(task, task.options.get("format", "dynamodb_streams"), **options)
            for row in frame.toLocalIterator():
                images = [text and decode_image(_json(text)) for text in (row.new_image, row.old_image)]
                created = row.created_at.timestamp()
                tally.add(row.sequence_number, row.event_name, created, *(images if tally.images else ()))
        return tally.told()

    def _load(self, task: Task, name: str, **options: str) -> DataFrame:
        reader = self._spark.read.format(name).option("streamArn", task.arn).options(**options)
        return reader.option("endpointUrl", task.endpoint_url).load()


def _into_noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _row(record: dict[str, Any]) -> tuple[Any, ...]:
    change = record["dynamodb"]
    images = (change.get("NewImage"), change.get("OldImage"))
    number = change["SequenceNumber"]
    key = f"{change['ApproximateCreationDateTime'].timestamp():020.6f} {number}"
    return key, record["eventID"], record["eventName"], number, *(image and _text(image) for image in images)


def _text(image: Any) -> str:
    import json

    return json.dumps(image)


def _json(text: str) -> Any:
    import json

    return json.loads(text)


def _batch_milliseconds(frame: DataFrame, task: Task) -> float:
    """The middle one of so many micro-batches, after a few to warm up."""
    wanted, warm = task.options["batches"], task.options["warm"]
    with tempfile.TemporaryDirectory(prefix="bench-checkpoint-") as checkpoint:
        query = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        try:
            while (query.lastProgress or {"batchId": 0})["batchId"] < wanted + warm:
                if (error := query.exception()) is not None:
                    raise error
                query.awaitTermination(1)
            progress = query.recentProgress
        finally:
            query.stop()
    durations = [one["durationMs"]["triggerExecution"] for one in progress if one["batchId"] >= warm]
    return float(statistics.median(durations[:wanted]))


def main(master: str) -> None:
    """Serves, in a session of its own."""
    actions = Actions(session(master))
    serve(
        {
            "noop": actions.noop,
            "tuples": actions.tuples,
            "list_of_rows": actions.list_of_rows,
            "micro_batches": actions.micro_batches,
            "check": actions.check,
        },
        {name: version(name) for name in ("streamiter", "pyspark", "pyarrow", "boto3")},
    )


if __name__ == "__main__":
    # By its own name, not as __main__: Spark's workers load the classes from there.
    from benchmarks.readers import by_spark

    by_spark.main("local[2]")
