"""Clauses: what `--where` asks, as a tree that can be printed, and tried on records; pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from streamiter.record import Record
from streamiter.where.comparing import WITH_FIELD, WITH_TYPED, Word, is_same
from streamiter.where.fields import Field, read_field

Test = Callable[[Record], bool]


@dataclass(frozen=True)
class Named:
    """A field of the record, and where in the text it stands."""

    field: Field
    at: int = dataclasses.field(default=-1, compare=False)

    def __str__(self) -> str:
        return str(self.field)


@dataclass(frozen=True)
class Typed:
    """A value as it was typed: a Word without quotes, or a text in quotes."""

    value: str

    def __str__(self) -> str:
        if isinstance(self.value, Word):
            return str(self.value)
        escaped = self.value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'


Operand = Named | Typed


@dataclass(frozen=True)
class Comparison:
    """`new.total >= 10`, `new.status != old.status`."""

    left: Named
    operator: str
    right: Operand

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True)
class Membership:
    """`event in (INSERT, REMOVE)`."""

    left: Named
    choices: tuple[Operand, ...]

    def __str__(self) -> str:
        return f"{self.left} in ({', '.join(map(str, self.choices))})"


@dataclass(frozen=True)
class Changed:
    """`changed(status)`: before and after differ. What is not there differs from all that is."""

    old: Named
    new: Named

    def __str__(self) -> str:
        return f"changed({'.'.join(self.new.field.path)})"


@dataclass(frozen=True)
class Exists:
    """`exists(new.email)`."""

    named: Named

    def __str__(self) -> str:
        return f"exists({self.named})"


@dataclass(frozen=True)
class Not:
    """`not ...`"""

    clause: Clause

    def __str__(self) -> str:
        return f"not {_within(self.clause)}"


@dataclass(frozen=True)
class Both:
    """`... and ...`: all of them."""

    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return " and ".join(map(_within, self.clauses))


@dataclass(frozen=True)
class Either:
    """`... or ...`: at least one of them."""

    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return " or ".join(map(_within, self.clauses))


Clause = Comparison | Membership | Changed | Exists | Not | Both | Either


def _within(clause: Clause) -> str:
    return f"({clause})" if isinstance(clause, Both | Either) else str(clause)


def leaves(clause: Clause) -> Iterator[Comparison | Membership | Changed | Exists]:
    """The clauses that ask something of a record itself."""
    pending = [clause]
    while pending:
        clause = pending.pop()
        if isinstance(clause, Not):
            pending.append(clause.clause)
        elif isinstance(clause, Both | Either):
            pending += reversed(clause.clauses)
        else:
            yield clause


def named_in(clause: Clause) -> Iterator[Named]:
    """The fields that a clause asks for, in the order of its text."""
    for leaf in leaves(clause):
        if isinstance(leaf, Exists):
            yield leaf.named
        elif isinstance(leaf, Changed):
            yield from (leaf.old, leaf.new)
        else:
            yield leaf.left
            others = (leaf.right,) if isinstance(leaf, Comparison) else leaf.choices
            yield from (other for other in others if isinstance(other, Named))


def test_of(clause: Clause) -> Test:
    """The clause as a function that looks at one record after the other."""
    if isinstance(clause, Not):
        test = test_of(clause.clause)
        return lambda record: not test(record)
    if isinstance(clause, Both):
        tests = [test_of(part) for part in clause.clauses]
        return lambda record: all(test(record) for test in tests)
    if isinstance(clause, Either):
        tests = [test_of(part) for part in clause.clauses]
        return lambda record: any(test(record) for test in tests)
    if isinstance(clause, Exists):
        asked = clause.named.field
        return lambda record: any(True for _ in read_field(record, asked))
    if isinstance(clause, Changed):
        old, new = clause.old.field, clause.new.field
        return lambda record: not _are_same(record, old, new)
    if isinstance(clause, Membership):
        tests = [_test_of_two(clause.left.field, "=", choice) for choice in clause.choices]
        return lambda record: any(test(record) for test in tests)
    return _test_of_two(clause.left.field, clause.operator, clause.right)


def _test_of_two(left: Field, operator: str, right: Operand) -> Test:
    if operator == "!=":
        equal = _test_of_two(left, "=", right)
        return lambda record: not equal(record)
    if isinstance(right, Typed):
        compare, asked = WITH_TYPED[operator], right.value
        return lambda record: any(compare(found, asked) for found in read_field(record, left))
    other = right.field
    if operator == "=":
        return lambda record: _are_same(record, left, other)
    compare = WITH_FIELD[operator]
    return lambda record: _any_pair(compare, record, left, other)


def _any_pair(compare: Callable[[Any, Any], bool], record: Record, left: Field, right: Field) -> bool:
    others = list(read_field(record, right))
    return any(compare(found, other) for found in read_field(record, left) for other in others)


def _are_same(record: Record, left: Field, right: Field) -> bool:
    """Whether two fields agree: in a value, or in that neither is there."""
    found, others = list(read_field(record, left)), list(read_field(record, right))
    if not found or not others:
        return not found and not others
    return any(is_same(one, other) for one in found for other in others)
