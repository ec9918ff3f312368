"""Plain: an oracle for expressions, over Python's own values and with nothing of the engine's: what holds, and what becomes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from streamiter.testing.expressions.terms import (
    Between,
    Chain,
    Change,
    Comparison,
    Condition,
    Function,
    Literal,
    Not,
    OneOf,
    Operand,
    Path,
    Sum,
)

KINDS: list[tuple[str, type]] = [
    ("BOOL", bool),
    ("S", str),
    ("B", bytes),
    ("N", Decimal),
    ("NULL", type(None)),
    ("L", list),
    ("M", dict),
]


class Missing:
    """There is nothing."""


MISSING = Missing()


class Unfit(Exception):
    """The item is not as the update needs it."""


def plain(value: Mapping[str, Any]) -> Any:
    """A typed value as Python's own; a set as a frozenset."""
    [(kind, inner)] = value.items()
    if kind == "N":
        return Decimal(inner)
    if kind == "NULL":
        return None
    if kind in ("SS", "BS"):
        return frozenset(inner)
    if kind == "NS":
        return frozenset(map(Decimal, inner))
    if kind == "L":
        return [plain(element) for element in inner]
    return {name: plain(part) for name, part in inner.items()} if kind == "M" else inner


def kind_of(value: Any) -> str:
    if isinstance(value, frozenset):
        return f"{kind_of(next(iter(value)))}S"
    return next(kind for kind, type_ in KINDS if isinstance(value, type_))


def at(item: Any, path: Path) -> Any:
    for step in path.steps:
        is_there = (
            isinstance(item, dict) and step in item
            if isinstance(step, str)
            else isinstance(item, list) and step < len(item)
        )
        if not is_there:
            return MISSING
        item = item[step]
    return item


# -- conditions


def holds(item: dict[str, Any], condition: Condition, values: Mapping[str, Any]) -> bool:
    def value(operand: Operand) -> Any:
        if isinstance(operand, Literal):
            return values[operand.name]
        if isinstance(operand, Path):
            return at(item, operand)
        assert isinstance(operand, Function)
        whole = value(operand.arguments[0])
        if isinstance(whole, str):
            return Decimal(len(whole.encode()))
        return Decimal(len(whole)) if isinstance(whole, bytes | list | dict | frozenset) else MISSING

    match condition:
        case Not(inner):
            return not holds(item, inner, values)
        case Chain(word, parts):
            found = [holds(item, part, values) for part in parts]
            return all(found) if word == "AND" else any(found)
        case Comparison(operator, left, right):
            return _compares(operator, value(left), value(right))
        case Between(operand, low, high):
            return _compares("<=", value(low), value(operand)) and _compares("<=", value(operand), value(high))
        case OneOf(operand, choices):
            return any(_compares("=", value(operand), value(choice)) for choice in choices)
        case Function(name, arguments):
            return _FUNCTIONS[name](*map(value, arguments))
    raise AssertionError(condition)


def _is_equal(left: Any, right: Any) -> bool:
    if MISSING in (left, right) or kind_of(left) != kind_of(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_is_equal, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_is_equal(left[name], right[name]) for name in left)
    return bool(left == right)


def _compares(operator: str, left: Any, right: Any) -> bool:
    if operator in ("=", "<>"):
        return _is_equal(left, right) is (operator == "=")
    if MISSING in (left, right) or kind_of(left) not in "SNB" or kind_of(left) != kind_of(right):
        return False
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    before, is_same = left < right, left == right
    return bool({"<": before, "<=": before or is_same, ">": not (before or is_same), ">=": not before}[operator])


def _begins(whole: Any, start: Any) -> bool:
    return isinstance(whole, str | bytes) and type(whole) is type(start) and whole.startswith(start)


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, str | bytes):
        return type(whole) is type(part) and part in whole
    return isinstance(whole, list | frozenset) and any(_is_equal(one, part) for one in whole)


_FUNCTIONS: dict[str, Callable[..., bool]] = {
    "attribute_exists": lambda value: value is not MISSING,
    "attribute_not_exists": lambda value: value is MISSING,
    "attribute_type": lambda value, kind: value is not MISSING and kind_of(value) == kind,
    "begins_with": _begins,
    "contains": _contains,
}


# -- updates


def updated(item: dict[str, Any], update: list[Change], values: Mapping[str, Any]) -> dict[str, Any]:
    """What an item becomes, change by change; each sees the item as it was. Lists are only added to at their ends."""
    new = copy.deepcopy(item)
    removed: list[tuple[list[Any], int]] = []
    for change in update:
        holder: Any = at(new, Path(change.path.steps[:-1])) if len(change.path.steps) > 1 else new
        last = change.path.steps[-1]
        if not isinstance(holder, dict if isinstance(last, str) else list):
            raise Unfit
        result = _result(item, change, values)
        if isinstance(last, int):
            if last >= len(at(item, Path(change.path.steps[:-1]))):
                if result is not MISSING:
                    holder.append(result)
            elif result is MISSING:
                removed.append((holder, last))
            else:
                holder[last] = result
        elif result is MISSING:
            assert isinstance(holder, dict)
            holder.pop(last, None)
        else:
            holder[last] = result
    for inside, index in sorted(removed, key=lambda one: -one[1]):
        del inside[index]
    return new


def _result(item: dict[str, Any], change: Change, values: Mapping[str, Any]) -> Any:
    if change.operand is None:
        return MISSING
    given = _new(item, change.operand, values)
    if change.clause == "SET":
        return given
    before = at(item, change.path)
    if before is MISSING:
        return given if change.clause == "ADD" else MISSING
    if kind_of(before) != kind_of(given):
        raise Unfit
    if change.clause == "ADD":
        return before | given if isinstance(before, frozenset) else before + given
    return before - given or MISSING


def _new(item: dict[str, Any], operand: Operand, values: Mapping[str, Any]) -> Any:
    match operand:
        case Literal(name):
            return values[name]
        case Path():
            found = at(item, operand)
            if found is MISSING:
                raise Unfit
            return found
        case Sum(sign, left, right):
            one, other = _new(item, left, values), _new(item, right, values)
            if not (isinstance(one, Decimal) and isinstance(other, Decimal)):
                raise Unfit
            return one + other if sign == "+" else one - other
        case Function("if_not_exists", (path, other_operand)):
            assert isinstance(path, Path)
            found = at(item, path)
            return _new(item, other_operand, values) if found is MISSING else found
        case Function("list_append", (left, right)):
            one, other = _new(item, left, values), _new(item, right, values)
            if not (isinstance(one, list) and isinstance(other, list)):
                raise Unfit
            return one + other
    raise AssertionError(operand)
