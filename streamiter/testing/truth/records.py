"""Records as the service keeps them: what was written, and when; a million of them share their images with their table."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import msgspec

from streamiter.clock import SECOND_US
from streamiter.testing.truth.images import Image, TypedImage, plain_image, size_of
from streamiter.testing.truth.rendering import FIRST_NUMBER, MOST_SIZE, SIZE_BITS, Frame, rendered

EventName = Literal["INSERT", "MODIFY", "REMOVE"]
ViewType = Literal["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"]

TTL_IDENTITY = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}  # who deletes what its time to live ended

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode


class PackedImages(NamedTuple):
    """A key and an item's images as JSON, which the table and its records share."""

    key: bytes
    new: bytes | None
    old: bytes | None


class Origin(msgspec.Struct, frozen=True, gc=False):
    """Facts that many records of a shard share."""

    shard_id: str
    event_name: EventName
    user_identity: dict[str, str] | None
    frame: Frame


class SpelledOut(msgspec.Struct, frozen=True):
    """The extra fields of a record that a test spelled out."""

    place: int | None  # among all records of the table, where its number may be another record's, too
    images: tuple[Image, Image | None, Image | None] | None  # key, new and old, where they are DynamoDB's JSON


class WrittenRecord(msgspec.Struct, gc=False, eq=False):
    """A record in the truth behind the service: `sim.put` returns it, `sim.history` lists them as they were written.

    It has eight members, and one number for two, for the sake of those who keep a million: 80 bytes, and 32 for the number.
    """

    is_spelled: ClassVar[bool] = False

    origin: Origin
    number_and_size: int  # the number counts from `FIRST_NUMBER`, above the bits of the size
    created_us: int | None  # what the service says
    written_us: int  # when it was really written: trimming goes by this
    key_json: bytes
    new_json: bytes | None
    old_json: bytes | None
    rendered: bytes | None

    @property
    def number(self) -> int:
        """The sequence number as the integer that it compares by."""
        return FIRST_NUMBER + (self.number_and_size >> SIZE_BITS)

    @property
    def size(self) -> int:
        """SizeBytes."""
        return self.number_and_size & MOST_SIZE

    @property
    def spelled(self) -> SpelledOut | None:
        """The fields that a test spelled out, if it did."""
        return None

    @property
    def shard_id(self) -> str:
        return self.origin.shard_id

    @property
    def event_name(self) -> EventName:
        return self.origin.event_name

    @property
    def user_identity(self) -> dict[str, str] | None:
        return self.origin.user_identity

    @property
    def sequence_number(self) -> str:
        return f"{self.number:021d}"

    @property
    def key(self) -> Image:
        return self._given(0, self.key_json) or {}

    @property
    def new(self) -> Image | None:
        return self._given(1, self.new_json)

    @property
    def old(self) -> Image | None:
        return self._given(2, self.old_json)

    def _given(self, which: int, image: bytes | None) -> Image | None:
        if self.spelled is not None and self.spelled.images is not None:
            return self.spelled.images[which]
        return None if image is None else plain_image(_decode(image))

    @property
    def created(self) -> float | None:
        """When the service says that the change was made, in seconds."""
        return None if self.created_us is None else self.created_us / SECOND_US

    @property
    def body(self) -> bytes:
        """The record's JSON in a GetRecords answer; images that the view type leaves out are left out."""
        return rendered((self,))[0]

    def __repr__(self) -> str:
        return f"<WrittenRecord {self.sequence_number} of {self.shard_id}>"


class SpelledRecord(WrittenRecord, gc=False, eq=False):
    """One that a test wrote itself."""

    is_spelled: ClassVar[bool] = True

    spelled_out: SpelledOut

    @property
    def spelled(self) -> SpelledOut | None:
        return self.spelled_out


def written_record(
    origin: Origin,
    number: int,
    created_us: int | None,
    written_us: int,
    images: PackedImages,
    size: int,
    spelled: SpelledOut | None,
) -> WrittenRecord:
    """A record that was not rendered yet."""
    packed = number - FIRST_NUMBER << SIZE_BITS | min(size, MOST_SIZE)
    if spelled is None:
        return WrittenRecord(origin, packed, created_us, written_us, *images, None)
    return SpelledRecord(origin, packed, created_us, written_us, *images, None, spelled)


def told_size(*images: TypedImage | None) -> int:
    """SizeBytes of some images."""
    return max(1, sum(_size_of(image) for image in images if image is not None))


def _size_of(image: TypedImage) -> int:
    try:
        return size_of(image)
    except (AttributeError, TypeError, ValueError, ArithmeticError):
        return len(_encode(image))  # a test may write what is no image, to see who trips over it
