"""Binding: a tree of placeholders becomes one of names and values, and what no such tree may say is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamiter.testing.expressions.grammar import OPERANDS
from streamiter.testing.expressions.reserved import RESERVED
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
    Update,
)
from streamiter.testing.expressions.values import KINDS, SCALARS, SETS, Value, compares, kind_of
from streamiter.testing.expressions.words import Malformed

_TRUTHS = ("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains")
_OF_PATHS = ("attribute_exists", "attribute_not_exists", "if_not_exists")
_OF_UPDATES = ("if_not_exists", "list_append")
_LONG_KINDS = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "BOOL": "BOOLEAN",
    "NULL": "NULL",
    "L": "LIST",
    "M": "MAP",
    "SS": "STRING_SET",
    "NS": "NUMBER_SET",
    "BS": "BINARY_SET",
}
_ALLOWED = {"ADD": ("N", *SETS), "DELETE": SETS}


class Bindings:
    """The names and values that a request gives for its placeholders; it notes which of them were used."""

    def __init__(self, names: Mapping[str, str], values: Mapping[str, Value]) -> None:
        self._names = names
        self._values = values
        self.names_used: set[str] = set()
        self.values_used: set[str] = set()

    # -- parts

    def path(self, path: Path) -> Path:
        """A place, by its real names."""
        return Path(tuple(step if isinstance(step, int) else self._name(step) for step in path.steps))

    def _name(self, step: str) -> str:
        if not step.startswith("#"):
            if step.upper() in RESERVED:
                raise Malformed(f"Attribute name is a reserved keyword; reserved keyword: {step}")
            return step
        if step not in self._names:
            raise Malformed(
                f"An expression attribute name used in the document path is not defined; attribute name: {step}"
            )
        self.names_used.add(step)
        return self._names[step]

    def literal(self, literal: Literal) -> Literal:
        """A value."""
        if literal.name not in self._values:
            raise Malformed(
                f"An expression attribute value used in expression is not defined; attribute value: {literal.name}"
            )
        self.values_used.add(literal.name)
        return Literal(literal.name, self._values[literal.name])

    # -- conditions

    def condition(self, condition: Condition) -> Condition:
        """A condition; also a filter, or a key condition."""
        match condition:
            case Chain(word, conditions):
                return Chain(word, tuple(map(self.condition, conditions)))
            case Not(inner):
                return Not(self.condition(inner))
            case Comparison(operator, left, right):
                operands = self._operands(operator, (left, right))
                if operator not in ("=", "<>"):
                    _check_ordered(operator, operands)
                return Comparison(operator, *operands)
            case Between(operand, low, high):
                operands = self._operands("BETWEEN", (operand, low, high))
                _check_ordered("BETWEEN", operands)
                _check_bounds(operands[1], operands[2])
                return Between(*operands)
            case OneOf(operand, choices):
                first, *others = self._operands("IN", (operand, *choices))
                return OneOf(first, tuple(others))
            case Function(name):
                bound = self._function(condition)
                if name not in _TRUTHS:
                    raise _misused(name)
                return bound
        raise AssertionError(condition)

    def _operands(self, operator: str, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        bound = tuple(map(self._operand, operands))
        for operand in bound:
            if isinstance(operand, Function) and operand.name in _TRUTHS:
                raise _misused(operand.name)
        _check_distinct(operator, bound)
        return bound

    def _operand(self, operand: Operand) -> Operand:
        match operand:
            case Path():
                return self.path(operand)
            case Literal():
                return self.literal(operand)
            case Function():
                return self._function(operand)
        raise AssertionError(operand)

    def _function(self, function: Function) -> Function:
        name = function.name
        if name not in OPERANDS:
            raise Malformed(f"Invalid function name; function: {name}")
        if name in _OF_UPDATES:
            raise Malformed(f"The function is not allowed in a condition expression; function: {name}")
        arguments = tuple(map(self._operand, function.arguments))
        for argument in arguments:
            if isinstance(argument, Function):
                raise _misused(argument.name)
        _check_count(name, arguments)
        _check_arguments(name, arguments)
        if len(arguments) > 1:
            _check_distinct(name, arguments)
        return Function(name, arguments)

    # -- updates and projections

    def projection(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        """Places, none within another."""
        bound = tuple(map(self.path, paths))
        _check_apart(bound)
        return bound

    def update(self, update: Update) -> Update:
        """Changes of places, none within another."""
        bound = tuple(self._change(change) for change in update)
        _check_apart([change.path for change in bound])
        return bound

    def _change(self, change: Change) -> Change:
        path = self.path(change.path)
        if change.operand is None:
            return Change(change.clause, path)
        operand = self._new(change.operand)
        if change.clause in _ALLOWED:
            assert isinstance(operand, Literal) and operand.value is not None
            kind = kind_of(operand.value)
            if kind not in _ALLOWED[change.clause]:
                raise Malformed(
                    "Incorrect operand type for operator or function; "
                    f"operator: {change.clause}, operand type: {_LONG_KINDS[kind]}, "
                    f"typeSet: ALLOWED_FOR_{change.clause}_OPERAND"
                )
        return Change(change.clause, path, operand)

    def _new(self, operand: Operand) -> Operand:
        """What SET puts in a place."""
        match operand:
            case Sum(sign, left, right):
                operands = self._new(left), self._new(right)
                _check_kinds(sign, operands, ("N",))
                return Sum(sign, *operands)
            case Function(name, arguments):
                if name not in OPERANDS:
                    raise Malformed(f"Invalid function name; function: {name}")
                if name not in _OF_UPDATES:
                    raise Malformed(f"The function is not allowed in an update expression; function: {name}")
                bound = tuple(map(self._new, arguments))
                _check_count(name, bound)
                if name == "list_append":
                    _check_kinds(name, bound, ("L",))
                elif not isinstance(bound[0], Path):
                    raise _no_path(name)
                return Function(name, bound)
        return self._operand(operand)


def _misused(name: str) -> Malformed:
    return Malformed(f"The function is not allowed to be used this way in an expression; function: {name}")


def _no_path(name: str) -> Malformed:
    return Malformed(f"Operator or function requires a document path; operator or function: {name}")


def _wrong_kind(name: str, kind: str) -> Malformed:
    return Malformed(
        f"Incorrect operand type for operator or function; operator or function: {name}, operand type: {kind}"
    )


def _check_count(name: str, arguments: tuple[Operand, ...]) -> None:
    if len(arguments) != OPERANDS[name]:
        raise Malformed(
            "Incorrect number of operands for operator or function; "
            f"operator or function: {name}, number of operands: {len(arguments)}"
        )


def _check_arguments(name: str, arguments: tuple[Operand, ...]) -> None:
    if name in _OF_PATHS and not isinstance(arguments[0], Path):
        raise _no_path(name)
    if name == "attribute_type":
        kind = arguments[1]
        if not isinstance(kind, Literal) or kind.value is None:
            raise _wrong_kind(name, "PATH")
        if "S" not in kind.value:
            raise _wrong_kind(name, kind_of(kind.value))
        if kind.value["S"] not in KINDS:
            raise Malformed(
                f"Invalid attribute type name found; type: {kind.value['S']}, "
                "valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
            )
    elif name == "begins_with":
        _check_kinds(name, arguments, ("S", "B"))
    elif name == "contains":
        _check_kinds(name, arguments[:1], ("S", "B", "L", *SETS))
    elif name == "size":
        _check_kinds(name, arguments, ("S", "B", "L", "M", *SETS))


def _check_kinds(name: str, operands: tuple[Operand, ...], allowed: tuple[str, ...]) -> None:
    for operand in operands:
        if isinstance(operand, Literal) and operand.value is not None and kind_of(operand.value) not in allowed:
            raise _wrong_kind(name, kind_of(operand.value))


def _check_ordered(operator: str, operands: tuple[Operand, ...]) -> None:
    for operand in operands:
        if isinstance(operand, Literal) and operand.value is not None and kind_of(operand.value) not in SCALARS:
            raise Malformed(
                "Incorrect operand type for operator or function; "
                f"operator or function: {operator}, operand type: {kind_of(operand.value)}"
            )


def _check_bounds(low: Operand, high: Operand) -> None:
    if not (isinstance(low, Literal) and isinstance(high, Literal) and low.value and high.value):
        return
    told = f"lower bound operand: {_told(low.value)}, upper bound operand: {_told(high.value)}"
    if kind_of(low.value) != kind_of(high.value):
        raise Malformed(f"The BETWEEN operator requires same data type for lower and upper bounds; {told}")
    if compares(">", low.value, high.value):
        raise Malformed(f"The BETWEEN operator requires upper bound to be greater than or equal to lower bound; {told}")


def _told(value: dict[str, Any]) -> str:
    [(kind, inner)] = value.items()
    return (
        f"AttributeValue: {{{kind}:{inner!r}}}" if isinstance(inner, bytes) else f"AttributeValue: {{{kind}:{inner}}}"
    )


def _check_distinct(operator: str, operands: tuple[Operand, ...]) -> None:
    first = operands[0]
    if isinstance(first, Path) and first in operands[1:]:
        raise Malformed(
            "The first operand must be distinct from the remaining operands for this operator or function; "
            f"operator: {operator}, first operand: {first}"
        )


def _check_apart(paths: tuple[Path, ...] | list[Path]) -> None:
    """Refuses paths that lie within one another, and those that take one value for a list and for a map."""
    for place, later in enumerate(paths):
        for earlier in paths[:place]:
            how = _meet(earlier, later)
            if how is not None:
                raise Malformed(
                    f"Two document paths {how} with each other; must remove or rewrite one of these paths; "
                    f"path one: {earlier}, path two: {later}"
                )


def _meet(one: Path, other: Path) -> str | None:
    for left, right in zip(one.steps, other.steps, strict=False):
        if type(left) is not type(right):
            return "conflict"
        if left != right:
            return None
    return "overlap"


def paths_of(condition: Condition) -> Iterator[Path]:
    """Every path that a bound condition looks at."""
    match condition:
        case Chain(_, conditions):
            for inner in conditions:
                yield from paths_of(inner)
        case Not(inner):
            yield from paths_of(inner)
        case Comparison(_, left, right):
            yield from _paths((left, right))
        case Between(operand, low, high):
            yield from _paths((operand, low, high))
        case OneOf(operand, choices):
            yield from _paths((operand, *choices))
        case Function(_, arguments):
            yield from _paths(arguments)


def _paths(operands: tuple[Operand, ...]) -> Iterator[Path]:
    for operand in operands:
        if isinstance(operand, Path):
            yield operand
        elif isinstance(operand, Function):
            yield from _paths(operand.arguments)
