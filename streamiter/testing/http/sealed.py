"""Sealed texts: a value that goes to a client and comes back, with a checksum that shows whether the text was changed."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import TypeVar

import msgspec

_Value = TypeVar("_Value", bound=msgspec.Struct)


_HEAD = b"\0\0\0\0\0\0\0\1"  # as the service's iterators begin


def seal(value: msgspec.Struct, size: int = 0) -> str:
    """The value as text; one of a size has as many bytes under its base64."""
    packed = msgspec.msgpack.encode(value)
    sealed = zlib.crc32(packed).to_bytes(4, "big") + packed
    if size:
        sealed = (_HEAD + len(sealed).to_bytes(2, "big") + sealed).ljust(size, b"\0")
    return base64.b64encode(sealed).decode()


def unseal(text: str, kind: type[_Value]) -> _Value | None:
    """The value in a text; None where it is none of ours."""
    try:
        sealed = base64.b64decode(text, validate=True)
        if sealed.startswith(_HEAD):
            sealed = sealed[10 : 10 + int.from_bytes(sealed[8:10], "big")]
        if zlib.crc32(sealed[4:]).to_bytes(4, "big") != sealed[:4]:
            return None
        return msgspec.msgpack.decode(sealed[4:], type=kind)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        return None
