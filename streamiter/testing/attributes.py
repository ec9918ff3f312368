"""Attributes: whether what a request gives as a typed value is one; the tables would take what the service refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamiter.testing.refusal import invalid, wrong_value

_EXACTLY_ONE = "must contain exactly one of the supported datatypes"
_SETS = {"SS": "string", "NS": "number", "BS": "binary"}


def check_attribute(value: Any) -> None:
    """Refuses a value without a type, with two, and sets that are empty or say something twice; also deep inside."""
    if not isinstance(value, Mapping) or not value:
        raise invalid(f"Supplied AttributeValue is empty, {_EXACTLY_ONE}")
    if len(value) > 1:
        raise invalid(f"Supplied AttributeValue has more than one datatypes set, {_EXACTLY_ONE}")
    [(kind, inner)] = value.items()
    if kind == "L" and isinstance(inner, list):
        for element in inner:
            check_attribute(element)
    elif kind == "M" and isinstance(inner, Mapping):
        for element in inner.values():
            check_attribute(element)
    elif kind in _SETS and isinstance(inner, list):
        if not inner:
            raise wrong_value(f"An {_SETS[kind]} set  may not be empty")
        if len(set(map(str, inner))) < len(inner):
            raise wrong_value(f"Input collection [{', '.join(map(str, inner))}] contains duplicates.")
