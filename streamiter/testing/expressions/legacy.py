"""The older way: Expected, filters, KeyConditions and AttributeUpdates, as the same terms that expressions become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    Path,
    Update,
)
from streamiter.testing.expressions.values import SCALARS, SETS, Value, compares, kind_of
from streamiter.testing.http.refusal import Refusal, invalid, wrong_value

_COMPARISONS = {"EQ": "=", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_COUNTS = {"NULL": (0, 0), "NOT_NULL": (0, 0), "BETWEEN": (2, 2), "IN": (1, None)}
_ONE = (1, 1)
_ORDERED = ("LT", "LE", "GT", "GE", "BETWEEN", "IN")
_KINDS = {
    **dict.fromkeys(_ORDERED, SCALARS),
    **dict.fromkeys(("CONTAINS", "NOT_CONTAINS"), (*SCALARS, "BOOL", "NULL")),
    "BEGINS_WITH": ("S", "B"),
}
_OF_ADD = ("N", "L", *SETS)


def condition(name: str, operator: str, values: Sequence[Value]) -> Condition:
    """The condition that a ComparisonOperator and its values stand for."""
    _check(operator, values)
    path = Path((name,))
    first, *others = (Literal("", value) for value in values) if values else (Literal(""),)
    if operator in _COMPARISONS:
        return Comparison(_COMPARISONS[operator], path, first)
    if operator == "BETWEEN":
        return Between(path, first, others[0])
    if operator == "IN":
        return OneOf(path, (first, *others))
    if operator in ("NULL", "NOT_NULL"):
        return Function("attribute_not_exists" if operator == "NULL" else "attribute_exists", (path,))
    if operator == "NOT_CONTAINS":  # which asks for an attribute: one that is not there does not meet it
        return Chain("AND", (Function("attribute_exists", (path,)), Not(Function("contains", (path, first)))))
    return Function(operator.lower(), (path, first))


def all_or_any(conditions: Sequence[Condition], operator: str | None) -> Condition | None:
    """Conditions under a ConditionalOperator; None: there is none."""
    if operator is not None and len(conditions) == 1:
        raise invalid("ConditionalOperator can only be used when Filter or Expected has two or more elements")
    return Chain(operator or "AND", tuple(conditions)) if conditions else None


def filtered(conditions: Mapping[str, Mapping[str, Any]]) -> list[Condition]:
    """QueryFilter, ScanFilter."""
    return [
        condition(name, one["ComparisonOperator"], one.get("AttributeValueList", ()))
        for name, one in conditions.items()
    ]


def expected(conditions: Mapping[str, Mapping[str, Any]]) -> list[Condition]:
    """Expected."""
    return [_expected(name, one) for name, one in conditions.items()]


def _expected(name: str, asked: Mapping[str, Any]) -> Condition:
    operator, values = asked.get("ComparisonOperator"), asked.get("AttributeValueList")
    if operator is not None:
        if "Exists" in asked:
            raise wrong_value(f"Exists and ComparisonOperator cannot be used together for Attribute: {name}")
        if "Value" in asked and values is not None:
            raise wrong_value(f"Value and AttributeValueList cannot be used together for Attribute: {name}")
        given = [asked["Value"]] if "Value" in asked else values or []
        if not given and _COUNTS.get(operator, _ONE)[0]:
            raise wrong_value(
                f"Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: {name}"
            )
        return condition(name, operator, given)
    if values is not None:
        raise wrong_value(f"AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}")
    if asked.get("Exists", True):
        if "Value" not in asked:
            state = "true" if "Exists" in asked else "null"
            raise wrong_value(f"Value must be provided when Exists is {state} for Attribute: {name}")
        return condition(name, "EQ", [asked["Value"]])
    if "Value" in asked:
        raise wrong_value(f"Value cannot be used when Exists is false for Attribute: {name}")
    return condition(name, "NULL", ())


def updates(asked: Mapping[str, Mapping[str, Any]]) -> Update:
    """AttributeUpdates."""
    return tuple(_change(name, one.get("Action", "PUT"), one.get("Value")) for name, one in asked.items())


def _change(name: str, action: str, value: Value | None) -> Change:
    path = Path((name,))
    if value is None:
        if action != "DELETE":
            raise wrong_value("Only DELETE action is allowed when no attribute value is specified")
        return Change("REMOVE", path)
    kind, literal = kind_of(value), Literal("", value)
    if action == "PUT":
        return Change("SET", path, literal)
    if kind not in (_OF_ADD if action == "ADD" else SETS):
        raise wrong_value(f"{action} action is not supported for the type {kind}")
    if kind == "L":
        before = Function("if_not_exists", (path, Literal("", {"L": []})))
        return Change("SET", path, Function("list_append", (before, literal)))
    return Change(action, path, literal)


def _check(operator: str, values: Sequence[Value]) -> None:
    least, most = _COUNTS.get(operator, _ONE)
    if len(values) < least or (most is not None and len(values) > most):
        raise wrong_value(f"Invalid number of argument(s) for the {operator} ComparisonOperator")
    for value in values:
        if kind_of(value) not in _KINDS.get(operator, (kind_of(value),)):
            raise _wrong_kind(operator, kind_of(value))
    if len({kind_of(value) for value in values}) > 1:
        raise wrong_value("AttributeValues inside AttributeValueList must all be of the same type")
    if operator == "BETWEEN" and compares(">", values[0], values[1]):
        raise invalid(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
        )


def _wrong_kind(operator: str, kind: str) -> Refusal:
    return wrong_value(f"ComparisonOperator {operator} is not valid for {kind} AttributeValue type")
