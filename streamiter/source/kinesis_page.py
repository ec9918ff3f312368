"""Pages of Kinesis: GetRecords' JSON, and the records that its rows hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from streamiter.clock import FIRST_SECOND, LAST_SECOND, LAST_US, SECOND_US
from streamiter.envelope import Change, Envelope
from streamiter.position import is_number
from streamiter.record import Record
from streamiter.source.aws import next_part, part
from streamiter.source.dynamodb_page import NOTHING, SpoiledRow, as_text, reason_of
from streamiter.source.kinesis_aggregate import MAGIC, take_apart
from streamiter.source.kinesis_record import KinesisChange, KinesisRecord
from streamiter.source.salvage import number_in, split

# A time since 1970 that is greater counts microseconds: milliseconds would be past the year 5000.
_MICROSECONDS_FROM = 10**14
_CLOCKS_DIFFER_US = 60 * SECOND_US  # how far DynamoDB's clock may be ahead of that of Kinesis, far above what is seen


class Row(msgspec.Struct, frozen=True, gc=False):
    """A record as the service sends it."""

    SequenceNumber: str
    Data: bytes
    PartitionKey: str | None = None  # a stream that distributes records by itself (AUTO) takes them without one
    ApproximateArrivalTimestamp: float | None = None

    @property
    def arrived_us(self) -> int | None:
        """When it arrived, in microseconds; the service tells milliseconds."""
        arrived = self.ApproximateArrivalTimestamp
        if (
            arrived is None or not FIRST_SECOND <= arrived < LAST_SECOND
        ):  # as `moment_us`, of which a call would cost more
            return None
        return int(arrived * 1e6 + 0.5)


class Child(msgspec.Struct, frozen=True, gc=False):
    """A shard that follows one that ended."""

    ShardId: str
    ParentShards: tuple[str, ...] = ()
    HashKeyRange: dict[str, str] | None = None


class RawPage(msgspec.Struct, frozen=True, gc=False):
    """GetRecords' answer. The service always sends `Records`: an answer without them lost its body on the way."""

    Records: list[Row]
    NextShardIterator: str | None = None
    MillisBehindLatest: int | None = None
    ChildShards: tuple[Child, ...] | None = None


decode_page = msgspec.json.Decoder(RawPage).decode


class SpoiledPage(RawPage, frozen=True, gc=False):
    """The same, where some of its rows cannot be decoded: these stand in `Records` by their number alone."""

    spoiled: Mapping[int, SpoiledRow] = {}


_decode_row = msgspec.json.Decoder(Row).decode


