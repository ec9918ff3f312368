"""Tables: records as a pyarrow.Table, with the columns that Spark sees too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from streamiter.errors import MissingExtra
from streamiter.images import image_text
from streamiter.record import ChangeRecord, Record

if TYPE_CHECKING:
    import pyarrow


def records_to_table(records: Sequence[Record], stream: str) -> pyarrow.Table:
    """The records as columns, in their order. Images are DynamoDB's JSON text, as the service sent it."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtra("pyarrow", "arrow") from error
    changes = [record if isinstance(record, ChangeRecord) else None for record in records]
    images = list(
        zip(*((None, None, None) if change is None else change.raw_images for change in changes), strict=True)
    )
    keys, new, old = images or ((), (), ())
    columns: dict[str, tuple[list[Any], Any]] = {
        "event_id": ([change and change.event_id for change in changes], pa.string()),
        "event_name": ([change and change.event_name for change in changes], pa.string()),
        "stream_arn": ([stream] * len(records), pa.string()),
        "shard_id": ([record.shard_id for record in records], pa.string()),
        "sequence_number": ([record.sequence_number for record in records], pa.string()),
        "order_key": ([record.order_key for record in records], pa.string()),
        "created_at": ([record.created_us for record in records], pa.timestamp("us", tz="UTC")),
        "keys": (_texts(keys), pa.string()),
        "new_image": (_texts(new), pa.string()),
        "old_image": (_texts(old), pa.string()),
        "size_bytes": ([change and change.size_bytes for change in changes], pa.int64()),
        "user_identity": (_texts([change and change.user_identity for change in changes]), pa.string()),
    }
    schema = pa.schema([(name, kind) for name, (_, kind) in columns.items()])
    return pa.table([pa.array(values, kind) for values, kind in columns.values()], schema=schema)


def _texts(images: Sequence[Any]) -> list[Any]:
    """Images as JSON text, or as its bytes: pyarrow checks that these are UTF-8."""
    if images and all(type(image) is msgspec.Raw for image in images):
        texts = map(bytes, images)
        return [None if text in (b"", b"null") else text for text in texts]
    return [None if image is None else image_text(image) for image in images]
