"""Images: a test's plain Python values as the typed attributes that the service's JSON carries."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

from streamiter.images import decode_image

_MOST_DIGITS = 38  # that the service knows
_EXACT = Context(prec=60)  # more than those

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


def normal_image(image: TypedImage) -> TypedImage:
    """A typed image as the service gives it back: numbers without needless zeros, as plain digits."""
    return {name: _normal(value) for name, value in image.items()}


def is_same(one: TypedImage | None, other: TypedImage | None) -> bool:
    """Whether two normal images are equal; the order of a set does not count."""
    if one is None or other is None or one.keys() != other.keys():
        return one is other
    return all(is_same_value(value, other[name]) for name, value in one.items())


def size_of(image: TypedImage) -> int:
    """The bytes of a typed image, by the service's own way to count them."""
    size = 0
    for name, value in image.items():
        size += _text_size(name) + _size(value)
    return size


def plain_image(image: TypedImage) -> dict[str, Any]:
    """A typed image as plain Python values."""
    return decode_image(image) or {}


def _normal(value: dict[str, Any]) -> dict[str, Any]:
    [(kind, inner)] = value.items()
    if kind == "N":
        return {"N": plain_digits(inner)}
    if kind == "NS":
        return {"NS": list(map(plain_digits, inner))}
    if kind == "M":
        return {"M": normal_image(inner)}
    if kind == "L":
        return {"L": list(map(_normal, inner))}
    return value


def plain_digits(number: str) -> str:
    """A number as the service gives it back."""
    exact = Decimal(number)
    return format(exact.normalize(_EXACT), "f") if exact else "0"


def is_same_value(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two normal values are equal."""
    [(kind, inner)] = one.items()
    if kind not in other:
        return False
    if kind in ("SS", "NS", "BS"):
        return set(inner) == set(other[kind])
    if kind == "M":
        return is_same(inner, other[kind])
    if kind == "L":
        return len(inner) == len(other[kind]) and all(map(is_same_value, inner, other[kind]))
    return bool(inner == other[kind])


def _size(value: dict[str, Any]) -> int:
    [(kind, inner)] = value.items()
    if kind == "S":
        return _text_size(inner)
    if kind == "N":
        return _number_size(inner)
    if kind == "B":
        return _binary_size(inner)
    if kind == "SS":
        return sum(map(_text_size, inner))
    if kind == "NS":
        return sum(map(_number_size, inner))
    if kind == "BS":
        return sum(map(_binary_size, inner))
    if kind == "M":
        return 3 + len(inner) + size_of(inner)
    if kind == "L":
        return 3 + len(inner) + sum(map(_size, inner))
    return 1


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _number_size(number: str) -> int:
    if len(number) <= _MOST_DIGITS and number.isascii() and number.isdecimal():
        return (len(number.strip("0") or "0") + 1) // 2 + 1
    digits = Decimal(number).normalize(_EXACT).as_tuple()
    return (len(digits.digits) + 1) // 2 + 1 + digits.sign


def _binary_size(binary: bytes | str) -> int:
    return len(binary if isinstance(binary, bytes) else b64decode(binary))


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
