"""Pages of DynamoDB Streams: GetRecords' JSON as envelopes, with the images left as text until somebody reads them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

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
    """`Envelope`, decoded from bytes."""

    dynamodb: RawChange  # type: ignore[assignment]  # the same members


class RawPage(msgspec.Struct, frozen=True, gc=False):
    """GetRecords' answer."""

    Records: list[RawEnvelope] = []
    NextShardIterator: str | None = None


decode_page = msgspec.json.Decoder(RawPage).decode


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