def salvage_page(body: bytes) -> RawPage | None:
    """The page in a body that cannot be decoded as a whole, row by row; None where there is no page in it."""
    found = split(body)
    if found is None:
        return None
    try:
        rest = decode_page(found.rest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    rows, spoiled = [], {}
    for index, text in enumerate(found.rows):
        try:
            text.decode()
            rows.append(_decode_row(text))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            spoiled[index] = SpoiledRow(number_in(text), reason_of(error))
            rows.append(Row(number_in(text), b""))
    return SpoiledPage(rows, rest.NextShardIterator, rest.MillisBehindLatest, rest.ChildShards, spoiled)


def parsed_page(response: Mapping[str, Any]) -> RawPage:
    """The page as boto3 parsed it."""
    rows, spoiled = [], {}
    for index, row in enumerate(part(response, "Records")):
        try:
            rows.append(_parsed_row(row))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
            number = row.get("SequenceNumber") if isinstance(row, Mapping) else None
            number = number if isinstance(number, str) and is_number(number) else ""
            spoiled[index] = SpoiledRow(number, "a member that every record has is missing, or of another type")
            rows.append(Row(number, b""))
    return SpoiledPage(
        rows,
        next_part(response, "NextShardIterator"),
        _behind_ms(response.get("MillisBehindLatest")),
        tuple(_parsed_child(row) for row in response.get("ChildShards") or ()),
        spoiled,
    )


def _parsed_child(row: Mapping[str, Any]) -> Child:
    return Child(row["ShardId"], tuple(row["ParentShards"]), row.get("HashKeyRange"))


def _behind_ms(behind: Any) -> int | None:
    if behind is not None and not isinstance(behind, int):
        raise TypeError("MillisBehindLatest is no whole number")
    return behind


def _parsed_row(row: Mapping[str, Any]) -> Row:
    arrived = row.get("ApproximateArrivalTimestamp")
    return Row(
        as_text(row["SequenceNumber"]),
        bytes(row["Data"]),
        row.get("PartitionKey"),
        arrived.timestamp() if isinstance(arrived, datetime) else arrived,
    )


# -- rows as records

Reader = Callable[[str, Sequence[Row]], list[Record]]


def read_page(shard_id: str, page: RawPage, read: Reader) -> list[Record]:
    """The records of a page; `read` makes them of rows that can be decoded."""
    if not isinstance(page, SpoiledPage) or not page.spoiled:
        return read(shard_id, page.Records)
    records: list[Record] = []
    for index, row in enumerate(page.Records):
        bad = page.spoiled.get(index)
        records += read(shard_id, [row]) if bad is None else [bad.record(shard_id)]
    return records


def read_payloads(shard_id: str, rows: Sequence[Row]) -> list[Record]:
    """Rows as records, those that were packed into one taken apart."""
    records: list[Record] = []
    for row in rows:
        parts = take_apart(row.Data) if row.Data[:4] == MAGIC else None
        number, arrived_us = row.SequenceNumber, row.arrived_us
        if parts is None:
            records.append(_record(shard_id, row))
            continue
        records += [
            KinesisRecord(
                *(shard_id, number, arrived_us, None, 0, None, 0, False),
                *(part.payload, None, False, part.partition_key, index, part.explicit_hash_key),
            )
            for index, part in enumerate(parts)
        ]
    return records


def _record(shard_id: str, row: Row) -> KinesisRecord:
    # By place: names would cost as much as all else of it.
    return KinesisRecord(
        shard_id, row.SequenceNumber, row.arrived_us, None, 0, None, 0, False, row.Data, None, False, row.PartitionKey
    )


def read_changes(shard_id: str, rows: Sequence[Row]) -> list[Record]:
    """Rows as changes of DynamoDB tables; a row that is none is passed on as it is."""
    return [_change(shard_id, row) for row in rows]


class _RawChange(msgspec.Struct, frozen=True, gc=False):
    ApproximateCreationDateTime: int | float | None = None
    ApproximateCreationDateTimePrecision: str | None = None
    Keys: msgspec.Raw = NOTHING
    NewImage: msgspec.Raw = NOTHING
    OldImage: msgspec.Raw = NOTHING
    SizeBytes: int | None = None


class _RawEvent(msgspec.Struct, frozen=True, gc=False):
    """What DynamoDB writes to Kinesis."""

    dynamodb: _RawChange
    eventSource: str
    eventID: str | None = None
    eventName: str | None = None
    eventVersion: str | None = None
    userIdentity: dict[str, Any] | None = None
    tableName: str | None = None


_decode_event = msgspec.json.Decoder(_RawEvent).decode


def _change(shard_id: str, row: Row) -> Record:
    try:
        event = _decode_event(row.Data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        event = None
    if event is None or event.eventSource != "aws:dynamodb":
        return _record(shard_id, row)
    raw = event.dynamodb
    change = Change(row.SequenceNumber, None, raw.Keys, raw.NewImage, raw.OldImage, raw.SizeBytes)
    envelope = Envelope(change, event.eventID, event.eventName, event.eventVersion, event.userIdentity)
    return KinesisChange(
        shard_id,
        row.SequenceNumber,
        _created_us(raw, row.arrived_us),
        event_name=event.eventName,
        _row=envelope,
        table_name=event.tableName,
        partition_key=row.PartitionKey,
        arrived_us=row.arrived_us,
    )


def _created_us(change: _RawChange, arrived_us: int | None) -> int | None:
    """When the change was made; when it arrived, where it says nothing, or what cannot be."""
    created = change.ApproximateCreationDateTime
    if created is None:
        return arrived_us
    precision = change.ApproximateCreationDateTimePrecision
    if precision != "MICROSECOND" and (precision is not None or created < _MICROSECONDS_FROM):
        created *= 1000
    # Whoever may write to the stream can write any time: one far ahead would hold back all records of all shards.
    most_us = LAST_US if arrived_us is None else arrived_us + _CLOCKS_DIFFER_US
    return int(created) if 0 <= created < most_us else arrived_us
