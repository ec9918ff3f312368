"""Records as the service keeps them: what was written, and when, with the JSON that GetRecords sends made once."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from streamiter.clock import SECOND_US
from streamiter.testing.truth.images import Image, TypedImage, size_of

EventName = Literal["INSERT", "MODIFY", "REMOVE"]
ViewType = Literal["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"]

TTL_IDENTITY = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}  # who deletes what its time to live ended

_encode = msgspec.json.Encoder().encode


class PackedImages(NamedTuple):
    """A key and an item's images as JSON, which the table and its records share."""

    key: bytes
    new: bytes | None
    old: bytes | None


class WrittenRecord(msgspec.Struct, frozen=True):
    """A record in the truth behind the service: `sim.put` returns it, `sim.history` lists them as they were written."""

    shard_id: str
    sequence_number: str
    event_name: EventName
    key: Image
    new: Image | None
    old: Image | None
    created_us: int | None  # what the service says
    written_us: int  # when it was really written: trimming goes by this
    user_identity: dict[str, str] | None
    body: bytes

    @property
    def number(self) -> int:
        """The sequence number as the integer that it compares by."""
        return int(self.sequence_number)

    @property
    def created(self) -> float | None:
        """When the service says that the change was made, in seconds."""
        return None if self.created_us is None else self.created_us / SECOND_US

    def __repr__(self) -> str:
        return f"<WrittenRecord {self.sequence_number} of {self.shard_id}>"


def record_body(
    *,
    event_id: str,
    event_name: EventName,
    sequence_number: str,
    created_us: int | None,
    key: TypedImage,
    new: TypedImage | None,
    old: TypedImage | None,
    view: ViewType,
    user_identity: dict[str, str] | None,
    region: str,
) -> bytes:
    """The record's JSON in a GetRecords answer; images that the view type leaves out are left out."""
    change: dict[str, Any] = {}
    if created_us is not None:
        change["ApproximateCreationDateTime"] = msgspec.Raw(seconds_json(created_us))
    change["Keys"] = key
    images: dict[str, TypedImage] = {}
    if new is not None and view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES"):
        images["NewImage"] = new
    if old is not None and view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES"):
        images["OldImage"] = old
    change |= images
    change["SequenceNumber"] = sequence_number
    change["SizeBytes"] = max(1, sum(map(_size_of, (key, *images.values()))))
    change["StreamViewType"] = view
    envelope: dict[str, Any] = {
        "awsRegion": region,
        "dynamodb": change,
        "eventID": event_id,
        "eventName": event_name,
        "eventSource": "aws:dynamodb",
        "eventVersion": "1.1",
    }
    if user_identity is not None:
        envelope["userIdentity"] = user_identity
    return _encode(envelope)


def _size_of(image: TypedImage) -> int:
    try:
        return size_of(image)
    except (AttributeError, TypeError, ValueError, ArithmeticError):
        return len(_encode(image))  # a test may write what is no image, to see who trips over it


def seconds_json(time_us: int) -> bytes:
    """A moment as the service writes it, exactly: 1.75E9, not 1750000000."""
    if time_us < SECOND_US:
        return _encode(time_us / SECOND_US)
    digits = str(time_us)
    return f"{digits[0]}.{digits[1:].rstrip('0') or '0'}E{len(digits) - 7}".encode()
