"""Aggregates: many records packed into one payload, as the Kinesis Producer Library packs them."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import md5

MAGIC = b"\xf3\x89\x9a\xc2"


def pack(records: Iterable[tuple[str, bytes] | tuple[str, bytes, str]]) -> bytes:
    """Records, each a partition key and a payload (and an explicit hash key), as one payload."""
    keys: dict[str, int] = {}
    hash_keys: dict[str, int] = {}
    rows: list[bytes] = []
    for key, payload, *explicit in records:
        row = _number(1, keys.setdefault(key, len(keys)))
        if explicit:
            row += _number(2, hash_keys.setdefault(explicit[0], len(hash_keys)))
        rows.append(row + _bytes(3, payload))
    message = b"".join(
        [
            *(_bytes(1, key.encode()) for key in keys),
            *(_bytes(2, key.encode()) for key in hash_keys),
            *(_bytes(3, row) for row in rows),
        ]
    )
    return MAGIC + message + md5(message, usedforsecurity=False).digest()


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)
