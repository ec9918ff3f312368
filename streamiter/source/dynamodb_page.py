"""Pages of DynamoDB Streams: GetRecords' JSON, of which only what the order of records follows from is decoded at once.

The rest of a record is decoded when somebody asks for it, and its images, which stay text even then, when they are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

from streamiter.envelope import Change, Envelope
from streamiter.errors import UnreadableRecord
from streamiter.position import is_number
from streamiter.record import ChangeRecord, Record, SpoiledRecord
from streamiter.source.salvage import number_in, split

NOTHING = msgspec.Raw()  # an image that is not there; msgspec keeps text only where no other type is allowed


class RawChange(Change, frozen=True, gc=False):
    """`Change`, decoded from bytes: images stay text. Here as below, only what a reader cannot do without has to be right."""

    SequenceNumber: str
    ApproximateCreationDateTime: Any = None
    Keys: msgspec.Raw = NOTHING
    NewImage: msgspec.Raw = NOTHING
    OldImage: msgspec.Raw = NOTHING
    SizeBytes: Any = None


class RawEnvelope(Envelope, frozen=True, gc=False):
    """`Envelope`, decoded from bytes."""

    dynamodb: RawChange
    eventID: Any = None
    eventName: Any = None
    eventVersion: Any = None
    userIdentity: Any = None


_decode_row = msgspec.json.Decoder(RawEnvelope).decode


class _Split(msgspec.Struct, gc=False):
    Records: list[msgspec.Raw]


_split = msgspec.json.Decoder(_Split).decode


class Text(msgspec.Struct, gc=False):
    """The rows of a page as the text that they came in."""

    body: bytes
    rows: Sequence[msgspec.Raw | bytes] | None = None  # where each stands in it

    def at(self, index: int) -> Envelope:
        """One of them, decoded."""
        try:
            if self.rows is None:
                self.rows = _split(self.body).Records
            return _decode_row(self.rows[index])
        except RecursionError:
            raise UnreadableRecord("it is nested too deep to be decoded here") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            assert self.rows is not None  # the page could be taken apart: it is one of the row's own members
            return _loosely(self.rows[index])


class _LooseChange(msgspec.Struct, gc=False):
    SequenceNumber: str
    ApproximateCreationDateTime: float | None = None
    Keys: msgspec.Raw = NOTHING
    NewImage: msgspec.Raw = NOTHING
    OldImage: msgspec.Raw = NOTHING
    SizeBytes: msgspec.Raw = NOTHING


class _LooseRow(msgspec.Struct, gc=False):
    dynamodb: _LooseChange
    eventID: msgspec.Raw = NOTHING
    eventName: str | None = None
    eventVersion: msgspec.Raw = NOTHING
    userIdentity: msgspec.Raw = NOTHING


_decode_loosely = msgspec.json.Decoder(_LooseRow).decode
_decode_member = msgspec.json.Decoder().decode


def _loosely(row: msgspec.Raw | bytes) -> Envelope:
    """A row with members that JSON can hold and we cannot, a size of 5,000 digits, say: these count as not told."""
    loose = _decode_loosely(row)
    change = loose.dynamodb
    raw = RawChange(
        change.SequenceNumber,
        change.ApproximateCreationDateTime,
        change.Keys,
        change.NewImage,
        change.OldImage,
        _member(change.SizeBytes),
    )
    return RawEnvelope(
        raw, _member(loose.eventID), loose.eventName, _member(loose.eventVersion), _member(loose.userIdentity)
    )


def _member(text: msgspec.Raw) -> Any:
    try:
        return _decode_member(text) if text else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class Moment(msgspec.Struct, frozen=True, gc=False):
    """Of what changed, what its order follows from."""

    SequenceNumber: str
    ApproximateCreationDateTime: float | None = None


class Head(msgspec.Struct, frozen=True, gc=False):
    """Of a record, what all readers ask for. The words that the service is known to use are not made anew for each."""

    dynamodb: Moment
    eventName: Literal["INSERT", "MODIFY", "REMOVE"] | None = None


class OtherHead(msgspec.Struct, frozen=True, gc=False):
    """The same, whatever words it uses."""

    dynamodb: Moment
    eventName: str | None = None


class HeadPage(msgspec.Struct, frozen=True, gc=False):
    """GetRecords' answer. The service always sends `Records`: an answer without them lost its body on the way."""

    Records: list[Head]
    NextShardIterator: str | None = None


