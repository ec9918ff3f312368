"""Images: DynamoDB's typed JSON, as Python values."""

from __future__ import annotations

from base64 import b64decode
from decimal import Decimal
from typing import Any

import msgspec

_decode_json = msgspec.json.Decoder().decode


def decode_image(image: Any) -> dict[str, Any] | None:
    """The attributes of a key or an image, whether still JSON text or decoded by boto3; None where there is none."""
    if isinstance(image, msgspec.Raw):
        image = _decode_json(image) if image else None
    if image is None:
        return None
    return _attributes(image)


def image_text(image: Any) -> str | None:
    """A key or an image as DynamoDB's JSON text: just as it came, where it came as text."""
    if isinstance(image, msgspec.Raw):
        text = bytes(image).decode()
        return None if text in ("", "null") else text
    return None if image is None else msgspec.json.encode(image).decode()


def _attributes(image: dict[str, Any]) -> dict[str, Any]:
    # Nearly all attributes are strings and numbers: a call for each of them would cost a tenth more.
    values = {
        name: value if kind == "S" else Decimal(value) if kind == "N" else _value(kind, value)
        for name, typed in image.items()
        for kind, value in typed.items()
    }
    if len(values) != len(image):
        raise ValueError("an attribute has no type")
    return values


def _value(kind: str, value: Any) -> Any:
    if kind == "S" or kind == "BOOL":
        return value
    if kind == "N":
        return Decimal(value)
    if kind == "M":
        return _attributes(value)
    if kind == "L":
        values = [_value(kind, inside) for typed in value for kind, inside in typed.items()]
        if len(values) != len(value):
            raise ValueError("an element of a list has no type, or several")
        return values
    if kind == "NULL":
        return None
    if kind == "B":
        return _binary(value)
    if kind == "SS":
        return set(value)
    if kind == "NS":
        return set(map(Decimal, value))
    if kind == "BS":
        return set(map(_binary, value))
    raise ValueError(f"an attribute is of a type that DynamoDB does not have: {kind!r}")


def _binary(value: Any) -> bytes:
    # JSON text carries binary as base64; boto3 has decoded it already.
    return b64decode(value) if isinstance(value, str) else bytes(value)
