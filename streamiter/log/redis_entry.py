"""Entries in Redis: how they stand in a stream, and the numbers that tell their places; pure.

An entry's number is its id, which the server gave it, and its index: how many entries were ever added up to it. Where the
entry itself is gone, the index tells whether those behind it are still there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from streamiter.clock import LAST_US
from streamiter.log.base import Entry
from streamiter.log.record import LogRecord

PAYLOAD, TOMBSTONE, KEY, HEADER = b"payload", b"tombstone", b"key", b"h:"

# A number in digits: milliseconds, 20 of the sequence within them, 11 of the index, and a 0: so the number before an entry's
# own still tells which entry follows.
_INDEXES = 10**11
_SEQUENCES = 10**20
_LAST_SEQUENCE = 2**64 - 1
_LAST_MS = LAST_US // 1000 - 1


class Spot(NamedTuple):
    """A place in a stream: behind this id, or right before it; and how many entries were ever added up to here."""

    ms: int
    sequence: int
    nth: int
    is_before: bool = False

    @classmethod
    def of(cls, number: int) -> Spot:
        """The place behind the entry with this number, or behind another number."""
        rest, last = divmod(max(0, number), 10)
        stamp, index = divmod(rest, _INDEXES)
        return cls(*divmod(stamp, _SEQUENCES), index, is_before=last == 9)

    @property
    def number(self) -> int:
        """The place as a number."""
        return ((self.ms * _SEQUENCES + self.sequence) * _INDEXES + self.nth) * 10 + 9 * self.is_before

    @property
    def id(self) -> str:
        """The id as Redis writes it."""
        return f"{self.ms}-{self.sequence}"

    @property
    def key(self) -> tuple[int, int]:
        """The id, as it sorts."""
        return self.ms, self.sequence


def spot_before(ms: int, sequence: int, index: int) -> Spot:
    """Behind all ids that are lower than this one."""
    if sequence:
        return Spot(ms, sequence - 1, index)
    return Spot(ms - 1, _LAST_SEQUENCE, index) if ms else Spot(0, 0, index)


def parse_id(written: bytes) -> tuple[int, int]:
    """An id as it sorts."""
    ms, _, sequence = written.partition(b"-")
    return int(ms), int(sequence)


def number_of(written: bytes, index: int) -> int:
    """The number of an entry."""
    return Spot(*parse_id(written), index).number


def floor_ms(now: Sequence[bytes]) -> int:
    """The server's time, floored as it is in ids: an entry that is added in the same millisecond is not stamped before it."""
    return int(now[0]) * 1_000_000 + int(now[1]) // 1000 * 1000


def fields_of(entry: Entry) -> list[bytes]:
    """The entry's fields and values, as they are added."""
    fields = [TOMBSTONE, b""] if entry.payload is None else [PAYLOAD, entry.payload]
    if entry.key is not None:
        fields += (KEY, entry.key)
    for name, value in entry.headers:
        fields += (HEADER + name.encode(), value)
    return fields


def records_of(shard_id: str, entries: Sequence[tuple[bytes, list[bytes]]], index: int) -> list[LogRecord]:
    """The records of entries that follow each other, the first of which has this index."""
    found: list[LogRecord] = []
    payload: bytes | None
    key: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    for at, (written, fields) in enumerate(entries, index):
        ms_text, _, sequence = written.decode().partition("-")
        ms = int(ms_text)
        # Put together, for a format takes half as long again.
        digits = ms_text + sequence.zfill(20) + str(at).zfill(11) + "0"
        number = digits if ms else str(Spot(0, int(sequence), at).number)
        created_us = ms * 1000 if ms <= _LAST_MS else None
        key, headers, many = None, (), len(fields)
        if fields[0] == PAYLOAD and many == 4 and fields[2] == KEY:
            _, payload, _, key = fields
        elif fields[0] == PAYLOAD and many == 2:
            payload = fields[1]
        else:
            payload, key, headers = _told_by(fields)
        # By place: names would cost as much as all else of it.
        found.append(
            LogRecord(shard_id, number, created_us, None, 0, None, 0, False, payload, None, False, key, headers)
        )
    return found


def _told_by(fields: list[bytes]) -> tuple[bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]:
    """What an entry says, whoever added it. One that begins with an empty field `tombstone` has no payload; any other one
    without a field `payload` has all fields as its payload, as a JSON object."""
    pairs = list(zip(fields[::2], fields[1::2], strict=True))
    values = dict(pairs)
    key = values.get(KEY)
    is_tombstone = pairs[0] == (TOMBSTONE, b"")
    if PAYLOAD in values or is_tombstone:
        ours = [(name, values[name]) for name in (TOMBSTONE if is_tombstone else PAYLOAD, KEY) if name in values]
        # A field may stand there twice: the last counts, and the others are headers, so that nothing is lost.
        others = [(name.removeprefix(HEADER), value) for name, value in pairs if (name, value) not in ours]
        return None if is_tombstone else values[PAYLOAD], key, tuple((_text(name), value) for name, value in others)
    told = json.dumps({_text(name): _text(value) for name, value in pairs}, ensure_ascii=False)
    return told.encode(), key, tuple((_text(name), value) for name, value in pairs)


def _text(told: bytes) -> str:
    return told.decode(errors="backslashreplace")