class OtherPage(msgspec.Struct, frozen=True, gc=False):
    """GetRecords' answer, where some record has words of its own."""

    Records: list[OtherHead]
    NextShardIterator: str | None = None


class Decoded(NamedTuple):
    """A page as its bytes tell it: of each record what its order follows from, and the text of all."""

    heads: Sequence[Any]
    text: Text
    next: str | None
    spoiled: Mapping[int, SpoiledRow] = {}  # rows that cannot be decoded, by their index

    def records(self, shard_id: str) -> Sequence[Record]:
        """The records of the page."""
        records: list[Record] = list(ChangeRecord.all_of(shard_id, self.heads, self.text))
        for index, row in self.spoiled.items():
            records[index] = row.record(shard_id)
        return records


class SpoiledRow(NamedTuple):
    """A row that cannot be decoded."""

    number: str  # its sequence number; empty where it cannot be told
    reason: str

    def record(self, shard_id: str) -> SpoiledRecord:
        """The record that stands for it."""
        return SpoiledRecord(shard_id, self.number, None, reason=self.reason)


_decode_known = msgspec.json.Decoder(HeadPage).decode
_decode_other = msgspec.json.Decoder(OtherPage).decode


def decode_page(body: bytes) -> Decoded:
    """The page in an answer's body."""
    page: HeadPage | OtherPage
    try:
        page = _decode_known(body)
    except msgspec.ValidationError:
        page = _decode_other(body)
    return Decoded(page.Records, Text(body), page.NextShardIterator)


def salvage_page(body: bytes) -> Decoded | None:
    """The page in a body that cannot be decoded as a whole, row by row; None where there is no page in it."""
    found = split(body)
    if found is None:
        return None
    try:
        following = _decode_other(found.rest).NextShardIterator
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    heads, rows, spoiled = [], [], {}
    for index, text in enumerate(found.rows):
        try:
            text.decode()
            _decode_row(text)
            heads.append(_decode_head(text))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            spoiled[index] = SpoiledRow(number_in(text), reason_of(error))
            heads.append(_NO_HEAD)
        rows.append(text)
    return Decoded(heads, Text(b"", rows), following, spoiled)


_decode_head = msgspec.json.Decoder(OtherHead).decode
_NO_HEAD = OtherHead(Moment("0"))


def reason_of(error: Exception) -> str:
    """Why a row cannot be decoded, in words that hold nothing of it."""
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, msgspec.ValidationError):
        return "a member that every record has is missing, or of another type"
    return "it is not JSON"


def parsed_records(shard_id: str, rows: Sequence[Any]) -> list[Record]:
    """The records of rows as boto3 parsed them."""
    envelopes, spoiled = [], {}
    for index, row in enumerate(rows):
        try:
            envelopes.append(parsed_envelope(row))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
            spoiled[index] = SpoiledRow(
                _parsed_number(row), "a member that every record has is missing, or of another type"
            )
            envelopes.append(_NO_ENVELOPE)
    records: list[Record] = list(ChangeRecord.all_of(shard_id, envelopes))
    for index, bad in spoiled.items():
        records[index] = bad.record(shard_id)
    return records


_NO_ENVELOPE = Envelope(Change("0"))


def _parsed_number(row: Any) -> str:
    change = row.get("dynamodb") if isinstance(row, Mapping) else None
    number = change.get("SequenceNumber") if isinstance(change, Mapping) else None
    return number if isinstance(number, str) and is_number(number) else ""


def as_text(number: Any) -> str:
    """A sequence number as boto3 parsed it; TypeError where it is none."""
    if not isinstance(number, str):
        raise TypeError(f"a sequence number is text, not {type(number).__name__}")
    return number


def parsed_envelope(row: Mapping[str, Any]) -> Envelope:
    """The envelope of a record as boto3 parsed it."""
    change = row.get("dynamodb") or {}
    created = change.get("ApproximateCreationDateTime")
    return Envelope(
        Change(
            as_text(change["SequenceNumber"]),
            created.timestamp() if isinstance(created, datetime) else None if created is None else float(created),
            change.get("Keys"),
            change.get("NewImage"),
            change.get("OldImage"),
            change.get("SizeBytes"),
        ),
        row.get("eventID"),
        row.get("eventName"),
        row.get("eventVersion"),
        row.get("userIdentity"),
    )
