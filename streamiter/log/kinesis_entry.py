"""Entries in Kinesis: how they are written into its records, and the numbers of their places, without any I/O.

Several entries of one append travel packed into one record, as the Kinesis Producer Library packs them, so that Kinesis takes
all of them or none, and in their order. What Kinesis has no place for (headers, a key of any bytes, no key at all) stands in an
envelope of ours in the payload; entries without such things are readable for every client as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import md5
from typing import NamedTuple

import msgspec

from streamiter.errors import InvalidOption
from streamiter.log.base import Entry
from streamiter.log.record import LogRecord
from streamiter.source.kinesis_aggregate import MAGIC
from streamiter.source.kinesis_record import KinesisRecord

ENVELOPE = b"\xf5sie"  # followed by MessagePack: key, headers, payload
NO_KEY = "(none)"  # Kinesis requires a partition key
MOST_KEY = 256  # how many characters a partition key may have
MOST_BYTES = 1 << 20  # how many bytes a record may have, its partition key included
MOST_TOGETHER = 1000
SUBS = (
    10**6
)  # an entry's number is its record's, times this, and its place in the record; the last such place is before the next

_PACKED_BYTES = 24  # what a packed entry takes beside its payload, at most
_HEAD_BYTES = 512  # the same of a packed record, with room for one key


class _Envelope(msgspec.Struct, array_like=True, gc=False):
    key: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    payload: bytes | None


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(_Envelope).decode


class Packed(NamedTuple):
    """A record to put, and how many entries it holds."""

    key: str
    data: bytes
    entries: int


def packed(entries: Sequence[Entry], hash_key: str) -> Iterator[Packed]:
    """The records that hold these entries. Raises InvalidOption if one is too large, before anything is put."""
    rows = [_row(entry) for entry in entries]
    for number, (key, data) in enumerate(rows):
        if len(data) + len(key.encode()) > MOST_BYTES:
            raise InvalidOption(
                f"entry {number} of an append has {len(data)} bytes: a record of Kinesis has {MOST_BYTES} at most"
            )
    return _grouped(rows, hash_key)


def _grouped(rows: Sequence[tuple[str, bytes]], hash_key: str) -> Iterator[Packed]:
    together: list[tuple[str, bytes]] = []
    size = _HEAD_BYTES
    for row in rows:
        more = len(row[0].encode()) + len(row[1]) + _PACKED_BYTES
        if together and (size + more > MOST_BYTES or len(together) == MOST_TOGETHER):
            yield _aggregated(together, hash_key)
            together, size = [], _HEAD_BYTES
        together.append(row)
        size += more
    yield _aggregated(together, hash_key)


def _row(entry: Entry) -> tuple[str, bytes]:
    key, payload = _text(entry.key), entry.payload
    has_place = not entry.headers and key != NO_KEY and (key is not None or entry.key is None)
    if payload is not None and has_place and not payload.startswith((ENVELOPE, MAGIC)):
        return key or NO_KEY, payload
    return key or NO_KEY, ENVELOPE + _pack(_Envelope(entry.key, entry.headers, payload))


def _text(key: bytes | None) -> str | None:
    """The key as a partition key, if it can be one."""
    if not key or len(key) > 4 * MOST_KEY:
        return None
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    return text if len(text) <= MOST_KEY and text.isprintable() else None


def _aggregated(rows: Sequence[tuple[str, bytes]], hash_key: str) -> Packed:
    if len(rows) == 1:
        return Packed(*rows[0], 1)
    keys = {key: at for at, key in enumerate(dict.fromkeys(key for key, _ in rows))}
    message = b"".join(
        (
            *(_bytes(1, key.encode()) for key in keys),
            _bytes(2, hash_key.encode()),  # clients that take it apart drop what is not of the shard's hash keys
            *(_bytes(3, b"\x08" + _varint(keys[key]) + b"\x10\x00" + _bytes(3, data)) for key, data in rows),
        )
    )
    return Packed(rows[0][0], MAGIC + message + md5(message, usedforsecurity=False).digest(), len(rows))


def _bytes(field: int, value: bytes) -> bytes:
    return bytes((field << 3 | 2,)) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


# -- and out again


def record_of(found: KinesisRecord) -> LogRecord:
    """The entry in a record, which another program may have put."""
    key = None if found.partition_key in (None, NO_KEY) else str(found.partition_key).encode()
    headers: tuple[tuple[str, bytes], ...] = ()
    payload = found.raw_payload
    if payload is not None and payload[:4] == ENVELOPE:
        try:
            told = _unpack(payload[4:])
        except msgspec.DecodeError:
            pass  # the payload of another program, which happens to begin as our envelope
        else:
            key, headers, payload = told.key, told.headers, told.payload
    number = int(found.sequence_number) * SUBS + found.sub_sequence_number
    return LogRecord(found.shard_id, str(number), found.created_us, raw_payload=payload, key=key, headers=headers)
