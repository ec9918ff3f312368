"""Order: the order times and places of a shard's records, each from the record before it (laws 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import le, lt
from typing import NamedTuple, cast

from streamiter.clock import LAST_US
from streamiter.position import MOST_DIGITS, UNNUMBERED, Place, is_number
from streamiter.record import Record, SpoiledRecord
from streamiter.shard import Rank


class Told(NamedTuple):
    """What the order of a page's records follows from: their numbers and creation times."""

    records: Sequence[Record]
    created: list[int | None]
    numbers: list[str]
    has_all_times: bool
    is_of_one_length: bool  # of the numbers: then they compare as text, too
    spoiled: int = 0  # how many of them cannot be decoded

    def from_index(self, index: int) -> Told:
        """The same without the first ones."""
        records = self.records[index:]
        spoiled = sum(isinstance(record, SpoiledRecord) for record in records) if self.spoiled else 0
        created, numbers = self.created[index:], self.numbers[index:]
        return Told(records, created, numbers, self.has_all_times, self.is_of_one_length, spoiled)


def told_by(records: Sequence[Record]) -> Told:
    """The numbers and times of these records. A record whose number no token could hold counts as spoiled from here on."""
    created = [record.created_us for record in records]
    numbers = [record.sequence_number for record in records]
    has_all_times = None not in created
    # A spoiled record has no time: where all have one, none is.
    lengths = _lengths(numbers)
    if lengths and (has_all_times or SpoiledRecord not in set(map(type, records))):
        return Told(records, created, numbers, has_all_times, len(lengths) == 1)
    records = [record if _is_sound(record) else _spoiled(record) for record in records]
    return Told(
        records,
        [record.created_us for record in records],
        [record.sequence_number for record in records],
        False,
        False,
        sum(isinstance(record, SpoiledRecord) for record in records),
    )


def _lengths(numbers: list[str]) -> set[int] | None:
    """How many digits these sequence numbers have; None where a token cannot hold one of them."""
    try:
        # All at once: 10 us for a thousand numbers; to look at each one takes 200 us.
        are_digits = "".join(numbers).encode("ascii").isdigit()
    except (TypeError, UnicodeEncodeError):
        return None
    lengths = set(map(len, numbers))
    return lengths if are_digits and 0 not in lengths and max(lengths) <= MOST_DIGITS else None


def _is_sound(record: Record) -> bool:
    number = record.sequence_number
    return isinstance(number, str) and (is_number(number) or (isinstance(record, SpoiledRecord) and not number))


def _spoiled(record: Record) -> SpoiledRecord:
    reason = f"its sequence number is not written in digits alone, {MOST_DIGITS} of them at most"
    return SpoiledRecord(record.shard_id, "", None, reason=reason)


def order_times(told: Told, floor_us: int | None) -> list[int]:
    """Order times: never below the one before, nor below the floor; without a creation time, that of the one before.

    A creation time that no token could hold counts as none.
    """
    times = _order_times(told.created, floor_us, told.has_all_times)
    if times[-1] < LAST_US:
        return times
    return _order_times([us if us is None or us < LAST_US else None for us in told.created], floor_us, False)


def _order_times(all_created: list[int | None], floor_us: int | None, has_all_times: bool) -> list[int]:
    time_us = 0 if floor_us is None else floor_us
    if has_all_times and all(map(le, [time_us, *(known := cast("list[int]", all_created))], known)):
        return known  # as it nearly always is
    times = []
    for created_us in all_created:
        if created_us is not None and created_us > time_us:
            time_us = created_us
        times.append(time_us)
    return times


def places_after(before: Place | None, told: Told) -> list[Place | None]:
    """The places of these records, after the place of the record before; None stands for the number alone."""
    numbers = told.numbers
    if not told.spoiled and _are_rising(told) and (before is None or int(numbers[0]) > before.number):
        return [None] * len(numbers)  # as it nearly always is
    places: list[Place | None] = []
    for number in numbers:
        if before is None:
            before = Place.of(number) if number else UNNUMBERED
        else:
            before = before.next(number)
        places.append(before)
    return places


def _are_rising(told: Told) -> bool:
    """Whether each number is greater than the one before it. Digits of one length compare as the numbers do."""
    numbers: list[str] | list[int] = told.numbers if told.is_of_one_length else list(map(int, told.numbers))
    return all(map(lt, numbers, numbers[1:]))


def stamp(records: Sequence[Record], rank: Rank, times: list[int], places: list[Place | None]) -> None:
    """Writes rank, order time and place on each record (law 4)."""
    for record, time_us in zip(records, times, strict=True):
        record.order_us = time_us
        record.rank = rank
    if places[0] is not None:
        for record, place in zip(records, places, strict=True):
            record.set_place(place)
