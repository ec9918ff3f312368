"""Pages of DynamoDB Streams: GetRecords' JSON, of which only what the order of records follows from is decoded at once.

The rest of a record is decoded when somebody asks for it, and its images, which stay text even then, when they are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

from streamiter.record import Change, Envelope

NOTHING = msgspec.Raw()  # an image that is not there; msgspec keeps text only where no other type is allowed


class RawChange(msgspec.Struct, frozen=True, gc=False):
    """`Change`, decoded from bytes: images stay text. Here as below, only what a reader cannot do without has to be right."""

    SequenceNumber: str
    ApproximateCreationDateTime: Any = None
    Keys: msgspec.Raw = NOTHING
    NewImage: msgspec.Raw = NOTHING
    OldImage: msgspec.Raw = NOTHING
    SizeBytes: Any = None


class RawEnvelope(Envelope, frozen=True, gc=False):
    """`Envelope`, decoded from bytes."""

    dynamodb: RawChange  # type: ignore[assignment]  # the same members
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
    rows: list[msgspec.Raw] | None = None  # where each stands in it

    def at(self, index: int) -> Envelope:
        """One of them, decoded."""
        if self.rows is None:
            self.rows = _split(self.body).Records
        return _decode_row(self.rows[index])


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
    """GetRecords' answer."""

    Records: list[Head] = []
    NextShardIterator: str | None = None


class OtherPage(msgspec.Struct, frozen=True, gc=False):
    """GetRecords' answer, where some record has words of its own."""

    Records: list[OtherHead] = []
    NextShardIterator: str | None = None


class Decoded(NamedTuple):
    """A page as its bytes tell it: of each record what its order follows from, and the text of all."""

    heads: Sequence[Any]
    text: Text
    next: str | None


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


def parsed_envelope(row: Mapping[str, Any]) -> Envelope:
    """The envelope of a record as boto3 parsed it."""
    change = row.get("dynamodb") or {}
    created = change.get("ApproximateCreationDateTime")
    return Envelope(
        Change(
            change["SequenceNumber"],
            created.timestamp() if isinstance(created, datetime) else created,
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
