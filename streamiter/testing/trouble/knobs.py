"""Knobs: how the service behaves on the whole, all day long; single bad moments are faults and spells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

import msgspec

from streamiter.clock import microseconds
from streamiter.lineage import notation
from streamiter.testing.names import unknown
from streamiter.testing.trouble.injected import check_operation
from streamiter.testing.trouble.ranges import RANGES, within
from streamiter.testing.trouble.weather import Weather


class UnknownKnob(AttributeError, ValueError):
    """There is no such knob; says which there are."""

    def __init__(self, name: str) -> None:
        super().__init__(unknown("knob", name, KNOBS), name=name)


@dataclass
class Knobs:
    """The settings of a simulated service; each may be turned at any time, alone or several together: `knobs(page_size=10)`.

    A name that there is not is an UnknownKnob, so that none is turned for nothing; a number out of its range
    (`ranges.RANGES`) is a ValueError.
    """

    # Records and iterators
    retention: float = 24 * 3600.0  # seconds that a record is held, and a closed shard listed
    iterator_lifetime: float = 15 * 60.0  # seconds after which an iterator expires
    page_size: int = 1000  # records a page, at most, whatever Limit says
    page_bytes: int = 1024 * 1024  # bytes of records a page, at most
    last_page: Literal["records", "empty"] = "records"  # what comes with no next iterator, at the end of a closed shard
    trimmed_at: Literal["GetShardIterator", "GetRecords"] = "GetShardIterator"  # which call refuses a trimmed number
    knows_at_timestamp: bool = True  # older services do not
    refuses_future: bool = True  # AT_TIMESTAMP with a time that has not come yet

    # Listings
    shards_per_page: int = 100
    listing_order: Literal["created", "id", "newest_first"] = "created"
    knows_child_filter: bool = True  # some emulators ignore ShardFilter
    ends_with_empty_page: bool = False  # the last page of a listing has no shards

    # Streams of real tables, which shard by themselves; those laid out by a test stay as it laid them
    starting_shape: str = "S0"  # their shards at first, in the notation of lineages
    roll_after: float | None = (
        4 * 3600.0
    )  # seconds after which an open shard closes and one child follows; None, 0: never
    split_rate: float | None = None  # records a second beyond which a shard splits; None, 0: never
    ttl_delay: float = 0.0  # seconds between the end of an item's time to live and its deletion
    enabling: float = 0.0  # seconds that a stream is ENABLING; one of Kinesis is CREATING, or UPDATING
    disabling: float = 0.0  # seconds that a stream is DISABLING

    # Creation times
    shard_skews: dict[str, float] = field(default_factory=dict)  # seconds that a shard's clock is ahead, by its name

    weather: Weather | None = None  # bad days at random; `sim.misbehave` makes one

    # Rates: calls a second by the service's clock; None: as many as you like
    describe_rate: float | None = None  # DescribeStream, a stream; the real one: 10
    records_rate: float | None = None  # GetRecords, a shard; the real one: 5

    bytes_rate: float | None = None  # bytes of a Kinesis shard that GetRecords gives; the real one: 2 MB

    # Kinesis
    kinesis_iterator_lifetime: float = 5 * 60.0
    stale_number: Literal["horizon", "refused", "empty"] = (
        "horizon"  # what becomes of a number that is not held any more
    )
    put_rate: float | None = None  # records a second that go into a shard of Kinesis; the real one: 1000
    put_bytes_rate: float | None = None  # bytes a second that go into it; the real one: 1 MiB
    shard_limit: int = 20_000  # open shards of all streams in PROVISIONED mode
    tells_children: bool = True  # whether the last page of a shard has ChildShards; some emulators leave them out

    # Answers
    skew: float = 0.0  # seconds that the Date header is ahead of the service's clock
    date: bool = True  # whether there is a Date header at all
    crc: Literal["right", "wrong", "absent"] = "right"
    latency: float | dict[str, float] = 0.0  # real seconds a call; by operation, "*" for all others

    def __new__(cls, **settings: Any) -> Self:
        check_names(settings)
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        check_names([name])
        choices = _CHOICES.get(name, (value,))
        if value not in choices:
            raise ValueError(f"the knob {name} takes {' or '.join(map(repr, choices))}, not {value!r:.60}")
        if name in RANGES:
            value = within(name, _read(name, value))
        if name == "starting_shape" and not notation.parse(value):
            raise ValueError("a stream begins with one shard at least")
        if name == "latency" and isinstance(value, dict):
            for operation in value.keys() - {"*"}:
                check_operation(operation)
        super().__setattr__(name, value)

    def __call__(self, **settings: Any) -> None:
        """Turns several: `sim.knobs(page_size=10, roll_after=None)`; all of them, or none where one cannot be turned."""
        check_names(settings)
        before = {name: getattr(self, name) for name in settings}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
        except ValueError:
            for name, value in before.items():
                setattr(self, name, value)
            raise

    def turn(self, settings: Mapping[str, Any]) -> None:
        """The same for what came as JSON: a value of a wrong type is a ValueError, too."""
        check_names(settings)
        self(**{name: _read(name, value) for name, value in settings.items()})

    def told(self) -> dict[str, Any]:
        """How they stand, for JSON; without the weather."""
        return {name: getattr(self, name) for name in KNOBS if name != "weather"}

    def created_shift_us(self, shard: str, place: int) -> int:
        """By how much the creation time of a shard's next record is off."""
        shift_us = microseconds(self.shard_skews.get(shard, 0.0))
        return shift_us + (self.weather.created_shift_us(shard, place) if self.weather else 0)


def check_names(names: Iterable[str]) -> None:
    """UnknownKnob for the first that there is not."""
    for name in names:
        if name not in KNOBS:
            raise UnknownKnob(name)


def _read(name: str, value: Any) -> Any:
    if name == "weather":
        raise ValueError("the weather is made by Misbehave, or --misbehave")
    if name in _CHOICES:
        return value  # looked at where it is turned
    try:
        return msgspec.convert(value, _KINDS[name])
    except msgspec.ValidationError:
        raise ValueError(f"the knob {name} takes {_kind_of(_KINDS[name])}, not {value!r:.60}") from None


def _kind_of(kind: Any) -> str:
    """A type in words: `a number or null`."""
    parts = get_args(kind) if get_origin(kind) is not dict else ()
    return " or ".join(_WORDS.get(part, "numbers by name") for part in parts or (kind,))


_WORDS: dict[Any, str] = {
    float: "a number", int: "a whole number", bool: "true or false", str: "text", type(None): "null"
}  # fmt: skip
_KINDS = get_type_hints(Knobs)
KNOBS = tuple(knob.name for knob in fields(Knobs))
_CHOICES = {name: get_args(kind) for name, kind in _KINDS.items() if get_origin(kind) is Literal}
