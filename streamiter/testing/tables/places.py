"""Places: keys as bytes that sort as the service sorts: by the hash of the partition key, then by the sort key.

Each part ends with two zeros, and a zero within it is followed by 255, so that a shorter key comes before a longer one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from decimal import Decimal

from streamiter.testing.expressions.values import Value

HASH_BYTES = 8

_END = b"\0\0"
_COMPLEMENT = bytes(255 - byte for byte in range(256))
_MIDDLE = 1 << 15


def place_of(parts: Sequence[Value], hashes: int = 1) -> bytes:
    """The place of a key: its partition key, of so many parts, and its sort key if it has one."""
    written = list(map(part, parts))
    return hashed(b"".join(written[:hashes])) + b"".join(written)


def hashed(first: bytes) -> bytes:
    """The beginning of all places with this partition key."""
    return hashlib.md5(first, usedforsecurity=False).digest()[:HASH_BYTES]


def part(value: Value) -> bytes:
    """One part of a place."""
    return escaped(value) + _END


def escaped(value: Value) -> bytes:
    """A value's bytes, without an end: what others may begin with."""
    [(kind, inner)] = value.items()
    if kind == "N":
        inner = _number(Decimal(inner))
    elif kind == "S":
        inner = inner.encode("utf-8", "surrogatepass")
    return inner.replace(b"\0", b"\0\xff")  # type: ignore[no-any-return]


def following(prefix: bytes) -> bytes:
    """The least bytes beyond all that begin with these."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else b"\xff" * 64


def segment_bounds(segment: int, total: int) -> tuple[bytes, bytes]:
    """Where a segment of a parallel scan begins, and where the next one does."""
    whole = 1 << (8 * HASH_BYTES)
    low, high = (whole * number // total for number in (segment, segment + 1))
    return low.to_bytes(HASH_BYTES), b"\xff" * 64 if high == whole else high.to_bytes(HASH_BYTES)


def _number(number: Decimal) -> bytes:
    """A number: its sign, its exponent, its digits; those of a negative one upside down."""
    if not number:
        return b"\x80"
    sign, digits, _ = number.normalize().as_tuple()
    text = (_MIDDLE + number.adjusted()).to_bytes(2) + "".join(map(str, digits)).encode()
    return b"\xc0" + text if not sign else b"\x40" + text.translate(_COMPLEMENT) + b"\xff"
