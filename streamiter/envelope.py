"""Envelopes: the service's own record of a change, by the service's names; what is in it stays undecoded until it is read."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec


class Change(msgspec.Struct, frozen=True, gc=False):
    """What changed: the part of the service's record that is about the row. Images are kept undecoded."""

    SequenceNumber: str
    ApproximateCreationDateTime: float | None = None
    Keys: Any = None
    NewImage: Any = None
    OldImage: Any = None
    SizeBytes: int | None = None
    StreamViewType: str | None = None


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """The service's record, by its own names."""

    dynamodb: Change
    eventID: str | None = None
    eventName: str | None = None
    eventVersion: str | None = None
    userIdentity: dict[str, Any] | None = None
    eventSource: str | None = None
    awsRegion: str | None = None

    def at(self, index: int) -> Envelope:
        """Itself, where a row that is still to be decoded gives what it holds."""
        return self

    @property
    def content(self) -> tuple[Any, ...]:
        """What it tells, whether its images are still text or decoded: records are compared by it."""
        change = self.dynamodb
        images = (_json_of(image) for image in (change.Keys, change.NewImage, change.OldImage))
        return (*images, change.SizeBytes, self.eventID, self.eventVersion, self.userIdentity)


class Rows(Protocol):
    """The rows of a page, each decoded when it is asked for."""

    def at(self, index: int) -> Envelope:
        """One of them."""


NO_ENVELOPE = Envelope(Change(""))


def _json_of(image: Any) -> Any:
    """An image as boto3 has it, typed but decoded."""
    return msgspec.json.decode(image) if isinstance(image, msgspec.Raw) and image else image or None
