"""Images: DynamoDB's typed JSON, as Python values."""

from __future__ import annotations

from base64 import b64decode
from decimal import Decimal
from typing import Any

import msgspec

from streamiter.errors import UnreadableRecord

_decode_json = msgspec.json.Decoder().decode


def decode_image(image: Any) -> dict[str, Any] | None:
    """The attributes of a key or an image, whether still JSON text or decoded by boto3; None where there is none.

    UnreadableRecord says what is wrong with it, in words that hold nothing of what it holds.
    """
    try:
        if isinstance(image, msgspec.Raw):
            image = _decode_json(image) if image else None
        return None if image is None else _attributes(image)
    except _Misfit as misfit:
        raise UnreadableRecord(str(misfit)) from None
    except RecursionError:
        raise UnreadableRecord("it is nested too deep") from None
    except Exception as error:  # text that is no JSON, a number that is none, a list where a map belongs, ...
        raise UnreadableRecord(f"it is not DynamoDB's JSON ({type(error).__name__})") from None


class _Misfit(ValueError):
    """What is wrong with an image."""


def image_text(image: Any) -> str | None:
    """A key or an image as DynamoDB's JSON text: just as it came, where it came as text."""
    if isinstance(image, msgspec.Raw):
        try:
            text = bytes(image).decode()
        except UnicodeDecodeError:
            raise UnreadableRecord("it is not text") from None
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
        raise _Misfit("an attribute has no type")
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
            raise _Misfit("an element of a list has no type, or several")
        return values
    if kind == "NULL":
        return None
    if kind == "B":
        return _binary(value)
    if kind == "SS":
        return set(_elements(value))
    if kind == "NS":
        return set(map(Decimal, _elements(value)))
    if kind == "BS":
        return set(map(_binary, _elements(value)))
    raise _Misfit(f"an attribute is of a type that DynamoDB does not have: {str(kind)[:8]!r}")


def _binary(value: Any) -> bytes:
    # JSON text carries binary as base64; boto3 has decoded it already.
    if isinstance(value, str):
        return b64decode(value)
    if isinstance(value, int):  # bytes(n) would be n of them
        raise _Misfit("binary is a number")
    return bytes(value)


def _elements(value: Any) -> list[Any]:
    if isinstance(value, str | dict):  # of which a set could be made, too
        raise _Misfit("a set is not a list of its elements")
    return list(value)
