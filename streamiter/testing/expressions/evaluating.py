"""Evaluating: whether an item meets a condition, and the parts of it that a projection names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamiter.testing.expressions.terms import (
    Between,
    Chain,
    Comparison,
    Condition,
    Function,
    Literal,
    Not,
    OneOf,
    Operand,
    Path,
)
from streamiter.testing.expressions.values import Item, Value, begins_with, compares, contains, measure


def meets(item: Item, condition: Condition) -> bool:
    """Whether a bound condition holds for an item; one that is not there is an empty one."""
    match condition:
        case Chain("AND", conditions):
            return all(meets(item, inner) for inner in conditions)
        case Chain(_, conditions):
            return any(meets(item, inner) for inner in conditions)
        case Not(inner):
            return not meets(item, inner)
        case Comparison(operator, left, right):
            return compares(operator, _value(item, left), _value(item, right))
        case Between(operand, low, high):
            value = _value(item, operand)
            return compares(">=", value, _value(item, low)) and compares("<=", value, _value(item, high))
        case OneOf(operand, choices):
            value = _value(item, operand)
            return any(compares("=", value, _value(item, choice)) for choice in choices)
        case Function(name, arguments):
            return _holds(name, [_value(item, argument) for argument in arguments])
    raise AssertionError(condition)


def _holds(name: str, values: list[Value | None]) -> bool:
    first = values[0]
    if name == "attribute_exists":
        return first is not None
    if name == "attribute_not_exists":
        return first is None
    second = values[1]
    if name == "attribute_type":
        return first is not None and second is not None and second["S"] in first
    return begins_with(first, second) if name == "begins_with" else contains(first, second)


def _value(item: Item, operand: Operand) -> Value | None:
    """The value of a condition's operand; None: it has none."""
    match operand:
        case Path():
            return found(item, operand)
        case Literal(_, value):
            return value
        case Function(_, arguments):
            return measure(_value(item, arguments[0]))
    raise AssertionError(operand)


def found(item: Item, path: Path) -> Value | None:
    """The value at a path in an item; None: there is none."""
    at: Value | None = {"M": item}
    for step in path.steps:
        if at is None:
            return None
        if isinstance(step, int):
            elements = at.get("L", ())
            at = elements[step] if step < len(elements) else None
        else:
            at = at.get("M", {}).get(step)
    return at


def projected(item: Item, paths: Iterable[Path]) -> Item:
    """The parts of an item at some places; elements of a list stand close together, in the list's order."""
    tree: dict[str | int, Any] = {}
    for path in paths:
        if found(item, path) is not None:
            at = tree
            for step in path.steps:
                at = at.setdefault(step, {})
    picked = _picked({"M": item}, tree)
    kept: Item = picked["M"]
    return kept


def _picked(value: Value, tree: dict[str | int, Any]) -> Value:
    [(kind, inner)] = value.items()
    if kind == "M":
        return {"M": {step: _part(inner[step], below) for step, below in tree.items()}}
    return {"L": [_part(inner[step], below) for step, below in sorted(tree.items())]}


def _part(value: Value, tree: dict[str | int, Any]) -> Value:
    return _picked(value, tree) if tree else value
