"""Aggregates: many records that a producer packed into one, as the Kinesis Producer Library does, taken apart.

    F3 89 9A C2   protocol buffers: AggregatedRecord   MD5 of that

    AggregatedRecord    1: partition keys, text    2: explicit hash keys, text    3: records
    Record              1: which partition key     2: which explicit hash key     3: the payload     4: tags, not used

Pure. What does not fit to the last byte is no aggregate, and is passed on whole: better a payload that nobody understands
than one that nobody sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import md5
from typing import NamedTuple

MAGIC = b"\xf3\x89\x9a\xc2"
DIGEST_BYTES = 16

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Part(NamedTuple):
    """One of the records that were packed together."""

    partition_key: str
    explicit_hash_key: str | None
    payload: bytes


class _Broken(Exception):
    """It is not what it seems to be."""


def take_apart(payload: bytes) -> list[Part] | None:
    """The records in an aggregate, at least one; None where this is none, or a broken one."""
    if not payload.startswith(MAGIC) or len(payload) < len(MAGIC) + DIGEST_BYTES:
        return None
    message, digest = payload[len(MAGIC) : -DIGEST_BYTES], payload[-DIGEST_BYTES:]
    if md5(message, usedforsecurity=False).digest() != digest:
        return None
    try:
        return _parts(message) or None
    except (_Broken, UnicodeDecodeError):
        return None


def _parts(message: bytes) -> list[Part]:
    keys: list[str] = []
    hash_keys: list[str] = []
    rows: list[tuple[int, int | None, bytes]] = []
    for number, value in _fields(message):
        if number == 1:
            keys.append(_bytes(value).decode())
        elif number == 2:
            hash_keys.append(_bytes(value).decode())
        elif number == 3:
            rows.append(_row(_bytes(value)))
    # The tables may stand behind the records: only now are they whole.
    return [
        Part(_at(keys, key), None if hashed is None else _at(hash_keys, hashed), data) for key, hashed, data in rows
    ]


def _row(message: bytes) -> tuple[int, int | None, bytes]:
    key: int | None = None
    hashed: int | None = None
    data: bytes | None = None
    for number, value in _fields(message):
        if number == 1:
            key = _number(value)
        elif number == 2:
            hashed = _number(value)
        elif number == 3:
            data = _bytes(value)
    if key is None or data is None:
        raise _Broken
    return key, hashed, data


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message, in their order: number and value."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise _Broken
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _varint(message, at)
        elif kind == _FIXED64:
            length = 8
        elif kind == _FIXED32:
            length = 4
        else:
            raise _Broken
        if at + length > end:
            raise _Broken
        yield number, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number of up to 64 bits, seven in each byte, the least ones first; and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at == len(message):
            raise _Broken
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise _Broken


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise _Broken
    return value


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise _Broken
    return value


def _at(table: list[str], index: int) -> str:
    if index >= len(table):
        raise _Broken
    return table[index]
