"""Records: one change each, as the service told it, with the order that the merge found for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, overload

import arrow
import msgspec

from streamiter.clock import FIRST_SECOND, LAST_SECOND
from streamiter.envelope import NO_ENVELOPE, Envelope, Rows
from streamiter.errors import UnreadableRecord
from streamiter.images import decode_image
from streamiter.position import Place
from streamiter.shard import Rank, sortable

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # checkers know it; nothing is imported

    Row = TypeVar("Row", default=dict[str, Any])
else:
    from typing import TypeVar

    Row = TypeVar("Row")


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
    """The shard that it came from."""
    sequence_number: str
    """Its number, as the service writes it; numbers compare within a shard only."""
    created_us: int | None  # microseconds since 1970
    _place: Place | None = None
    order_us: int = 0  # its order time (law 3)
    rank: Rank | None = None  # its shard's; None until its lane has it
    clock: int = 0
    """How many records the stream had returned with this one, over all resumes."""
    late: bool = False
    """Whether one that sorts behind it had been returned before."""

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

    @property
    def numbered(self) -> tuple[str, int]:
        """The same as text and count, as checkpoints name it."""
        place = self._place
        return (self.sequence_number, 0) if place is None else (place.text, place.since)

    def set_place(self, place: Place | None) -> None:
        """For the lane: where the place is not just the sequence number."""
        self._place = place

    @property
    def created_at(self) -> arrow.Arrow | None:
        """When the service says that it was written. None where it does not say: DynamoDB and Kinesis do so as a rule, but
        DynamoDB promises it nowhere. DynamoDB floors it to the second."""
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

    def forget_model(self) -> None:
        """Carries again what it carried before `use_model`."""

    def to_dict(self) -> dict[str, Any]:
        """All of it, as a plain dict; `created_at` is a datetime, and what a model made stays as it is."""
        told = {name: self._value(name) for name in self._told}
        return {name: value.datetime if isinstance(value, arrow.Arrow) else value for name, value in told.items()}

    def to_json(self) -> str:
        """All of it, as JSON text: numbers with all their digits, bytes in base64, sets as sorted arrays, times in ISO 8601."""
        return _encode_json(self.to_dict()).decode()

    @property
    def _told(self) -> tuple[str, ...]:
        """The names of what it holds, for `to_dict`."""
        own = (name for name in self.__struct_fields__ if name not in _FIELDS and not name.startswith("_"))
        return (*own, "created_at", "shard_id", "sequence_number", "order_key", "clock", "late")

    def _value(self, name: str) -> Any:
        return None if name == "order_key" and self.rank is None else getattr(self, name)  # it has not come out yet

    @property
    def _content(self) -> tuple[Any, ...]:
        """What the service told of it: records are equal that have this in common, wherever they were read."""
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name not in _STAMPS)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return type(self) is type(other) and self._content == other._content

    def __hash__(self) -> int:
        return hash((self.shard_id, self.sequence_number))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in INSIDE]

    def __str__(self) -> str:
        return f"{self._what} at {_moment(self.created_us)}"

    @property
    def _what(self) -> str:
        """What it is, for a person who prints it."""
        return f"{type(self).__name__} {self.sequence_number} of {self.shard_id}"

    def __repr__(self) -> str:
        # Neither images nor keys: a repr ends up in logs.
        return f"<{type(self).__name__} {self.sequence_number} of {self.shard_id}>"


# What sources, lanes and tables use of a record: not what dir() and the reference show.
INSIDE = {
    *(
        "set_place",
        "use_model",
        "forget_model",
        "decode",
        "all_of",
        "raw_image",
        "raw_payload",
        "arrived_us",
        "headers_text",
    ),
    *("created_us", "order_us", "rank", "place", "numbered", "number", "columns"),
}
_FIELDS = set(Record.__struct_fields__)
_STAMPS = {"_place", "order_us", "rank", "clock", "late", "_row", "_index", "_images", "_made", "_is_made"}


def _moment(us: int | None) -> str:
    return "an unknown time" if us is None else f"{arrow.get(us / 1e6):YYYY-MM-DD HH:mm:ss} UTC"


def named_values(values: Mapping[str, Any]) -> str:
    """Values under their names, as a person reads them; control characters stand as escapes."""
    shown = (str(value) if isinstance(value, Decimal) else repr(value) for value in values.values())
    names = (name if name.isidentifier() else repr(name) for name in values)
    return ", ".join(f"{name}={value}" for name, value in zip(names, shown, strict=True))


def _plain(value: Any) -> Any:
    """What JSON has no form for, and msgspec none of its own: a pydantic model, say."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump()
    members = getattr(value, "__dict__", None)
    if members is not None:
        return members
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


_encode_json = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number", order="deterministic").encode


class SpoiledRecord(Record):
    """A record that cannot be decoded. It keeps its place in its shard, and is never returned: PoisonRecord tells of it."""

    # Its sequence number is empty where it has none that a token can hold.
    reason: str = ""


_INDEXES = tuple(range(1000))  # of a page's rows: numbers that all pages share


class _Microseconds(dict[float | None, int | None]):
    """The service's seconds as microseconds, each worked out once: all shards' records were created in the same ones."""

    def __missing__(self, seconds: float | None) -> int | None:
        if len(self) >= _MOST_MOMENTS:
            self.clear()
        us = self[seconds] = moment_us(seconds)
        return us


