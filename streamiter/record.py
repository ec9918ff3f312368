"""Records: one change each, as the service told it, with the order that the merge found for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, ClassVar, Protocol

import arrow
import msgspec

from streamiter.images import decode_image
from streamiter.position import Place
from streamiter.shard import Rank, sortable


class Converts(Protocol):
    """The caller's own class, as `model=` names it."""

    def from_image(self, image: dict[str, Any]) -> Any:
        """Made of a row's attributes."""

    def from_payload(self, payload: bytes) -> Any:
        """Made of bytes."""


class Record(msgspec.Struct, eq=False):
    """One record of a shard. The service's part never changes; lane and merge stamp its order on it.

    A struct of msgspec's: as long as it holds nothing but plain values, Python's garbage collector need not look at it. A
    backlog has hundreds of thousands of records waiting, and looking at all of them again and again halved the speed.
    """

    shard_id: str
    sequence_number: str
    created_us: int | None
    _place: Place | None = None
    order_us: int = 0  # its order time (law 3)
    rank: Rank | None = None  # its shard's; None until its lane has it
    clock: int = 0  # how many records the stream had returned with this one, over all resumes
    late: bool = False  # whether one that sorts behind it had been returned before

    # Of a kind of your own: attributes that tables have as columns, too, each "text", "time" (microseconds), "int" or "bytes".
    columns: ClassVar[Mapping[str, str]] = {}

    @property
    def number(self) -> int:
        """The sequence number as the integer that it compares by, within its shard."""
        return int(self.sequence_number)

    @property
    def place(self) -> Place:
        """Its place in its shard (law 4)."""
        return self._place or Place.of(self.sequence_number)

    def set_place(self, place: Place | None) -> None:
        """For the lane: where the place is not just the sequence number."""
        self._place = place

    @property
    def created_at(self) -> arrow.Arrow | None:
        """When the service says that the change was made; DynamoDB floors it to the second, and may leave it out."""
        return None if self.created_us is None else arrow.get(self.created_us / 1e6)

    @property
    def order_key(self) -> str:
        """(order time, rank, place) as text that sorts as records come out, late ones aside; the same in Arrow and Spark."""
        assert self.rank is not None, "a record has an order once it has come out"
        number = self.sequence_number
        if self._place is None and number[0] != "0":  # as it nearly always is
            return f"{self.order_us:020d} {self.rank.text} {len(number):02d}{number} 010"
        return order_key(self.order_us, self.rank, self.place)

    def use_model(self, model: Converts) -> None:
        """Turns what the record carries into the caller's own class; what the model raises comes through."""

    def __repr__(self) -> str:
        # Neither images nor keys: a repr ends up in logs.
        return f"<{type(self).__name__} {self.sequence_number} of {self.shard_id}>"


class Change(msgspec.Struct, frozen=True, gc=False):
    """What changed: the part of the service's record that is about the row. Images are kept undecoded."""

    SequenceNumber: str
    ApproximateCreationDateTime: float | None = None
    Keys: Any = None
    NewImage: Any = None
    OldImage: Any = None
    SizeBytes: int | None = None


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """The service's record, by its own names."""

    dynamodb: Change
    eventID: str | None = None
    eventName: str | None = None
    eventVersion: str | None = None
    userIdentity: dict[str, Any] | None = None

    def at(self, index: int) -> Envelope:
        """Itself, where a row that is still to be decoded gives what it holds."""
        return self


class Rows(Protocol):
    """The rows of a page, each decoded when it is asked for."""

    def at(self, index: int) -> Envelope:
        """One of them."""


NO_ENVELOPE = Envelope(Change(""))
_INDEXES = tuple(range(1000))  # of a page's rows: numbers that all pages share


class _Microseconds(dict[float | None, int | None]):
    """The service's seconds as microseconds, each worked out once: all shards' records were created in the same ones."""

    def __missing__(self, seconds: float | None) -> int | None:
        if len(self) >= _MOST_MOMENTS:
            self.clear()
        us = self[seconds] = None if seconds is None else int(seconds * 1e6 + 0.5)
        return us


_MOST_MOMENTS = 20_000  # 3 MB; a day has 86,400 seconds
_us_of = _Microseconds()


