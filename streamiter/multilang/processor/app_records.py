"""A daemon's records as an app's processor knows them: Kinesis records, or the changes that came in their payloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from streamiter.app.processor import Processor
from streamiter.errors import InvalidOption
from streamiter.locate import locate
from streamiter.log import LogRecord
from streamiter.multilang.processor.record import Batch
from streamiter.multilang.processor.record import Record as Given
from streamiter.record import ChangeRecord, Record, SpoiledRecord
from streamiter.source.dynamodb_page import decode_page
from streamiter.source.kinesis_page import Row, read_changes
from streamiter.source.kinesis_record import KinesisChange, KinesisRecord

_MILLIS_FROM = 100_000_000_000  # seconds since 1970 are fewer until the year 5138
_decode = msgspec.json.Decoder().decode


def records_of(processor: Processor, batch: Batch) -> Sequence[Record]:
    """A batch's records, as objects of the class that the processor's source gives."""
    kind = locate(processor.source).record_type
    if issubclass(kind, KinesisChange):
        return [record for given in batch for record in read_changes(batch.shard_id, [_row(given)])]
    if issubclass(kind, KinesisRecord):
        return [_kinesis(batch.shard_id, given) for given in batch]
    if issubclass(kind, ChangeRecord):
        return [_change(batch.shard_id, given) for given in batch]
    if issubclass(kind, LogRecord):
        return [_entry(batch.shard_id, given) for given in batch]
    raise InvalidOption(f"{processor.name}: records of {kind.__name__} cannot be made of what a MultiLang daemon sends")


def _kinesis(shard_id: str, given: Given) -> Record:
    return KinesisRecord(
        shard_id=shard_id,
        sequence_number=given.sequence_number,
        created_us=_us(given),
        raw_payload=given.payload,
        partition_key=given.partition_key,
        sub_sequence_number=given.sub_sequence_number,
    )


def _entry(shard_id: str, given: Given) -> Record:
    key = None if given.partition_key is None else given.partition_key.encode()
    return LogRecord(
        shard_id=shard_id,
        sequence_number=given.sequence_number,
        created_us=_us(given),
        raw_payload=given.payload,
        key=key,
    )


def _change(shard_id: str, given: Given) -> Record:
    """A record of DynamoDB Streams from the service's JSON in the payload. Its time may be in milliseconds or in seconds."""
    try:
        row: Any = _decode(given.payload)
        created = row["dynamodb"].get("ApproximateCreationDateTime")
        if isinstance(created, int | float) and created >= _MILLIS_FROM:
            row["dynamodb"]["ApproximateCreationDateTime"] = created / 1000
        (record,) = decode_page(msgspec.json.encode({"Records": [row]})).records(shard_id)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError, ValueError):
        return SpoiledRecord(shard_id, given.sequence_number, _us(given), reason="it is no change of a DynamoDB table")
    return record


def _row(given: Given) -> Row:
    arrived_us = _us(given)
    return Row(
        given.sequence_number, given.payload, given.partition_key, None if arrived_us is None else arrived_us / 1e6
    )


def _us(given: Given) -> int | None:
    return None if given.arrived_ms is None else given.arrived_ms * 1000