def moment_us(seconds: float | None) -> int | None:
    """A moment that the service tells, in microseconds; None where it tells none that a calendar has.

    Milliseconds that pass for seconds are years far beyond 9999. No token could hold them, and nothing could be merged by them.
    """
    if seconds is None or not FIRST_SECOND <= seconds < LAST_SECOND:
        return None
    return int(seconds * 1e6 + 0.5)


_MOST_MOMENTS = 20_000  # 3 MB; a day has 86,400 seconds
_us_of = _Microseconds()


class ChangeRecord(Record, Generic[Row]):
    """A change of a row, in the shape that Bloop's users know: `record["new"]`, `record["meta"]["created_at"]`.

    Images stay as the service sent them until somebody reads them. Numbers come as Decimal, binary as bytes, sets as set.
    A record that is kept for long keeps the whole answer that it came in, up to 1 MB; its `copy.deepcopy`, or `new`, does not.
    """

    event_name: str | None = None
    """INSERT, MODIFY or REMOVE."""
    # What few ask for is decoded when they do. A record that waits has little in memory then: less to make, to hold, to free.
    _row: Rows = NO_ENVELOPE
    _index: int = 0
    _images: dict[str, Any] | None = None  # what was read of them

    @classmethod
    def all_of(cls, shard_id: str, envelopes: Sequence[Envelope], rows: Rows | None = None) -> list[ChangeRecord[Row]]:
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

    def decode(self) -> Envelope:
        """The service's record, decoded: only now, and once."""
        envelope = self._row = self._row.at(self._index)
        return envelope

    def __reduce__(self) -> Any:
        self.decode()  # a copy takes its own row with it, and not all of the page
        return super().__reduce__()

    @property
    def key(self) -> dict[str, Any]:
        """The keys of the row: plain values, whatever the model."""
        key: dict[str, Any] = self._image("Keys")
        return key

    @property
    def new(self) -> Row | None:
        """The row after the change; None where it was removed, or where the stream's view type leaves it out."""
        new: Row | None = self._image("NewImage")
        return new

    @property
    def old(self) -> Row | None:
        """The row before the change; None where it was inserted, or where the stream's view type leaves it out."""
        old: Row | None = self._image("OldImage")
        return old

    def _image(self, name: str) -> Any:
        images = self._images
        if images is None:
            images = self._images = {}
        if name not in images:
            row = self._row
            envelope = row if isinstance(row, Envelope) else self.decode()
            try:
                images[name] = decode_image(getattr(envelope.dynamodb, name))
            except UnreadableRecord as error:
                where = f"{name} of record {self.sequence_number} of shard {self.shard_id}"
                raise UnreadableRecord(error.what, where) from None
        return images[name]

    @property
    def event_id(self) -> str | None:
        """The service's id of the change."""
        return self.decode().eventID

    @property
    def event_version(self) -> str | None:
        """The version of the record's format."""
        return self.decode().eventVersion

    @property
    def user_identity(self) -> dict[str, Any] | None:
        """Who removed the row, where it was the service itself: a TTL delete."""
        return self.decode().userIdentity

    @property
    def size_bytes(self) -> int | None:
        """The size that the service counts for the change."""
        return self.decode().dynamodb.SizeBytes

    def raw_image(self, name: str) -> Any:
        """The key or an image, still as the service sent it; by the service's name: Keys, NewImage or OldImage."""
        return getattr(self.decode().dynamodb, name)

    def use_model(self, model: Converts) -> None:
        """Turns the images, where there are any, into the caller's own class; what the model raises comes through."""
        converted: dict[str, Any] = {"Keys": self.key}
        for name in ("NewImage", "OldImage"):
            image = decode_image(getattr(self.decode().dynamodb, name))
            converted[name] = None if image is None else model.from_image(image)
        self._images = converted

    def forget_model(self) -> None:
        """Reads the images anew."""
        self._images = None

    @overload
    def __getitem__(self, name: Literal["key", "meta"]) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, name: Literal["new", "old"]) -> Row | None: ...
    @overload
    def __getitem__(self, name: str) -> Any: ...

    def __getitem__(self, name: str) -> Any:
        """Bloop's shape: "key", "new", "old", and all else in "meta"."""
        if name == "meta":
            shown = {"key", "new", "old", "event_id", "event_name", "event_version"}
            return {
                "created_at": self.created_at,
                "event": {
                    "id": self.event_id,
                    "type": None if self.event_name is None else self.event_name.lower(),
                    "version": self.event_version,
                },
                **{name: self._value(name) for name in self._told if name not in shown},
            }
        if name in ("key", "new", "old"):
            return getattr(self, name)
        raise KeyError(name)

    @property
    def _told(self) -> tuple[str, ...]:
        event = ("event_id", "event_version", "user_identity", "size_bytes")
        return ("event_name", "key", "new", "old", *event, *(name for name in super()._told if name != "event_name"))

    @property
    def _content(self) -> tuple[Any, ...]:
        return (*super()._content, self.decode().content)

    @property
    def _what(self) -> str:
        return f"{self.event_name} {named_values(self.key or {})}"

    def keys(self) -> tuple[str, ...]:
        """The names that `record[...]` takes: with it, `dict(record)` works."""
        return ("key", "new", "old", "meta")

    def __repr__(self) -> str:
        # Neither images nor keys: a repr ends up in logs.
        return f"<{self.event_name} {self.sequence_number} of {self.shard_id}>"


def order_key(order_us: int, rank: Rank, place: Place) -> str:
    """An order key: fixed-width time, rank, place, set apart by blanks, which sort below all that stands in them."""
    return f"{order_us:020d} {rank.text} {sortable(place.number)} {sortable(place.since)}"