class ChangeRecord(Record):
    """A change of a row, in the shape that Bloop's users know: `record["new"]`, `record["meta"]["created_at"]`.

    Images stay as the service sent them until somebody reads them. Numbers come as Decimal, binary as bytes, sets as set.
    A record that is kept for long keeps the whole answer that it came in, up to 1 MB; its `copy.deepcopy`, or `new`, does not.
    """

    event_name: str | None = None  # INSERT, MODIFY or REMOVE
    # What few ask for is decoded when they do. A record that waits has little in memory then: less to make, to hold, to free.
    _row: Rows = NO_ENVELOPE
    _index: int = 0
    _images: dict[str, Any] | None = None  # what was read of them

    @classmethod
    def all_of(cls, shard_id: str, envelopes: Sequence[Envelope], rows: Rows | None = None) -> list[ChangeRecord]:
        """The records of a page; with `rows`, the envelopes tell no more than order and event, and these the rest."""
        indexes = _INDEXES if len(envelopes) <= len(_INDEXES) else range(len(envelopes))
        told = zip(envelopes, envelopes if rows is None else repeat(rows), indexes, strict=False)
        return [
            cls(
                shard_id,
                change.SequenceNumber,
                _us_of[change.ApproximateCreationDateTime],
                None,
                0,
                None,
                0,
                False,
                envelope.eventName,
                row,
                index,
            )
            for envelope, row, index in told
            for change in (envelope.dynamodb,)
        ]

    def unfold(self) -> Envelope:
        """The service's record, decoded: only now, and once."""
        envelope = self._row = self._row.at(self._index)
        return envelope

    def __reduce__(self) -> Any:
        self.unfold()  # a copy takes its own row with it, and not all of the page
        return super().__reduce__()

    @property
    def key(self) -> Any:
        """The keys of the row."""
        return self._image("Keys")

    @property
    def new(self) -> Any:
        """The row after the change; None where it was removed, or where the stream's view type leaves it out."""
        return self._image("NewImage")

    @property
    def old(self) -> Any:
        """The row before the change; None where it was inserted, or where the stream's view type leaves it out."""
        return self._image("OldImage")

    def _image(self, name: str) -> Any:
        images = self._images
        if images is None:
            images = self._images = {}
        if name not in images:
            row = self._row
            envelope = row if isinstance(row, Envelope) else self.unfold()
            images[name] = decode_image(getattr(envelope.dynamodb, name))
        return images[name]

    @property
    def event_id(self) -> str | None:
        """The service's id of the change."""
        return self.unfold().eventID

    @property
    def event_version(self) -> str | None:
        """The version of the record's format."""
        return self.unfold().eventVersion

    @property
    def user_identity(self) -> dict[str, Any] | None:
        """Who removed the row, where it was the service itself: a TTL delete."""
        return self.unfold().userIdentity

    @property
    def size_bytes(self) -> int | None:
        """The size that the service counts for the change."""
        return self.unfold().dynamodb.SizeBytes

    @property
    def raw_images(self) -> tuple[Any, Any, Any]:
        """Key, new and old image, still as the service sent them."""
        change = self.unfold().dynamodb
        return change.Keys, change.NewImage, change.OldImage

    def raw_image(self, name: str) -> Any:
        """One of them, by the service's name: Keys, NewImage or OldImage."""
        return getattr(self.unfold().dynamodb, name)

    def use_model(self, model: Converts) -> None:
        """Turns the images, where there are any, into the caller's own class; what the model raises comes through."""
        converted = {"Keys": self.key}
        for name in ("NewImage", "OldImage"):
            image = decode_image(getattr(self.unfold().dynamodb, name))
            converted[name] = None if image is None else model.from_image(image)
        self._images = converted

    def __getitem__(self, name: str) -> Any:
        """Bloop's shape: "key", "new", "old", "meta"."""
        if name == "meta":
            return {
                "created_at": self.created_at,
                "event": {
                    "id": self.event_id,
                    "type": None if self.event_name is None else self.event_name.lower(),
                    "version": self.event_version,
                },
                "sequence_number": self.sequence_number,
            }
        if name in ("key", "new", "old"):
            return getattr(self, name)
        raise KeyError(name)

    def keys(self) -> tuple[str, ...]:
        """The names that `record[...]` takes: with it, `dict(record)` works."""
        return ("key", "new", "old", "meta")

    def __repr__(self) -> str:
        # Neither images nor keys: a repr ends up in logs.
        return f"<{self.event_name} {self.sequence_number} of {self.shard_id}>"


def order_key(order_us: int, rank: Rank, place: Place) -> str:
    """An order key: fixed-width time, rank, place, set apart by blanks, which sort below all that stands in them."""
    return f"{order_us:020d} {rank.text} {sortable(place.number)} {sortable(place.since)}"
