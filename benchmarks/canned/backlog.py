"""The backlog: change records as GetRecords sends them, encoded once, each of exactly the same number of bytes."""

from __future__ import annotations

import functools
import random
from array import array
from collections.abc import Sequence
from datetime import UTC, datetime

BASE = int(datetime(2026, 1, 15, 12, tzinfo=UTC).timestamp())  # when the first record was created
FIRST_NUMBER = 10**23  # sequence numbers have 24 digits
PER_SECOND = 100  # records created in a second, over all shards
NOTE_BYTES = 80  # of the attributes that fill a large record: rows have several, not one long one

# Of 20 changes: a table whose rows come, change a few times, and go.
EVENTS = ("INSERT",) * 4 + ("MODIFY",) * 13 + ("REMOVE",) * 3


class Backlog:
    """`count` records in the order of their creation, in one piece of memory."""

    def __init__(self, count: int, record_bytes: int = 575) -> None:
        self.record_bytes = record_bytes
        self._count = count
        self._encoded = bytearray(b"".join([_record(place, record_bytes) for place in range(count)]))

    def __len__(self) -> int:
        return self._count

    def page(self, places: Sequence[int]) -> bytes:
        """The records at these places, as they stand between the brackets of an answer."""
        size, encoded = self.record_bytes, memoryview(self._encoded)
        if isinstance(places, range) and places:
            return bytes(encoded[places[0] * size : (places[-1] + 1) * size - 1])
        return b"".join([encoded[place * size : (place + 1) * size] for place in places])[:-1]


def created_at(place: int) -> int:
    """When the record at this place was created, in seconds since 1970: the service floors it."""
    return BASE + place // PER_SECOND


def deal(count: int, lanes: int) -> list[Sequence[int]]:
    """The places of a backlog, dealt out to lanes: as many to each, in shuffled rounds, each lane's in ascending order."""
    if lanes == 1:
        return [range(count)]
    shuffle = random.Random(lanes).shuffle
    hands = [array("I") for _ in range(lanes)]
    order = list(range(lanes))
    for start in range(0, count, lanes):
        shuffle(order)
        for lane, place in zip(order, range(start, min(start + lanes, count)), strict=False):
            hands[lane].append(place)
    return list(hands)


def _record(place: int, size: int) -> bytes:
    """A record, and the comma after it. Widths are fixed, but for the time's: it alone changes what is to be filled up."""
    event = EVENTS[place * 7 % len(EVENTS)]
    created = _seconds(created_at(place))
    return _encode(place, event, created, _filling(event, len(created), size))


def _encode(place: int, event: str, created: str, filling: str) -> bytes:
    row = f'"id":{{"S":"user-{place % 100_000:08d}"}}'
    images = ""
    if event != "REMOVE":
        images = f'"NewImage":{{{row},{_counts(place + 1)}{filling}}},'
    if event != "INSERT":
        images += f'"OldImage":{{{row},{_counts(place)}{filling if event == "REMOVE" else ""}}},'
    event_id = place * 0x9E3779B97F4A7C15F39CC0605CEDC835 & (1 << 128) - 1
    return (
        f'{{"awsRegion":"us-east-1","dynamodb":{{"ApproximateCreationDateTime":{created},"Keys":{{{row}}},'
        f'{images}"SequenceNumber":"{FIRST_NUMBER + place * 137}","SizeBytes":{180 + place % 50},'
        f'"StreamViewType":"NEW_AND_OLD_IMAGES"}},"eventID":"{event_id:032x}",'
        f'"eventName":"{event}","eventSource":"aws:dynamodb","eventVersion":"1.1"}},'
    ).encode()


def _counts(place: int) -> str:
    return f'"visits":{{"N":"{100 + place % 900}"}},"paid":{{"N":"{10 + place % 90}.{place % 100:02d}"}}'


@functools.cache
def _filling(event: str, width_of_created: int, size: int) -> str:
    """Attributes that bring a record to its size."""
    left = size - len(_encode(0, event, "1" * width_of_created, ""))
    notes: list[str] = []
    while left >= 2 * NOTE_BYTES:
        notes.append(_attribute(f"note{len(notes):03d}", "lorem ipsum ", NOTE_BYTES))
        left -= NOTE_BYTES
    return "".join(notes) + _attribute("name", "Ada Lovelace, ", left)


def _attribute(name: str, words: str, size: int) -> str:
    """A string attribute that takes exactly this many bytes."""
    frame = f',"{name}":{{"S":""}}'
    if size < len(frame):
        raise ValueError(f"a record cannot be that small: {len(frame) - size} bytes are missing")
    text = (words * (size // len(words) + 1))[: size - len(frame)]
    return f',"{name}":{{"S":"{text}"}}'


@functools.lru_cache(maxsize=2)
def _seconds(seconds: int) -> str:
    """A moment as the service writes it: 1.7684784E9."""
    digits = str(seconds)
    return f"{digits[0]}.{digits[1:].rstrip('0') or '0'}E{len(digits) - 1}"


def place_of(number: str) -> int:
    """Which record of the backlog has this sequence number."""
    return (int(number) - FIRST_NUMBER) // 137
