"""Tables: records as a pyarrow.Table, and all that a service holds as one, which comes whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from streamiter.errors import MissingExtra
from streamiter.images import image_text
from streamiter.log.record import LogRecord
from streamiter.record import ChangeRecord, Record
from streamiter.shard import is_text
from streamiter.source.base import Source
from streamiter.source.kinesis_record import KinesisChange, KinesisRecord
from streamiter.steps import Call, Steps
from streamiter.stream.course import Course
from streamiter.stream.output import BATCH

if TYPE_CHECKING:
    import pyarrow


Values = Callable[[Sequence[Any]], list[Any]]


def records_to_table(records: Sequence[Record], stream: str, record_type: type[Record] = ChangeRecord) -> pyarrow.Table:
    """The records as columns, in their order. Images are DynamoDB's JSON text, as the service sent it."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtra("pyarrow", "arrow") from error
    types = {
        "text": pa.string(),
        "time": pa.timestamp("us", tz="UTC"),
        "int": pa.int64(),
        "bytes": pa.binary(),
    }
    arn, _, _ = stream.partition("@")  # a name may also tell when the stream was made
    told = columns(records, arn, record_type)
    schema = pa.schema([(name, types[kind]) for name, kind, _ in told])
    arrays = [_array(values, kind, types[kind], pa) for _, kind, values in told]
    return pa.table(arrays, schema=schema)


def _array(values: list[Any], kind: str, arrow_type: Any, pa: Any) -> Any:
    try:
        return pa.array(values, arrow_type)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        # Order does not depend on this member, so the service may send anything: a value of another type counts as absent.
        return pa.array([_of_type(value, kind) for value in values], arrow_type)


def _of_type(value: Any, kind: str) -> Any:
    if kind == "text":
        if isinstance(value, bytes):
            return image_text(msgspec.Raw(value))
        return value if isinstance(value, str) and is_text(value) else None
    if kind == "bytes":
        return value if isinstance(value, bytes) else None
    return value if type(value) is int and -(1 << 63) <= value < 1 << 63 else None


def columns(records: Sequence[Record], stream: str, record_type: type[Record]) -> list[tuple[str, str, list[Any]]]:
    """The records as columns of their kind: name; "text", "time", "int" or "bytes"; the values."""
    for record in records:
        if isinstance(record, ChangeRecord):
            record.decode()
    return [
        (name, kind, [stream] * len(records) if find is None else find(records))
        for name, kind, find in _columns(record_type)
    ]


def _columns(record_type: type[Record]) -> list[tuple[str, str, Values | None]]:
    """Name, type, and how to find the values in records decoded whole; None stands for the stream's ARN."""
    if issubclass(record_type, KinesisChange):
        return [*_changes(ChangeRecord), *_DESTINATION]
    if issubclass(record_type, ChangeRecord):
        return _changes(ChangeRecord)
    if issubclass(record_type, KinesisRecord):
        return [*_COMMON, *_PAYLOAD]
    if issubclass(record_type, LogRecord):
        return [*_COMMON, *_LOG]
    return [*_COMMON, *((name, kind, _of(record_type, name)) for name, kind in record_type.columns.items())]


def _of(kind: type[Record], path: str) -> Values:
    """What the records of this kind have there; None for any other."""
    find = attrgetter(path)  # members of members: properties would be a call of Python each

    def values(records: Sequence[Any]) -> list[Any]:
        if all(issubclass(found, kind) for found in set(map(type, records))):
            return list(map(find, records))  # as it nearly always is
        return [find(record) if isinstance(record, kind) else None for record in records]

    return values


def _texts_of(kind: type[Record], path: str) -> Values:
    """The same, as JSON text."""
    values = _of(kind, path)
    return lambda records: _texts(values(records))


_COMMON: tuple[tuple[str, str, Values | None], ...] = (
    ("stream_arn", "text", None),
    ("shard_id", "text", _of(Record, "shard_id")),
    ("sequence_number", "text", _of(Record, "sequence_number")),
    ("order_key", "text", _of(Record, "order_key")),
    ("created_at", "time", _of(Record, "created_us")),
)

_PAYLOAD: tuple[tuple[str, str, Values | None], ...] = (
    ("partition_key", "text", _of(KinesisRecord, "partition_key")),
    ("payload", "bytes", _of(KinesisRecord, "raw_payload")),
    ("sub_sequence_number", "int", _of(KinesisRecord, "sub_sequence_number")),
    ("explicit_hash_key", "text", _of(KinesisRecord, "explicit_hash_key")),
)

_LOG: tuple[tuple[str, str, Values | None], ...] = (
    ("key", "bytes", _of(LogRecord, "key")),
    ("payload", "bytes", _of(LogRecord, "raw_payload")),
    ("headers", "text", _of(LogRecord, "headers_text")),
)

# What DynamoDB did not write stands in such a stream as it is.
_DESTINATION: tuple[tuple[str, str, Values | None], ...] = (
    ("table_name", "text", _of(KinesisChange, "table_name")),
    ("arrived_at", "time", _of(KinesisChange, "arrived_us")),
    ("payload", "bytes", _of(KinesisRecord, "raw_payload")),
)


def _changes(kind: type[ChangeRecord]) -> list[tuple[str, str, Values | None]]:
    return [
        ("event_id", "text", _of(kind, "_row.eventID")),
        ("event_name", "text", _of(kind, "event_name")),
        *_COMMON,
        ("keys", "text", _texts_of(kind, "_row.dynamodb.Keys")),
        ("new_image", "text", _texts_of(kind, "_row.dynamodb.NewImage")),
        ("old_image", "text", _texts_of(kind, "_row.dynamodb.OldImage")),
        ("size_bytes", "int", _of(kind, "_row.dynamodb.SizeBytes")),
        ("user_identity", "text", _texts_of(kind, "_row.userIdentity")),
    ]


def _texts(images: Sequence[Any]) -> list[Any]:
    """Images as JSON text, or as its bytes: pyarrow checks that these are UTF-8."""
    if set(map(type, images)) == {msgspec.Raw}:
        return [None if text == b"" or text == b"null" else text for text in map(bytes, images)]
    return [None if image is None else image_text(image) for image in images]


def tabled(course: Course, source: Source) -> Steps[dict[str, pyarrow.Table]]:
    """The table, still to be taken: it counts as returned when it is."""
    outlet = course.outlet
    outlet.enter("to_arrow")
    try:
        undo = outlet.begin_batch()
        undo.rest[BATCH] = yield from _table(course, source)
        outlet.holder.clear()
        return undo.rest
    except BaseException:
        outlet.holder.clear()
        raise


def _table(course: Course, source: Source) -> Steps[pyarrow.Table]:
    from streamiter.stream.table import records_to_table

    records: list[Record] = []
    waiting, stops = course.waiting, course.stops
    stop_before = stops.last
    try:
        yield from waiting.fill(records, sys.maxsize, waiting.ending("caught_up"))
        table: pyarrow.Table = yield Call(partial(records_to_table, records, source.name, source.record_type))
        return table
    except Exception:
        stop = stops.last
        course.outlet.begin_anew()
        stops.last = stop if stop is not stop_before else None  # what skip() goes past
        raise
