"""Streaming: `spark.readStream` reads micro-batches between tokens, and the same rows each time it reads one again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from streamiter.clock import SystemClock
from streamiter.errors import InvalidOption
from streamiter.source.base import Source
from streamiter.spark.formats import make_source
from streamiter.spark.machine.told_plainly import told_plainly
from streamiter.spark.options import LATEST, Options
from streamiter.spark.planning.listing import latest_token
from streamiter.spark.planning.offsets import AT_LATEST, first_offset, offset_of, token_of
from streamiter.spark.planning.parts import Partition
from streamiter.spark.planning.pilot import Pilot
from streamiter.spark.planning.planner import plan_between
from streamiter.spark.tasks.worker import read_partition

Offset = dict[str, Any]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans on the driver, reads in tasks. Only its options are pickled."""

    def __init__(self, options: Options, schema: StructType) -> None:
        if options.ending_position != LATEST:
            raise InvalidOption("endingPosition is for batches: a stream goes on; trigger(availableNow=True) ends it")
        self._options = options
        self._schema = schema
        self._source: Source | None = None
        self._pilot: Pilot | None = None
        self._is_available_now = False

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options, "_schema": self._schema}

    # -- on the driver

    @told_plainly()
    def initialOffset(self) -> Offset:
        """Where the query begins, if its checkpoint does not say."""
        return first_offset(self._options, self._opened())

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit that the options set. Spark takes one; where there are two, this reader keeps the other one itself."""
        if self._options.max_records is not None:
            return ReadMaxRows(self._options.max_records)
        if self._options.max_bytes is not None:
            return ReadMaxBytes(self._options.max_bytes)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """From now on the query ends with the records that the service holds when Spark asks for the first offset."""
        self._is_available_now = True

    @told_plainly()
    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """The end of the next micro-batch; `start` itself while there is nothing new."""
        source = self._opened()
        if start == AT_LATEST:
            return offset_of(latest_token(source, SystemClock(), self._options))
        if self._pilot is None:
            self._pilot = Pilot(source, self._options, ends=self._is_available_now)
        most_records, most_bytes = self._limits(limit)
        return self._pilot.latest(start, most_records, most_bytes)

    @told_plainly()
    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """What tasks are to read for a micro-batch. After a restart it may be one that was planned before."""
        source = self._opened()
        found: list[Partition] | None = [] if start == AT_LATEST else None
        if found is None and self._pilot is not None:
            found = self._pilot.planned(start, end)
        if found is None:
            tokens = token_of(start, source), token_of(end, source)
            found = plan_between(*tokens, source, self._options, SystemClock())
        return found or [Partition(source.name, ())]

    def commit(self, end: Offset) -> None:
        """The micro-batch that ends here is done."""
        if self._pilot is not None:
            self._pilot.forget(end)

    def stop(self) -> None:
        """Ends the planner's threads and connections."""
        if self._pilot is not None:
            self._pilot.close()
        if self._source is not None:
            self._source.close()

    def _limits(self, limit: ReadLimit) -> tuple[int | None, int | None]:
        if isinstance(limit, ReadAllAvailable):
            return None, None
        most_records, most_bytes = self._options.max_records, self._options.max_bytes
        if isinstance(limit, ReadMaxRows):
            most_records = limit.max_rows
        elif isinstance(limit, ReadMaxBytes):
            most_bytes = limit.max_bytes
        return most_records, most_bytes

    def _opened(self) -> Source:
        if self._source is None:
            self._source = make_source(self._options)
        return self._source

    # -- in tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A task's part of a micro-batch."""
        assert isinstance(partition, Partition)
        return read_partition(partition, self._options, self._schema)
