"""Values: how typed values compare, how large they are, and how numbers add up, as the service has it.

A value is `{"S": "text"}`; its numbers are plain digits already and its binary is bytes, so that equal values are equal text.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from streamiter.testing.truth.attributes import check_number
from streamiter.testing.truth.images import is_same_value, plain_digits

Value = dict[str, Any]
Item = dict[str, Value]

SCALARS = ("S", "N", "B")
SETS = ("SS", "NS", "BS")
KINDS = ("S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M")

_ELEMENTS = {"SS": "S", "NS": "N", "BS": "B"}
_ORDERED = {"<", "<=", ">", ">="}
_EXACT = Context(prec=400)
_ROUND = Context(prec=38, rounding=ROUND_HALF_UP)


def kind_of(value: Value) -> str:
    """The type of a value: S, N, ..."""
    return next(iter(value))


def sort_key(value: Value) -> Any:
    """The key by which values of one type are ordered: for text its UTF-8, as in the service."""
    [(kind, inner)] = value.items()
    return inner.encode("utf-8", "surrogatepass") if kind == "S" else Decimal(inner) if kind == "N" else inner


def compares(operator: str, one: Value | None, other: Value | None) -> bool:
    """Whether `one operator other` holds. What is not there is equal to nothing, and neither more nor less."""
    if operator == "<>":
        return not compares("=", one, other)
    if one is None or other is None:
        return False
    if operator == "=":
        return is_same_value(one, other)
    kind = kind_of(one)
    if kind not in SCALARS or kind not in other:
        return False
    left, right = sort_key(one), sort_key(other)
    if operator in ("<", "<="):
        return bool(left < right or (operator == "<=" and left == right))
    return bool(left > right or (operator == ">=" and left == right))


def begins_with(whole: Value | None, start: Value | None) -> bool:
    """Whether text begins with text, or binary with binary."""
    if whole is None or start is None:
        return False
    kind = kind_of(whole)
    return kind in ("S", "B") and kind in start and bool(whole[kind].startswith(start[kind]))


def contains(whole: Value | None, part: Value | None) -> bool:
    """Whether text or binary has a part, a set an element, or a list an equal one."""
    if whole is None or part is None:
        return False
    [(kind, inner)] = whole.items()
    if kind in ("S", "B"):
        return kind in part and part[kind] in inner
    if kind in SETS:
        return _ELEMENTS[kind] in part and part[_ELEMENTS[kind]] in inner
    return kind == "L" and any(is_same_value(element, part) for element in inner)


def measure(value: Value | None) -> Value | None:
    """`size(...)`: text in characters of UTF-8 bytes, binary in bytes, sets, lists and maps in elements; numbers have none."""
    if value is None:
        return None
    [(kind, inner)] = value.items()
    if kind == "S":
        return {"N": str(len(inner.encode("utf-8", "surrogatepass")))}
    return {"N": str(len(inner))} if kind in ("B", "L", "M", *SETS) else None


def added(one: str, other: str, sign: int = 1) -> str:
    """The sum of two numbers, or their difference, to 38 digits; a refusal beyond the greatest number."""
    total = _ROUND.plus(_EXACT.add(Decimal(one), _EXACT.multiply(Decimal(other), Decimal(sign))))
    check_number(str(total))
    return plain_digits(str(total))


def united(one: Value, other: Value) -> Value:
    """A set with the elements of another one, too."""
    [(kind, elements)] = one.items()
    return {kind: elements + [element for element in other[kind] if element not in elements]}


def without(one: Value, other: Value) -> Value | None:
    """A set without the elements of another one; None when nothing is left."""
    [(kind, elements)] = one.items()
    left = [element for element in elements if element not in other[kind]]
    return {kind: left} if left else None
