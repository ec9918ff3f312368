"""The worker: a task reads the rows of the partition that Spark gave it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import lru_cache

import pyarrow as pa
from pyspark.sql.types import StructType

from streamiter.clock import SystemClock
from streamiter.errors import AccessDenied, CredentialsMissing, InvalidStream
from streamiter.record import Record
from streamiter.source.base import Source
from streamiter.spark.columns.columns import Columns, between, first_order_us, raise_floor
from streamiter.spark.formats import make_source
from streamiter.spark.machine.told_plainly import told_plainly
from streamiter.spark.options import Options
from streamiter.spark.planning.packing import unpack
from streamiter.spark.planning.parts import AT_ONCE, Partition, Rows, ShardRange
from streamiter.spark.tasks.floors import Floors
from streamiter.spark.tasks.settling import settle
from streamiter.spark.tasks.shards import ShardReader
from streamiter.spark.tasks.turns import in_turns
from streamiter.stream.table import records_to_table


@lru_cache(maxsize=8)
def _source_of(options: Options, stream: str) -> tuple[Source, Floors]:
    # Kept from task to task: making a client takes longer than reading most pages, and floors that were found stay true.
    source = make_source(options, stream)
    if source.name != stream:
        raise InvalidStream(f"{options.subject} is {source.name} by now; the query was planned on {stream}")
    return source, Floors(source, SystemClock())


@contextmanager
def _renewed_credentials() -> Iterator[None]:
    """Forgets a source whose credentials the service refuses: the next task looks for credentials anew."""
    try:
        yield
    except (AccessDenied, CredentialsMissing):
        _source_of.cache_clear()
        raise


def read_partition(
    partition: Partition, options: Options, schema: StructType, before_us: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition, in the columns of a schema; with `before_us`, only those with an earlier order time."""
    with told_plainly(), _renewed_credentials():
        source, floors = _source_of(options, partition.stream)
        kind = source.record_type
        columns = Columns(schema, kind)
        reader = ShardReader(source, floors, SystemClock(), fails_on_gap=options.fails_on_data_loss)
        try:
            with closing(tables(partition, reader, floors, before_us, kind)) as told:
                for table in told:
                    yield from columns.batches(table)
        finally:
            source.close()  # A worker that waits for its next task keeps no connections.
            settle()


def tables(
    partition: Partition, reader: ShardReader, floors: Floors, before_us: int | None, kind: type[Record]
) -> Generator[pa.Table]:
    """The rows of a partition, in the standard columns."""

    def tables_of(chain: list[ShardRange | Rows]) -> Generator[pa.Table]:
        for part in chain:
            if isinstance(part, ShardRange):
                with closing(reader.read(part, before_us, partition.service_us)) as told:
                    for records in told:
                        yield records_to_table(records, partition.stream, kind)
            else:
                yield _resolve(unpack(part), part, floors, before_us, partition.service_us)

    yield from in_turns([tables_of(chain) for chain in partition.chains], AT_ONCE)


def _resolve(table: pa.Table, rows: Rows, floors: Floors, before_us: int | None, service_us: int | None) -> pa.Table:
    """Rows that the planner read without knowing how high the order times of the shard's ancestors go."""
    since_us = None
    if rows.shard_id and table.num_rows:
        first_us = first_order_us(table)
        if rows.since_us is not None and first_us < rows.since_us:
            first_us = since_us = rows.since_us
        floor_us = floors.above(rows.seek, first_us or None, service_us)
        if floor_us is not None:
            table, since_us = raise_floor(table, floor_us), None
    return between(table, since_us, before_us) if since_us is not None or before_us is not None else table
