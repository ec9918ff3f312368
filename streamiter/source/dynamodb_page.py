"""Pages of DynamoDB Streams: GetRecords' JSON as envelopes, with the images left as text until somebody reads them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from streamiter.record import Change, Envelope

NOTHING = msgspec.Raw()  # an image that is not there; msgspec keeps text only where no other type is allowed


class RawChange(msgspec.Struct, frozen=True, gc=False):
    """`Change`, decoded from bytes: images stay text."""

    SequenceNumber: str
    ApproximateCreationDateTime: float | None = None
    Keys: msgspec.Raw = NOTHING
    NewImage: msgspec.Raw = NOTHING
    OldImage: msgspec.Raw = NOTHING
    SizeBytes: int | None = None


class RawEnvelope(Envelope, frozen=True, gc=False):
    """`Envelope`, decoded from bytes. The words that the service is known to use are not made anew for each record."""

    dynamodb: RawChange  # type: ignore[assignment]  # the same members
    eventName: Literal["INSERT", "MODIFY", "REMOVE"] | None = None
    eventVersion: Literal["1.0", "1.1"] | None = None


class RawPage(msgspec.Struct, frozen=True, gc=False):
    """GetRecords' answer."""

    Records: list[RawEnvelope] = []
    NextShardIterator: str | None = None


class OtherEnvelope(Envelope, frozen=True, gc=False):
    """The same, whatever words it uses."""

    dynamodb: RawChange  # type: ignore[assignment]  # the same members


class OtherPage(msgspec.Struct, frozen=True, gc=False):
    """GetRecords' answer, where some record has words of its own."""

    Records: list[OtherEnvelope] = []
    NextShardIterator: str | None = None


_decode_known = msgspec.json.Decoder(RawPage).decode
_decode_other = msgspec.json.Decoder(OtherPage).decode


def decode_page(body: bytes) -> RawPage | OtherPage:
    """The page in an answer's body."""
    try:
        return _decode_known(body)
    except msgspec.ValidationError:
        return _decode_other(body)


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
