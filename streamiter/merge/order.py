"""Order: the order times and places of a shard's records, each from the record before it (laws 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import le, lt
from typing import cast

from streamiter.position import Place
from streamiter.record import Record
from streamiter.shard import Rank


def order_times(records: Sequence[Record], floor_us: int | None) -> list[int]:
    """Order times: never below the one before, nor below the floor; without a creation time, that of the one before."""
    time_us = 0 if floor_us is None else floor_us
    created = [record.created_us for record in records]
    if None not in created and all(map(le, [time_us, *(known := cast("list[int]", created))], known)):
        return known  # as it nearly always is
    times = []
    for created_us in created:
        if created_us is not None and created_us > time_us:
            time_us = created_us
        times.append(time_us)
    return times


def places_after(before: Place | None, numbers: list[str]) -> list[Place | None]:
    """The places of records with these sequence numbers, after the place of the one before; None: just the number."""
    # Digits of one length compare as the numbers do; leading zeros do no harm.
    is_rising = len(set(map(len, numbers))) == 1 and all(map(lt, numbers, numbers[1:]))
    if is_rising and (before is None or int(numbers[0]) > before.number):
        return [None] * len(numbers)  # as it nearly always is
    places: list[Place | None] = []
    for number in numbers:
        before = Place.of(number) if before is None else before.next(number)
        places.append(before)
    return places


def stamp(records: Sequence[Record], rank: Rank, times: list[int], places: list[Place | None]) -> None:
    """Writes on each record what its order follows from (law 4)."""
    for record, time_us in zip(records, times, strict=True):
        record.order_us = time_us
        record.rank = rank
    if places[0] is not None:
        for record, place in zip(records, places, strict=True):
            record.set_place(place)
