"""Workers' part: a partition's rows, read by the task that Spark gave it to."""

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
from streamiter.spark.columns import Columns, between, first_order_us, raise_floor
from streamiter.spark.faults import told_plainly
from streamiter.spark.floors import Floors
from streamiter.spark.formats import make_source, record_type
from streamiter.spark.options import Options
from streamiter.spark.packing import unpack
from streamiter.spark.parts import Partition, Rows, ShardRange
from streamiter.spark.settling import settle
from streamiter.spark.shards import ShardReader
from streamiter.spark.turns import in_turns
from streamiter.stream.table import records_to_table

AT_ONCE = 8  # shards that a task reads side by side


@lru_cache(maxsize=8)
def _source_of(options: Options, stream: str) -> tuple[Source, Floors]:
    # Kept from task to task: a client takes longer to make than most pages, and a floor that was found stays found.
    source = make_source(options, stream)
    if source.name != stream:
        raise InvalidStream(f"{options.subject} is {source.name} by now; the query was planned on {stream}")
    return source, Floors(source, SystemClock())


@contextmanager
def _renewed_credentials() -> Iterator[None]:
    """A source whose credentials are not taken any more is kept no longer: those of the moment may be others."""
    try:
        yield
    except (AccessDenied, CredentialsMissing):
        _source_of.cache_clear()
        raise


def read_partition(
    partition: Partition, options: Options, schema: StructType, before_us: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition, in the columns of a schema; `before_us`: those with an earlier order time alone."""
    with told_plainly(), _renewed_credentials():
        source, floors = _source_of(options, partition.stream)
        kind = record_type(source)
        columns = Columns(schema, kind)
        reader = ShardReader(source, floors, SystemClock(), fails_on_gap=options.fails_on_data_loss)
        try:
            with closing(tables(partition, reader, floors, before_us, kind)) as told:
                for table in told:
                    yield from columns.batches(table)
        finally:
            source.close()  # Its connections: a worker that waits for its next task keeps none.
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

    chains = [tables_of(chain) for chain in partition.chains]
    if len(chains) > 1:
        yield from in_turns(chains, AT_ONCE)
    else:
        for told in chains:
            yield from told


def _resolve(table: pa.Table, rows: Rows, floors: Floors, before_us: int | None, service_us: int | None) -> pa.Table:
    """Rows of the planner's, which could not know how high the order times of the shard's ancestors go."""
    since_us = None
    if rows.shard_id and table.num_rows:
        first_us = first_order_us(table)
        if rows.since_us is not None and first_us < rows.since_us:
            first_us = since_us = rows.since_us
        floor_us = floors.above(rows.seek, first_us or None, service_us)
        if floor_us is not None:
            table, since_us = raise_floor(table, floor_us), None
    return between(table, since_us, before_us) if since_us is not None or before_us is not None else table
