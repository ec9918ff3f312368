"""Comparing: how `--where` holds a record's values against what was typed, or against each other; pure."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

Compare = Callable[[Any, Any], bool]

NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_CONSTANTS = {"true": True, "false": False, "null": None}


class Word(str):
    """Typed without quotes: a text, and where it reads as one also a number, true, false or null."""

    __slots__ = ()

    @property
    def meant(self) -> Any:
        """What the word means beside itself; the word again where it means nothing else."""
        if self.lower() in _CONSTANTS:
            return _CONSTANTS[self.lower()]
        return Decimal(self) if NUMBER.fullmatch(self) else str(self)


def is_number(value: Any) -> bool:
    """Whether a value is a number; for Python true and false are two of them."""
    return isinstance(value, Decimal | int | float) and not isinstance(value, bool)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values of records are the same: of the same kind, and equal throughout."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def equals(found: Any, asked: str) -> bool:
    """Whether a value is what was typed; of a set or list, whether it has such an element."""
    if isinstance(found, str):
        return found == asked
    if isinstance(found, set | frozenset | list):
        return any(equals(part, asked) for part in found)
    meant = asked.meant if isinstance(asked, Word) else asked
    if found is None or isinstance(found, bool):
        return found is meant
    return is_number(found) and is_number(meant) and bool(found == meant)


def contains(found: Any, asked: Any) -> bool:
    """A part of a text, an element of a set or list, a name in a map."""
    if isinstance(found, str):
        return isinstance(asked, str) and asked in found
    if isinstance(found, set | frozenset | list):
        same = equals if isinstance(asked, str) else is_same
        return any(same(part, asked) for part in found)
    return isinstance(found, Mapping) and isinstance(asked, str) and asked in found


def begins(found: Any, asked: Any) -> bool:
    """Whether a text, or a number as it is written, begins so."""
    return isinstance(found, str | Decimal) and isinstance(asked, str | Decimal) and str(found).startswith(str(asked))


def are_ordered_alike(found: Any, asked: Any) -> bool:
    """Whether one can be less than the other: numbers go with numbers, texts with texts, bytes with bytes."""
    asked = asked.meant if isinstance(asked, Word) else asked
    kinds: tuple[type, ...] = (str, bytes)
    return (is_number(found) and is_number(asked)) or any(
        isinstance(found, kind) and isinstance(asked, kind) for kind in kinds
    )


def _ordered(compare: Callable[[Any, Any], Any]) -> Compare:
    def test(found: Any, asked: Any) -> bool:
        if not are_ordered_alike(found, asked):
            return False
        return bool(compare(found, asked.meant if isinstance(asked, Word) else asked))

    return test


ORDERINGS: dict[str, Compare] = {
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
}
# `!=` stands for "not =", and is turned round where it is used.
WITH_TYPED: dict[str, Compare] = {"=": equals, "^=": begins, "*=": contains, **ORDERINGS}
WITH_FIELD: dict[str, Compare] = {"=": is_same, "^=": begins, "*=": contains, **ORDERINGS}
