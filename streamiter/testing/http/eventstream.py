"""Event streams: an answer that goes on is a row of messages, each with its length, its headers and checksums."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

CONTENT_TYPE = "application/vnd.amazon.eventstream"
_TEXT = 7  # the type of a header's value


class Happening(NamedTuple):
    """One message: an event of the service, or the error with which it ends."""

    name: str
    payload: bytes  # JSON
    is_error: bool = False
    cbor: Callable[[], bytes] | None = None  # the same in CBOR, where there is a faster way than from JSON


def message(happening: Happening, payload: bytes, content_type: str) -> bytes:
    """The message as it goes over the wire."""
    kind = "exception" if happening.is_error else "event"
    headers = {f":{kind}-type": happening.name, ":content-type": content_type, ":message-type": kind}
    return framed(headers, payload)


def framed(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Headers of text and a payload."""
    head = b"".join(_header(name, value.encode()) for name, value in headers.items())
    start = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    start += struct.pack(">I", zlib.crc32(start))
    whole = start + head + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


def _header(name: str, value: bytes) -> bytes:
    return struct.pack(f">B{len(name)}sBH", len(name), name.encode(), _TEXT, len(value)) + value
