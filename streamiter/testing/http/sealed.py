"""Sealed texts: a value that goes to a client and comes back, with a checksum that shows whether the text was changed."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import TypeVar

import msgspec

_Value = TypeVar("_Value", bound=msgspec.Struct)


def seal(value: msgspec.Struct) -> str:
    """The value as text."""
    packed = msgspec.msgpack.encode(value)
    return base64.b64encode(zlib.crc32(packed).to_bytes(4, "big") + packed).decode()


def unseal(text: str, kind: type[_Value]) -> _Value | None:
    """The value in a text; None where it is none of ours."""
    try:
        sealed = base64.b64decode(text, validate=True)
        if zlib.crc32(sealed[4:]).to_bytes(4, "big") != sealed[:4]:
            return None
        return msgspec.msgpack.decode(sealed[4:], type=kind)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        return None
