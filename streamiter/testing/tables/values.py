"""Values: what a request's JSON says of binary and numbers, as the tables keep it: bytes, and digits without needless zeros."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from streamiter.testing.http.refusal import Refusal
from streamiter.testing.truth.images import plain_digits


def read_values(value: Any) -> Any:
    """A copy of a request's JSON in which binary is bytes and numbers are plain."""
    if isinstance(value, Mapping):
        if len(value) == 1:
            [(kind, inner)] = value.items()
            if kind in _READERS and isinstance(inner, str):
                return {kind: _READERS[kind](inner)}
            if kind in ("BS", "NS") and isinstance(inner, list) and all(isinstance(part, str) for part in inner):
                return {kind: list(map(_READERS[kind[0]], inner))}
        return {name: read_values(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return list(map(read_values, value))
    return value


def _binary(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise Refusal("SerializationException", "Invalid base64 in a binary attribute") from None


_READERS: dict[str, Callable[[str], Any]] = {"B": _binary, "N": plain_digits}
