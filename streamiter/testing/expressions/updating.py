"""Updating: what an item becomes; every operand and index means the item as it was before the update."""

from __future__ import annotations

import copy
from typing import Any

from streamiter.testing.expressions.evaluating import found
from streamiter.testing.expressions.terms import Change, Function, Literal, Operand, Path, Sum, Update
from streamiter.testing.expressions.values import SETS, Item, Value, added, kind_of, united, without
from streamiter.testing.http.refusal import Refusal, invalid

WRONG_TYPE = "An operand in the update expression has an incorrect data type"
_REMOVED: Value = {}  # stands in a list until all changes are made, so that the indexes behind it stay what they are


def updated(item: Item, update: Update) -> Item:
    """The item after a bound update; a refusal where the item is not as the update needs it."""
    new = copy.deepcopy(item)
    lists: dict[int, _List] = {}  # those whose length changes, by identity
    planned = [(change, _outcome(item, change)) for change in update]
    for change, value in planned:
        _put(new, change, value, lists)
    for changed in lists.values():
        changed.settle()
    return new


class _List:
    """A list that an update takes elements from, or adds some to."""

    def __init__(self, elements: list[Value]) -> None:
        self._elements = elements
        self._added: dict[int, Value] = {}

    def put(self, index: int, value: Value | None) -> None:
        if index < len(self._elements):
            self._elements[index] = _REMOVED if value is None else value
        elif value is not None:
            self._added[index] = value

    def settle(self) -> None:
        """Appends the elements that were set beyond a list's end, in the order of their indexes."""
        kept = [element for element in self._elements if element is not _REMOVED]
        self._elements[:] = kept + [self._added[index] for index in sorted(self._added)]


def _outcome(item: Item, change: Change) -> Value | None:
    """The value that a change leaves in its place; None: none."""
    if change.clause == "REMOVE":
        return None
    assert change.operand is not None
    value = _new(item, change.operand)
    if change.clause == "SET":
        return value
    before = found(item, change.path)
    if before is None:
        return value if change.clause == "ADD" else None
    if kind_of(before) != kind_of(value):
        raise _wrong_type()
    if change.clause == "DELETE":
        return without(before, value)
    return united(before, value) if kind_of(value) in SETS else {"N": added(before["N"], value["N"])}


def _new(item: Item, operand: Operand) -> Value:
    match operand:
        case Literal(_, value):
            assert value is not None
            return copy.deepcopy(value)
        case Path():
            value = found(item, operand)
            if value is None:
                raise invalid("The provided expression refers to an attribute that does not exist in the item")
            return copy.deepcopy(value)
        case Sum(sign, left, right):
            one, other = _new(item, left), _new(item, right)
            if "N" not in one or "N" not in other:
                raise _wrong_type()
            return {"N": added(one["N"], other["N"], -1 if sign == "-" else 1)}
        case Function("if_not_exists", (path, other_operand)):
            assert isinstance(path, Path)
            value = found(item, path)
            return _new(item, other_operand) if value is None else copy.deepcopy(value)
        case Function("list_append", (left, right)):
            one, other = _new(item, left), _new(item, right)
            if "L" not in one or "L" not in other:
                raise _wrong_type()
            return {"L": one["L"] + other["L"]}
    raise AssertionError(operand)


def _put(item: Item, change: Change, value: Value | None, lists: dict[int, _List]) -> None:
    *above, last = change.path.steps
    holder: Any = {"M": item}
    for step in above:
        holder = _below(holder, step)
    kind = "L" if isinstance(last, int) else "M"
    if kind not in holder:
        raise _no_place()
    inside = holder[kind]
    if isinstance(last, int):
        lists.setdefault(id(inside), _List(inside)).put(last, value)
    elif value is None:
        inside.pop(last, None)
    else:
        inside[last] = value


def _below(holder: Value, step: str | int) -> Value:
    inside = holder.get("L" if isinstance(step, int) else "M")
    if isinstance(inside, list) and isinstance(step, int) and step < len(inside):
        return inside[step]  # type: ignore[no-any-return]
    if isinstance(inside, dict) and step in inside:
        return inside[step]  # type: ignore[no-any-return]
    raise _no_place()


def _wrong_type() -> Refusal:
    return invalid(WRONG_TYPE)


def _no_place() -> Refusal:
    return invalid("The document path provided in the update expression is invalid for update")
