"""Tables: records as a pyarrow.Table, with the columns that Spark sees too.

Which columns there are follows from the source's kind of records alone, so that an empty table has them too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from streamiter.errors import MissingExtra
from streamiter.images import image_text
from streamiter.record import ChangeRecord, Record
from streamiter.source.kinesis_record import KinesisChange, KinesisRecord

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
    told = columns(record_type)
    schema = pa.schema([(name, types[kind]) for name, kind, _ in told])
    arn, _, _ = stream.partition("@")  # a name may also tell when the stream was made
    arrays = [
        pa.array([arn] * len(records) if values is None else values(records), types[kind]) for _, kind, values in told
    ]
    return pa.table(arrays, schema=schema)


def columns(record_type: type[Record]) -> list[tuple[str, str, Values | None]]:
    """The columns of a kind of records: name; "text", "time", "int" or "bytes"; how to find the values.

    None stands for the stream's ARN.
    """
    if issubclass(record_type, KinesisChange):
        return [*_changes(ChangeRecord), *_DESTINATION]
    if issubclass(record_type, ChangeRecord):
        return _changes(ChangeRecord)
    if issubclass(record_type, KinesisRecord):
        return [*_COMMON, *_PAYLOAD]
    return list(_COMMON)


def _of(kind: type[Record], name: str) -> Values:
    """An attribute of the records of this kind; None for any other."""
    return lambda records: [getattr(record, name) if isinstance(record, kind) else None for record in records]


def _images(name: str) -> Values:
    def texts(records: Sequence[Any]) -> list[Any]:
        return _texts([record.raw_image(name) if isinstance(record, ChangeRecord) else None for record in records])

    return texts


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

# What DynamoDB did not write stands in such a stream as it is.
_DESTINATION: tuple[tuple[str, str, Values | None], ...] = (
    ("table_name", "text", _of(KinesisChange, "table_name")),
    ("arrived_at", "time", _of(KinesisChange, "arrived_us")),
    ("payload", "bytes", _of(KinesisRecord, "raw_payload")),
)


def _changes(kind: type[ChangeRecord]) -> list[tuple[str, str, Values | None]]:
    return [
        ("event_id", "text", _of(kind, "event_id")),
        ("event_name", "text", _of(kind, "event_name")),
        *_COMMON,
        ("keys", "text", _images("Keys")),
        ("new_image", "text", _images("NewImage")),
        ("old_image", "text", _images("OldImage")),
        ("size_bytes", "int", _of(kind, "size_bytes")),
        ("user_identity", "text", lambda records: _texts(_of(kind, "user_identity")(records))),
    ]


def _texts(images: Sequence[Any]) -> list[Any]:
    """Images as JSON text, or as its bytes: pyarrow checks that these are UTF-8."""
    if images and all(type(image) is msgspec.Raw for image in images):
        texts = map(bytes, images)
        return [None if text in (b"", b"null") else text for text in texts]
    return [None if image is None else image_text(image) for image in images]
