"""Packing: records that the planner read, as Arrow streams small enough to travel inside Spark's partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa

from streamiter.log.record import LogRecord
from streamiter.payload import PayloadRecord
from streamiter.record import ChangeRecord, Record
from streamiter.spark.planning.parts import Rows
from streamiter.stream.table import records_to_table

MOST_BYTES = 16 * 1024 * 1024  # of a partition: Spark sends no message of more than 128 MiB
_COLUMNS_BYTES = 400  # about what a row has beside its images


def row_bytes(record: Record) -> int:
    """About how many bytes a record takes as a row."""
    if isinstance(record, LogRecord):
        return (
            _COLUMNS_BYTES + len(record.raw_payload or b"") + len(record.key or b"") + len(record.headers_text or b"")
        )
    if isinstance(record, PayloadRecord):
        return _COLUMNS_BYTES + len(record.raw_payload or b"")
    if not isinstance(record, ChangeRecord):
        return _COLUMNS_BYTES
    images = [record.raw_image(name) for name in ("Keys", "NewImage", "OldImage")]
    if all(type(image) is msgspec.Raw for image in images):
        return _COLUMNS_BYTES + sum(memoryview(image).nbytes for image in images)
    return _COLUMNS_BYTES + 4 * (record.size_bytes or 0)


def pack(
    records: Sequence[Record],
    stream: str,
    kind: type[Record],
    *,
    shard_id: str = "",
    seek: tuple[str, ...] = (),
    since_us: int | None = None,
    most_bytes: int = MOST_BYTES,
) -> list[Rows]:
    """The records, of a kind, as rows, in pieces of at most so many bytes; a single one that is larger travels alone."""
    found = []
    for piece in _cut(records, most_bytes // 2):
        found += [
            Rows(ipc, shard_id, seek, since_us) for ipc in _serialize(records_to_table(piece, stream, kind), most_bytes)
        ]
    return found


def unpack(rows: Rows) -> pa.Table:
    """The rows as a table of the standard columns."""
    with pa.ipc.open_stream(rows.ipc) as reader:
        return reader.read_all()


def _cut(records: Sequence[Record], most_bytes: int) -> Iterator[Sequence[Record]]:
    first = size = 0
    for index, record in enumerate(records):
        size += row_bytes(record)
        if size > most_bytes and index > first:
            yield records[first:index]
            first, size = index, row_bytes(record)
    if first < len(records):
        yield records[first:]


def _serialize(table: pa.Table, most_bytes: int) -> Iterator[bytes]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    ipc = sink.getvalue().to_pybytes()
    if len(ipc) <= most_bytes or table.num_rows == 1:
        yield ipc
        return
    half = table.num_rows // 2
    yield from _serialize(table.slice(0, half), most_bytes)
    yield from _serialize(table.slice(half), most_bytes)
