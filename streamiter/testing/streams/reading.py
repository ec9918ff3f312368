"""Reading: where an iterator starts in a shard, and the page that it gets; the same for every API over shards."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from streamiter.testing.http.refusal import trimmed
from streamiter.testing.streams.iterators import ShardIterator
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.truth.shards import SimulatedShard


@dataclass(frozen=True)
class RecordsPage:
    """A page of GetRecords."""

    records: list[bytes]  # as JSON
    next_iterator: str | None


def starting_place(shard: SimulatedShard, type: str, number: int, time_us: int) -> int | None:
    """Where an iterator of this type starts; None: at what is trimmed."""
    if type == "TRIM_HORIZON":
        # Resolved now, not when it is read: what is trimmed in between is refused, as the service documents.
        return shard.trimmed
    if type == "LATEST":
        return shard.end
    if type == "AT_TIMESTAMP":
        return shard.place_at_time(time_us)
    return shard.place_at(number) if type == "AT_SEQUENCE_NUMBER" else shard.place_after(number)


def is_expired(iterator: ShardIterator, knobs: Knobs, now_us: int) -> bool:
    """Whether it was handed out too long ago."""
    return now_us - iterator.issued_us >= knobs.iterator_lifetime * 1e6


def read_page(shard: SimulatedShard, iterator: ShardIterator, limit: int, knobs: Knobs, now_us: int) -> RecordsPage:
    """The page at an iterator; a refusal when what it points at is trimmed."""
    if iterator.is_trimmed or iterator.place < shard.trimmed:
        raise trimmed()
    place, empties = iterator.place, iterator.empties
    records: list[bytes] = []
    if empties < _empties_before(shard, place, knobs):
        empties += 1
    else:
        limit = min(limit, knobs.page_size)
        cut = knobs.weather.next_cut(shard.name, place, limit) if knobs.weather else None
        records = shard.take_bodies(place, limit if cut is None else cut - place, knobs.page_bytes)
        if records:
            place, empties = place + len(records), 0
    is_read_out = shard.is_closed and place == shard.end and empties >= _empties_before(shard, place, knobs)
    if is_read_out and not (records and (shard.last_page or knobs.last_page) == "empty"):
        shard.was_read_out = True
        return RecordsPage(records, None)
    following = msgspec.structs.replace(iterator, place=place, empties=empties, issued_us=now_us)
    return RecordsPage(records, following.encode())


def _empties_before(shard: SimulatedShard, place: int, knobs: Knobs) -> int:
    return shard.pages.empties_before(place) or (
        knobs.weather.empties_before(shard.name, place) if knobs.weather else 0
    )
