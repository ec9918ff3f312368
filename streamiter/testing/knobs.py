"""Knobs: how the service behaves on the whole, all day long; single bad moments are faults and spells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from streamiter.clock import microseconds
from streamiter.lineage import notation
from streamiter.testing.weather import Weather


@dataclass
class Knobs:
    """The settings of a simulated service; each may be turned at any time."""

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
    roll_after: float | None = 4 * 3600.0  # seconds after which an open shard closes and one child follows; None: never
    split_rate: float | None = None  # records a second beyond which a shard splits; None: never
    ttl_delay: float = 0.0  # seconds between the end of an item's time to live and its deletion
    enabling: float = 0.0  # seconds that a stream is ENABLING
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
    tells_children: bool = True  # whether the last page of a shard has ChildShards; some emulators leave them out

    # Answers
    skew: float = 0.0  # seconds that the Date header is ahead of the service's clock
    date: bool = True  # whether there is a Date header at all
    crc: Literal["right", "wrong", "absent"] = "right"
    latency: float | dict[str, float] = 0.0  # real seconds a call; by operation, "*" for all others

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "starting_shape" and not notation.parse(value):
            raise ValueError("a stream begins with one shard at least")
        super().__setattr__(name, value)

    def created_shift_us(self, shard: str, place: int) -> int:
        """By how much the creation time of a shard's next record is off."""
        shift_us = microseconds(self.shard_skews.get(shard, 0.0))
        return shift_us + (self.weather.created_shift_us(shard, place) if self.weather else 0)
