"""Records as the service keeps them: what was written, and when; a million of them share their images with their table."""

from __future__ import annotations

from collections import deque
from typing import Literal, NamedTuple

import msgspec

from streamiter.clock import SECOND_US
from streamiter.testing.truth.images import Image, TypedImage, plain_image, size_of

EventName = Literal["INSERT", "MODIFY", "REMOVE"]
ViewType = Literal["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"]

TTL_IDENTITY = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}  # who deletes what its time to live ended
RENDERED_BYTES = 4 * 1024 * 1024
FIRST_NUMBER = 100_000_000_000_000_000_000_000  # 24 digits, as the service's mostly are
_SIZE_BITS = 30
_MOST_SIZE = (1 << _SIZE_BITS) - 1

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode


class PackedImages(NamedTuple):
    """A key and an item's images as JSON, which the table and its records share."""

    key: bytes
    new: bytes | None
    old: bytes | None


class Rendered:
    """The records whose JSON is at hand: those written or read of late, for there is not room for that of all."""

    def __init__(self, most_bytes: int = RENDERED_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._records: deque[WrittenRecord] = deque()

    def note(self, record: WrittenRecord) -> bytes:
        """A record's JSON is made, and kept until there is that of many newer ones."""
        record.rendered = body = _body(record)
        self._records.append(record)
        self._bytes += len(body)
        while self._bytes > self._most_bytes and len(self._records) > 1:
            oldest = self._records.popleft()
            self._bytes -= len(oldest.rendered or b"")
            oldest.rendered = None
        return body


class Origin(msgspec.Struct, frozen=True, gc=False):
    """Facts that many records of a shard share."""

    shard_id: str
    event_name: EventName
    view: ViewType
    region: str
    table_serial: int
    user_identity: dict[str, str] | None
    rendered: Rendered


class SpelledOut(msgspec.Struct, frozen=True):
    """The extra fields of a record that a test spelled out."""

    place: int | None  # among all records of the table, where its number may be another record's, too
    images: tuple[Image, Image | None, Image | None] | None  # key, new and old, where they are DynamoDB's JSON


class WrittenRecord(msgspec.Struct, gc=False, eq=False):
    """A record in the truth behind the service: `sim.put` returns it, `sim.history` lists them as they were written.

    It has eight members, and one number for two, for the sake of those who keep a million: 80 bytes, and 32 for the number.
    """

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
        return FIRST_NUMBER + (self.number_and_size >> _SIZE_BITS)

    @property
    def size(self) -> int:
        """SizeBytes."""
        return self.number_and_size & _MOST_SIZE

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
        return self.origin.rendered.note(self) if self.rendered is None else self.rendered

    def __repr__(self) -> str:
        return f"<WrittenRecord {self.sequence_number} of {self.shard_id}>"


class SpelledRecord(WrittenRecord, gc=False, eq=False):
    """One that a test wrote itself."""

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
    packed = number - FIRST_NUMBER << _SIZE_BITS | min(size, _MOST_SIZE)
    if spelled is None:
        return WrittenRecord(origin, packed, created_us, written_us, *images, None)
    return SpelledRecord(origin, packed, created_us, written_us, *images, None, spelled)


def shown(images: PackedImages, view: ViewType) -> PackedImages:
    """The images that a stream of this view type tells of."""
    has_new, has_old = view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES"), view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES")
    return PackedImages(images.key, images.new if has_new else None, images.old if has_old else None)


def told_size(*images: TypedImage | None) -> int:
    """SizeBytes of some images."""
    return max(1, sum(_size_of(image) for image in images if image is not None))


def _body(record: WrittenRecord) -> bytes:
    origin = record.origin
    told = shown(PackedImages(record.key_json, record.new_json, record.old_json), origin.view)
    created = b""
    if record.created_us is not None:
        created = b'"ApproximateCreationDateTime":%b,' % seconds_json(record.created_us)
    new = b"" if told.new is None else b'"NewImage":%b,' % told.new
    old = b"" if told.old is None else b'"OldImage":%b,' % told.old
    identity = b"" if origin.user_identity is None else b',"userIdentity":%b' % _encode(origin.user_identity)
    return (
        b'{"awsRegion":"%b","dynamodb":{%b"Keys":%b,%b%b"SequenceNumber":"%021d","SizeBytes":%d,"StreamViewType":"%b"},'
        b'"eventID":"%032x","eventName":"%b","eventSource":"aws:dynamodb","eventVersion":"1.1"%b}'
    ) % (
        origin.region.encode(),
        created,
        told.key,
        new,
        old,
        record.number,
        record.size,
        origin.view.encode(),
        _event_number(record),
        origin.event_name.encode(),
        identity,
    )


def _event_number(record: WrittenRecord) -> int:
    """What the event's id is made of; no two records have the same."""
    base = record.origin.table_serial << 96
    if record.spelled is None or record.spelled.place is None:
        return base + record.number
    return base + (1 << 95) + record.spelled.place


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
