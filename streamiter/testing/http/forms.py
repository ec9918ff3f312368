"""Forms: a request's JSON decoded, checked and pruned in one go, by a type that is made of the service's own description.

Such a type takes less than it might: where it refuses, `shapes` looks again, and refuses in the service's words or not at all.
What it does take, `shapes` takes too, and makes the same of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Required, TypedDict

import msgspec

from streamiter.testing.http.descriptions import description
from streamiter.testing.http.protocol import may_be_deep, parse
from streamiter.testing.http.shapes import MOST_MATCHED, check, pruned, python_pattern

Decode = Callable[[bytes], dict[str, Any]]


# Base64 as no encoder can fail to write it: bits that tell nothing are zeros.
_BASE64 = (
    r"^(?:[A-Za-z0-9+/]{4})*+"
    r"(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?\Z"
)
_Binary = Annotated[str, msgspec.Meta(pattern=_BASE64)]


class _AttributeValue(TypedDict, total=False):
    """The one shape that has itself within it."""

    S: str
    N: str
    B: _Binary
    SS: list[str]
    NS: list[str]
    BS: list[_Binary]
    L: list[_AttributeValue]
    M: dict[str, _AttributeValue]
    BOOL: bool
    NULL: bool


class _Unfit(Exception):
    """A shape that no type says all of."""


def read(service: str, operation: str, body: bytes, *, short_ids: bool = False) -> dict[str, Any]:
    """A request without the members that the description does not know and those that are null; refuses one that is not of the
    service's form. `short_ids` lets shard ids be as short as tests name them."""
    found = quickly_read(service, operation, body)
    if found is not None:
        return found
    asked = parse(body)
    check(service, operation, asked, short_ids=short_ids)
    whole: dict[str, Any] = pruned(service, operation, asked)
    return whole


def quickly_read(service: str, operation: str, body: bytes) -> dict[str, Any] | None:
    """The same, or None: it is to be looked at more closely."""
    decode = _decoder(service, operation)
    if decode is None:
        return None
    if may_be_deep(body):
        parse(body)  # refuses it if it is
    try:
        return decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


@functools.cache
def _decoder(service: str, operation: str) -> Decode | None:
    known = description(service)
    try:
        return msgspec.json.Decoder(_type(known["shapes"], known["operations"][operation]["input"]["shape"])).decode
    except _Unfit:
        return None


def _type(shapes: Mapping[str, Any], name: str) -> Any:
    """The type of a shape."""
    if name == "AttributeValue":
        return _AttributeValue
    shape = shapes[name]
    kind = shape["type"]
    if kind == "structure":
        return _structure(shapes, name, shape)
    if kind == "list":
        return Annotated[list[_type(shapes, shape["member"]["shape"])], _lengths(shape)]  # type: ignore[misc]
    if kind == "map":
        key = Annotated[str, _lengths(shapes[shape["key"]["shape"]])]
        return Annotated[dict[key, _type(shapes, shape["value"]["shape"])], _lengths(shape)]  # type: ignore[misc]
    if kind == "string":
        return _string(shape)
    if kind in ("integer", "long"):
        return Annotated[int, msgspec.Meta(ge=shape.get("min"), le=shape.get("max"))]
    if kind == "boolean":
        return bool
    if kind == "blob" and "max" not in shape:
        return str
    raise _Unfit


def _structure(shapes: Mapping[str, Any], name: str, shape: Mapping[str, Any]) -> Any:
    required = shape.get("required", ())
    members = {}
    for member, part in shape["members"].items():
        kind = _type(shapes, part["shape"])
        members[member] = Required[kind] if member in required else kind
    return TypedDict(name, members, total=False)  # type: ignore[operator]


def _string(shape: Mapping[str, Any]) -> Any:
    if "enum" in shape:
        return Literal[tuple(shape["enum"])]
    if "pattern" not in shape:
        return Annotated[str, _lengths(shape)]
    most = min(shape.get("max", MOST_MATCHED), MOST_MATCHED)
    pattern = rf"^(?:{python_pattern(shape['pattern'])})\Z"
    return Annotated[str, msgspec.Meta(min_length=shape.get("min", 0), max_length=most, pattern=pattern)]


def _lengths(shape: Mapping[str, Any]) -> msgspec.Meta:
    return msgspec.Meta(min_length=shape.get("min", 0), max_length=shape.get("max"))
