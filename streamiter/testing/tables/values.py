"""Values: those of a request, checked and in one form: binary as bytes, and numbers as digits without needless zeros."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from streamiter.testing.expressions.values import Item, Value
from streamiter.testing.http.refusal import invalid, wrong_value
from streamiter.testing.truth.attributes import check_attribute, is_plain, told
from streamiter.testing.truth.images import plain_digits

MOST_DEPTH = 32
MOST_NAME_BYTES = 65535
_TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)


def read_item(item: Mapping[str, Any]) -> Item:
    """An Item or a Key."""
    for name in item:
        check_name(name)
    return {name: read_value(value) for name, value in item.items()}


def check_name(name: str) -> None:
    """Refuses what no attribute can be called."""
    if not name:
        raise wrong_value("Attribute names must not be empty")
    if len(name) > MOST_NAME_BYTES // 4 and len(name.encode()) > MOST_NAME_BYTES:
        raise wrong_value(f"Attribute name is too large, must be less than {MOST_NAME_BYTES + 1} bytes")


def read_value(value: Any) -> Value:
    """One value; a refusal where it is none."""
    check_attribute(value)
    return _read(value, 0)


def _read(value: dict[str, Any], depth: int) -> Value:
    kind, inner = told(value)
    if kind in ("S", "SS", "BOOL", "NULL"):
        return {kind: inner}
    if kind in _SCALARS:
        return {kind: _SCALARS[kind](inner)}
    if kind in ("NS", "BS"):
        return {kind: list(map(_SCALARS[kind[0]], inner))}
    if depth >= MOST_DEPTH:
        raise invalid(_TOO_DEEP)
    if kind == "L":
        return {kind: [_read(element, depth + 1) for element in inner]}
    return {kind: {name: _read(element, depth + 1) for name, element in inner.items()}}


def _digits(text: str) -> str:
    return text if is_plain(text) else plain_digits(text)


_SCALARS: dict[str, Callable[[str], Any]] = {"B": b64decode, "N": _digits}
