"""JSON types: what a request's member has to be in JSON, and the refusal where it is something else."""

from __future__ import annotations

from typing import Any

from streamiter.testing.http.refusal import Refusal

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
        return "Start of list found where not expected"
    if kind in ("list", "map", "structure"):
        return "Unexpected field type"
    given = (
        "NULL_VALUE" if value is None else f"{value}_VALUE".upper() if isinstance(value, bool) else _NAMES[type(value)]
    )
    return f"{given} cannot be converted to {_JAVA_NAMES.get(kind, 'String')}"
