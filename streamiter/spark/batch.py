"""Batch: `spark.read` gives what a stream holds now, or what lies between two positions, as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from streamiter.clock import SystemClock
from streamiter.errors import InvalidOption
from streamiter.source.base import Source
from streamiter.spark.formats import make_source
from streamiter.spark.machine.told_plainly import told_plainly
from streamiter.spark.options import LATEST, TRIM_HORIZON, Options
from streamiter.spark.planning.log_ends import ends_of
from streamiter.spark.planning.offsets import position_token, start_token
from streamiter.spark.planning.parts import Partition
from streamiter.spark.planning.planner import Planner, plan_between
from streamiter.spark.tasks.settling import settle
from streamiter.spark.tasks.worker import read_partition


class BatchReader(DataSourceReader):
    """Plans on the driver, reads in tasks."""

    def __init__(self, options: Options, schema: StructType) -> None:
        if options.starting_position == LATEST:
            raise InvalidOption("startingPosition LATEST is for streams: in a batch nothing comes after it")
        if options.ending_position == TRIM_HORIZON:
            raise InvalidOption("endingPosition takes LATEST, a time or a token: nothing comes before TRIM_HORIZON")
        self._options = options
        self._schema = schema

    @told_plainly()
    def partitions(self) -> Sequence[InputPartition]:
        """What tasks are to read."""
        source = make_source(self._options)
        try:
            found = self._plan(source)
            return found or [Partition(source.name, ())]
        finally:
            source.close()
            settle()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A task's part of it."""
        assert isinstance(partition, Partition)
        return read_partition(partition, self._options, self._schema, self._before_us)

    @property
    def _before_us(self) -> int | None:
        ending = self._options.ending_position
        return int(ending) if ending.isdigit() else None

    def _plan(self, source: Source) -> list[Partition]:
        clock = SystemClock()
        start = start_token(self._options, source)
        if self._options.ending_position.startswith("{"):
            end = position_token(self._options.ending_position, source)
            return plan_between(start, end, source, self._options, clock, are_users=True)
        if (end_now := ends_of(source, start)) is not None:
            return plan_between(start, end_now, source, self._options, clock)
        planner = Planner(source, start, self._options, clock, hands_over=True, lateness=None)
        try:
            return planner.plan(planner.read_until_caught_up())
        finally:
            planner.close()
