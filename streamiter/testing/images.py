"""Images: a test's plain Python values as the typed attributes that the service's JSON carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

Image = Mapping[str, Any]
TypedImage = dict[str, dict[str, Any]]


def typed_image(image: Image) -> TypedImage:
    """`{"id": 1}` as `{"id": {"N": "1"}}`: strings, numbers, bytes, sets, lists, mappings, booleans and None."""
    return {name: typed(value) for name, value in image.items()}


def typed(value: Any) -> dict[str, Any]:
    """One value as a typed attribute; bytes stay bytes, for the JSON encoder writes them as base64."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int | float | Decimal):
        return {"N": _number(value)}
    if isinstance(value, bytes | bytearray):
        return {"B": bytes(value)}
    if isinstance(value, Mapping):
        return {"M": typed_image(value)}
    if isinstance(value, set | frozenset):
        return _typed_set(value)
    if isinstance(value, Sequence):
        return {"L": [typed(element) for element in value]}
    raise TypeError(f"DynamoDB has no type for {type(value).__name__}")


def _typed_set(values: set[Any] | frozenset[Any]) -> dict[str, Any]:
    if not values:
        raise TypeError("DynamoDB has no empty sets")
    if all(isinstance(value, str) for value in values):
        return {"SS": sorted(values)}
    if all(isinstance(value, bytes) for value in values):
        return {"BS": sorted(values)}
    if all(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values):
        return {"NS": [_number(value) for value in sorted(values)]}
    raise TypeError("a set holds strings, numbers or bytes, and only one of them")


def _number(value: float | Decimal) -> str:
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    if not number.is_finite():
        raise TypeError(f"DynamoDB has no number {value}")
    return str(number)
