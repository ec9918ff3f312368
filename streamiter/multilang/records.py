"""Records as a child gets them: a payload as it is, a change of a row as the service's JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from streamiter.errors import PoisonRecord
from streamiter.images import image_text
from streamiter.multilang.wire import WireRecord
from streamiter.payload import PayloadRecord
from streamiter.record import ChangeRecord, Record, SpoiledRecord
from streamiter.source.kinesis_record import KinesisChange, KinesisRecord


def wire_record(record: Record) -> WireRecord:
    """The record as a child gets it. Its number and sub-number are its place in the shard; checkpoints name it by them."""
    number, sub = record.numbered
    arrival_ms = None if record.created_us is None else record.created_us // 1000
    if isinstance(record, KinesisRecord):
        return WireRecord(record.raw_payload or b"", record.partition_key, number, sub, arrival_ms)
    if isinstance(record, ChangeRecord):
        if isinstance(record, KinesisChange) and record.arrived_us is not None:
            arrival_ms = record.arrived_us // 1000
        key = record.partition_key if isinstance(record, KinesisChange) else None
        return WireRecord(change_json(record), key, number, sub, arrival_ms)
    if isinstance(record, PayloadRecord):
        return WireRecord(record.raw_payload or b"", _text(getattr(record, "key", None)), number, sub, arrival_ms)
    if isinstance(record, SpoiledRecord):
        raise PoisonRecord.spoiled(record.shard_id, record.sequence_number, record.reason)
    return WireRecord(record.to_json().encode(), None, number, sub, arrival_ms)


def change_json(record: ChangeRecord) -> bytes:
    """A change as the DynamoDB Streams Kinesis Adapter hands it to children: the service's record, its time in milliseconds."""
    envelope = record.decode()
    change: dict[str, Any] = {
        "ApproximateCreationDateTime": None if record.created_us is None else record.created_us // 1000,
        "Keys": _image(record, "Keys"),
        "NewImage": _image(record, "NewImage"),
        "OldImage": _image(record, "OldImage"),
        "SequenceNumber": record.sequence_number,
        "SizeBytes": envelope.dynamodb.SizeBytes,
        "StreamViewType": envelope.dynamodb.StreamViewType,
    }
    told: dict[str, Any] = {
        "eventID": envelope.eventID,
        "eventName": record.event_name,
        "eventVersion": envelope.eventVersion,
        "eventSource": envelope.eventSource or "aws:dynamodb",
        "awsRegion": envelope.awsRegion,
        "userIdentity": envelope.userIdentity,
        "dynamodb": {name: value for name, value in change.items() if value is not None},
    }
    return msgspec.json.encode({name: value for name, value in told.items() if value is not None})


def _image(record: ChangeRecord, name: str) -> msgspec.Raw | None:
    text = image_text(record.raw_image(name))
    return None if text is None else msgspec.Raw(text.encode())


def _text(key: object) -> str | None:
    """A log's key as text: its bytes are UTF-8 as a rule; others are written as Python's escapes."""
    return key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else None if key is None else str(key)
