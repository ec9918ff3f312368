"""JSON types: what a request's member has to be in JSON, and the refusal where it is something else."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from streamiter.testing.http.refusal import Refusal

JAVA_PACKAGE = "com.amazonaws.dynamodb.v20120810."
MOST_TIME = 1e12  # seconds from 1970, either way

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "blob": (str,),
    "boolean": (bool,),
    "integer": (int, float),
    "long": (int, float),
    "double": (int, float),
    "float": (int, float),
    "timestamp": (int, float),
    "list": (list,),
    "map": (dict,),
    "structure": (dict,),
}
_NAMES = {str: "STRING_VALUE", int: "NUMBER_VALUE", float: "DECIMAL_VALUE"}
_JAVA_NAMES = {"boolean": "Boolean", "integer": "Integer", "long": "Long", "double": "Double", "timestamp": "Date"}
# What a list is refused for, where a single value is expected.
_JAVA_CLASSES = {"string": "java.lang.String", "blob": "java.nio.ByteBuffer", "timestamp": "java.util.Date"} | {
    kind: f"java.lang.{_JAVA_NAMES[kind]}" for kind in ("boolean", "integer", "long", "double")
}

# Of which no value has to be looked at any closer.
_SURE = {
    kind: types[0] for kind, types in _TYPES.items() if kind in ("string", "blob", "boolean", "integer", "long", "list")
} | {"map": dict, "structure": dict}


def check_type(value: Any, kind: str) -> Any:
    """Gives the value; refuses one that is not of a kind, which is named as the service's description names it."""
    if type(value) is _SURE.get(kind):
        return value
    is_broken = kind in ("integer", "long") and isinstance(value, float) and not value.is_integer()
    if is_broken or not is_of_kind(value, kind):
        raise Refusal("SerializationException", _complaint(value, kind))
    check_time(value, kind)
    return value


def is_of_kind(value: object, kind: str) -> bool:
    """Whether JSON has the value as it has values of this kind."""
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def check_time(value: Any, kind: str) -> None:
    """Refuses a time that no calendar has."""
    if kind == "timestamp" and not abs(value) <= MOST_TIME:
        raise Refusal("SerializationException", f"{value:.6g} is no time: it lies beyond all calendars")


def _complaint(value: object, kind: str) -> str:
    if isinstance(value, dict):
        return "Start of structure or map found where not expected"
    if isinstance(value, list):
        return f"Unrecognized collection type class {_JAVA_CLASSES.get(kind, 'java.lang.Object')}"
    if kind == "blob":
        return "Only base-64-encoded strings are convertible to bytes"
    if kind in ("list", "map", "structure"):
        return "Unexpected field type"
    given = (
        "NULL_VALUE" if value is None else f"{value}_VALUE".upper() if isinstance(value, bool) else _NAMES[type(value)]
    )
    return f"{given} cannot be converted to {_JAVA_NAMES.get(kind, 'String')}"


def java_type(shapes: Mapping[str, Any], name: str) -> str:
    """What the service calls a shape of its description, where it refuses a list in its place."""
    shape = shapes[name]
    if shape["type"] == "structure":
        return JAVA_PACKAGE + name
    if shape["type"] == "list":
        return f"java.util.List<{java_type(shapes, shape['member']['shape'])}>"
    if shape["type"] == "map":
        return f"java.util.Map<java.lang.String, {java_type(shapes, shape['value']['shape'])}>"
    return _JAVA_CLASSES[shape["type"]]


def unrecognized(java: str) -> Refusal:
    """The refusal of a list where a structure or a map is expected."""
    is_plain = not java.startswith("java.util.")
    return Refusal("SerializationException", f"Unrecognized collection type {'class ' * is_plain}{java}")


def base64_fault(text: str) -> str | None:
    """Why a text is no base64, in the services' words; None where it is some."""
    try:
        b64decode(text, validate=True)
        is_canonical = not text or b64encode(b64decode(text[-4:])).decode() == text[-4:]
    except ValueError:
        is_canonical = False
    if is_canonical:
        return None
    if len(text) % 4:
        return f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(text)}"
    found = re.search(r"[^a-zA-Z0-9+/=]|=(?=[^=])", text)
    return f"Invalid Base64 character: '{found[0]}'" if found else "Invalid last non-pad Base64 character dectected"
