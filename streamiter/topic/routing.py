"""Routing: which partition a key leads to, the same on every machine, in every version, and whatever is installed.

A key is written down as bytes, in one way only; their BLAKE2b hash of 8 bytes, read as an unsigned number with the
greatest byte first, is the key's hash. BLAKE2b is in Python's own hashlib and in most languages, it is published with
vectors (RFC 7693), and `b2sum -l 64` computes it in a shell: `printf 's:order-1' | b2sum -l 64`.

    text                            s: and its UTF-8
    bytes                           b: and the bytes
    a number                        n: its digits without zeros at the end, E, and the power of ten that they are times
    True, False                     t:1, t:0
    a UUID                          as its text
    a tuple or list                 l: and for each part the length of its bytes, a colon, and the bytes
    None, as a part of a tuple      0:

Numbers that are equal lead to one place, whichever type they have: 1, 1.0 and Decimal("1.00") are n:1E0. The number 1, the
text "1", the bytes b"1" and True are four keys. These rules never change: where keys lie depends on them.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from hashlib import blake2b
from numbers import Integral
from typing import Any, Final
from uuid import UUID

import msgspec

from streamiter.errors import InvalidOption

HASH_BITS: Final = 64
MOST_BYTES: Final = 4096  # how many bytes a key may have, written down
_MOST_ZEROS: Final = 40  # how many zeros a readable number may end with

Key = Any  # text, bytes, numbers, bool, UUID, or a tuple of these and None


def key_hash(key: Key) -> int:
    """The key's hash, from 0 to 2**64 - 1."""
    return int.from_bytes(blake2b(canonical(key), digest_size=HASH_BITS // 8).digest(), "big")


def partition_of(key: Key, partitions: int) -> int:
    """The partition of a key: hashes are shared out as ranges.

    Where the count doubles, the keys of each partition are split among two partitions that take over from that one alone:
    the ranges nest.
    """
    return (key_hash(key) * partitions) >> HASH_BITS


def canonical(key: Key) -> bytes:
    """The bytes that stand for a key; InvalidOption where it can be none."""
    found = _canonical(key)
    if len(found) > MOST_BYTES:
        raise InvalidOption(f"a key has at most {MOST_BYTES} bytes, not {len(found)}: take a part of it, or its digest")
    return found


def readable(key: Key) -> bytes:
    """What an entry keeps as its key, for people and other clients: text as UTF-8, numbers as digits, tuples as JSON."""
    if type(key) is int and key.bit_length() < MOST_BYTES:
        return b"%d" % key
    if isinstance(key, bytes | bytearray | memoryview):
        return bytes(key)
    return _utf8(str(key)) if isinstance(key, str | UUID) else _json(key).encode()


# -- written down


def _canonical(key: Key) -> bytes:
    write = _WRITERS.get(type(key))
    if write is not None:
        return write(key)
    for kind, write in _WRITERS.items():  # of a class that inherits: an IntEnum, say
        if isinstance(key, kind):
            return write(key.value if isinstance(key, Enum) else key)
    if isinstance(key, Integral):
        return _number(int(key))
    raise InvalidOption(_no_key(key))


def _no_key(key: Key) -> str:
    if key is None:
        return "None is no key: a record without one goes to any partition; only a part of a tuple may be None"
    hint = "its isoformat() is one" if hasattr(key, "isoformat") else "take its text, or one of its attributes"
    return f"a {type(key).__name__} is no key: keys are text, bytes, numbers, True, False, UUIDs, and tuples of these; {hint}"


def _text(key: str) -> bytes:
    return b"s:" + _utf8(str(key))


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidOption("a key's text has half a character in it, a lone surrogate: it has no UTF-8") from None


def _bytes(key: bytes | bytearray | memoryview) -> bytes:
    return b"b:" + bytes(key)


def _flag(key: bool) -> bytes:
    return b"t:1" if key else b"t:0"


def _number(key: float | Decimal) -> bytes:
    sign, digits, power = _parts(key)
    return f"n:{sign}{digits}E{power}".encode()


def _parts(key: float | Decimal) -> tuple[str, str, int]:
    """Sign, digits, and the power of ten that they are times: one way to write each value, with all its digits."""
    power: int | str = 0
    if type(key) is int and key.bit_length() < MOST_BYTES:
        sign, text = ("-" if key < 0 else ""), str(abs(key))
    else:
        number = key if isinstance(key, Decimal) else _exactly(key)
        if not number.is_finite():
            raise InvalidOption("infinity and NaN are no keys: leave the key out, or say which other one is meant")
        minus, told, power = number.as_tuple()
        sign, text = ("-" if minus else ""), "".join(map(str, told)).lstrip("0") or "0"
    assert isinstance(power, int)  # of what is finite
    digits = text.rstrip("0")
    return (sign, digits, power + len(text) - len(digits)) if digits else ("", "0", 0)


def _exactly(key: float) -> Decimal:
    if isinstance(key, int) and key.bit_length() > 3 * MOST_BYTES:
        raise InvalidOption(f"a key has at most {MOST_BYTES} digits: take its digest")
    return Decimal(key)


def _sequence(key: tuple[Key, ...] | list[Key]) -> bytes:
    parts = [b"0:" if part is None else _canonical(part) for part in key]
    return b"l:" + b"".join(b"%d:%b" % (len(part), part) for part in parts)


# bool before int, which it inherits from.
_WRITERS: Final[dict[type, Callable[[Any], bytes]]] = {
    str: _text,
    bool: _flag,
    int: _number,
    float: _number,
    Decimal: _number,
    UUID: lambda key: _text(str(key)),
    bytes: _bytes,
    bytearray: _bytes,
    memoryview: _bytes,
    tuple: _sequence,
    list: _sequence,
}


# -- for people


def _json(key: Key) -> str:
    if isinstance(key, tuple | list):
        return f"[{','.join(_json(part) for part in key)}]"
    if isinstance(key, str | UUID):
        return msgspec.json.encode(str(key)).decode()
    if isinstance(key, bytes | bytearray | memoryview):
        return f'"{bytes(key).hex()}"'
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if isinstance(key, Integral):
        return str(int(key)) if int(key).bit_length() < MOST_BYTES else str(Decimal(int(key)))
    sign, digits, power = _parts(key)
    if 0 <= power <= _MOST_ZEROS:
        return f"{sign}{digits}{'0' * power}"
    if -_MOST_ZEROS <= power < 0:
        whole, part = digits[:power] or "0", digits[power:].rjust(-power, "0")
        return f"{sign}{whole}.{part}"
    return f"{sign}{digits}E{power}"
