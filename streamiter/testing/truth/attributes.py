"""Attributes: checks the typed values of a request, in the order in which the service does."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from streamiter.testing.http.json_types import JAVA_PACKAGE, base64_fault, check_type, unrecognized
from streamiter.testing.http.refusal import Refusal, invalid, wrong_value

_VALUE = f"{JAVA_PACKAGE}AttributeValue"
_EXACTLY_ONE = "must contain exactly one of the supported datatypes"
_JSON_TYPES = {"S": "string", "N": "string", "B": "blob", "BOOL": "boolean", "NULL": "boolean", "L": "list", "M": "map"}
_SETS = {"SS": "string", "NS": "number", "BS": "binary"}
_KINDS = {*_JSON_TYPES, *_SETS}

_NUMBER = re.compile(r"[-+]?(?=\.?[0-9])[0-9]*(\.[0-9]*)?([eE][-+]?[0-9]+)?")
_MOST_DIGITS = 38
_GREATEST_EXPONENT, _LEAST_EXPONENT = 125, -130


def check_attribute_form(value: Any) -> None:
    """Refuses a value of the wrong JSON type, at any depth."""
    if isinstance(value, list):
        raise unrecognized(_VALUE)
    check_type(value, "structure")
    for kind, inner in value.items():
        if inner is None:
            continue
        if kind in _SETS:
            check_type(inner, "list")
            for element in inner:
                check_type(element, "blob" if kind == "BS" else "string")
                if kind == "BS":
                    _check_base64(element)
        elif kind in _JSON_TYPES:
            if kind == "M" and isinstance(inner, list):
                raise unrecognized(f"java.util.Map<java.lang.String, {_VALUE}>")
            check_type(inner, _JSON_TYPES[kind])
            if kind == "B":
                _check_base64(inner)
            if kind in ("L", "M"):
                for element in inner if kind == "L" else inner.values():
                    check_attribute_form(element)


def _check_base64(text: str) -> None:
    fault = base64_fault(text)
    if fault is not None:
        raise Refusal("SerializationException", fault)


def check_attribute(value: dict[str, Any]) -> None:
    """Refuses a value of the right form without a type, or with two, numbers that none holds, and sets that are empty or say
    something twice; also deep inside."""
    kind, inner = told(value)
    if kind == "S":
        return
    if kind in _SETS:
        _check_set(kind, inner)
    elif kind == "N":
        check_number(inner)
    elif kind == "NULL" and not inner:
        raise wrong_value("Null attribute value types must have the value of true")
    elif kind in ("L", "M"):
        for element in inner if kind == "L" else inner.values():
            check_attribute(element)


def told(value: dict[str, Any]) -> tuple[str, Any]:
    """The type of a value, and what it is; a refusal where that is not one."""
    if len(value) == 1:
        [(kind, inner)] = value.items()
        if inner is not None and kind in _KINDS:
            return kind, inner
    found = [(kind, inner) for kind, inner in value.items() if inner is not None and kind in _KINDS]
    if not found:
        raise invalid(f"Supplied AttributeValue is empty, {_EXACTLY_ONE}")
    if len(found) > 1:
        raise invalid(f"Supplied AttributeValue has more than one datatypes set, {_EXACTLY_ONE}")
    return found[0]


def is_plain(number: str) -> bool:
    """Whether it is digits as the service gives them back: nothing about it has to be checked or changed."""
    return len(number) < 16 and number.isascii() and number.isdecimal() and (number[0] != "0" or number == "0")


def check_number(text: str) -> Decimal:
    """Refuses a number that DynamoDB does not hold to its last digit."""
    if is_plain(text):
        return Decimal(text)
    if not _NUMBER.fullmatch(text):
        raise invalid(f"The parameter cannot be converted to a numeric value: {text}".removesuffix(": "))
    mantissa, _, exponent = text.lower().partition("e")
    digits = mantissa.lstrip("+-").replace(".", "").lstrip("0")
    if not digits:
        return Decimal(0)
    if len(digits.rstrip("0")) > _MOST_DIGITS:
        raise invalid(f"Attempting to store more than {_MOST_DIGITS} significant digits in a Number")
    greatest = len(digits) - len(mantissa.partition(".")[2]) - 1 + int(exponent or 0)
    if greatest > _GREATEST_EXPONENT:
        raise _out_of_range("overflow", "larger")
    if greatest < _LEAST_EXPONENT:
        raise _out_of_range("underflow", "smaller")
    return Decimal(text)


def _check_set(kind: str, elements: list[str]) -> None:
    if not elements:
        raise wrong_value(
            "Binary sets should not be empty" if kind == "BS" else f"An {_SETS[kind]} set  may not be empty"
        )
    distinct = set(map(check_number, elements)) if kind == "NS" else set(elements)
    if len(distinct) == len(elements):
        return
    if kind == "NS":
        raise invalid("Input collection contains duplicates")
    of_type = "of type BS" if kind == "BS" else ""  # in the service's own words, with no space before it
    raise wrong_value(f"Input collection [{', '.join(elements)}]{of_type} contains duplicates.")


def _out_of_range(what: str, side: str) -> Exception:
    return invalid(f"Number {what}. Attempting to store a number with magnitude {side} than supported range")
