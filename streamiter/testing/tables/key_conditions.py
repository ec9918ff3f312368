"""Key conditions: which stretch of a table or of an index a Query looks through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
from streamiter.testing.expressions.values import Value, kind_of
from streamiter.testing.http.refusal import Refusal, invalid, wrong_value
from streamiter.testing.tables.places import escaped, following, hashed, part

_INVALID = "Invalid KeyConditionExpression: "
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BETWEEN = "BETWEEN"
_BEGINS = "begins_with"


class KeyTest(NamedTuple):
    """What one attribute of a key is to be."""

    name: str
    operator: str  # =, <, <=, >, >=, BETWEEN or begins_with
    values: tuple[Value, ...]


class Stretch(NamedTuple):
    """Places from one up to before another one."""

    low: bytes
    high: bytes
    whole_low: bytes  # of the partition key alone
    whole_high: bytes


def tests_of(condition: Condition) -> list[KeyTest]:
    """The parts of a KeyConditionExpression."""
    if isinstance(condition, Chain):
        if condition.word == "OR":
            raise invalid(f"{_INVALID}Invalid operator used in KeyConditionExpression: OR")
        return [test for inner in condition.conditions for test in tests_of(inner)]
    return [_test(condition)]


def _test(condition: Condition) -> KeyTest:
    match condition:
        case Not():
            raise invalid(f"{_INVALID}Invalid operator used in KeyConditionExpression: NOT")
        case OneOf():
            raise invalid(f"{_INVALID}Invalid operator used in KeyConditionExpression: IN")
        case Comparison("<>"):
            raise invalid(f"{_INVALID}Invalid operator used in KeyConditionExpression: <>")
        case Comparison(operator, Path() as path, Literal() as literal):
            return _of(path, operator, literal)
        case Comparison(operator, Literal() as literal, Path() as path):
            return _of(path, _MIRRORED[operator], literal)
        case Between(Path() as path, Literal() as low, Literal() as high):
            return _of(path, _BETWEEN, low, high)
        case Function("begins_with", (Path() as path, Literal() as start)):
            return _of(path, _BEGINS, start)
        case Function("begins_with" | "size"):
            raise invalid(f"{_INVALID}Invalid condition in KeyConditionExpression: begins_with takes a key attribute")
        case Function(name):
            raise invalid(f"{_INVALID}Invalid operator used in KeyConditionExpression: {name}")
        case Comparison(_, left, right):
            raise _no_key((left, right))
        case Between(operand, low_operand, high_operand):
            raise _no_key((operand, low_operand, high_operand))
    raise AssertionError(condition)


def _no_key(operands: Sequence[Operand]) -> Refusal:
    if any(isinstance(operand, Function) for operand in operands):
        return invalid(f"{_INVALID}KeyConditionExpressions cannot contain nested operations")
    if sum(isinstance(operand, Path) for operand in operands) > 1:
        return invalid(
            f"{_INVALID}Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
        )
    return invalid(f"{_INVALID}Invalid condition in KeyConditionExpression: No key attribute specified")


def _of(path: Path, operator: str, *literals: Literal) -> KeyTest:
    name = path.steps[0]
    if len(path.steps) > 1 or not isinstance(name, str):
        raise invalid(f"{_INVALID}KeyConditionExpressions cannot have conditions on nested attributes")
    return KeyTest(name, operator, tuple(literal.value for literal in literals if literal.value is not None))


def stretch_of(
    tests: Sequence[KeyTest], keys: Sequence[str], kinds: dict[str, str], *, hashes: int = 1, is_legacy: bool = False
) -> Stretch:
    """Where a Query looks; a refusal where its conditions do not name one partition, of whose key there are `hashes` parts."""
    named = {test.name: test for test in tests}
    if len(named) < len(tests):
        raise invalid("KeyConditionExpressions must only contain one condition per key")
    partition, sort = keys[:hashes], keys[hashes:]
    has_too_many = len(tests) > max(2, len(keys))
    for name in partition:
        if name not in named:
            if has_too_many and not is_legacy:
                raise invalid("Conditions can be of length 1 or 2 only")
            raise _missed(name)
    if has_too_many or named.keys() - set(keys):
        if is_legacy and has_too_many:
            raise invalid("Conditions can be of length 1 or 2 only")
        if sort and len(tests) == hashes + 1:
            raise _missed(sort[0])
        raise _unsupported()
    given = [name for name in sort if name in named]
    if given != list(sort[: len(given)]):
        raise _missed(next(name for name in sort if name not in named))
    if any(named[name].operator != "=" for name in (*partition, *given[:-1])):
        raise _unsupported()
    for test in tests:
        for value in test.values:
            _check_value(test, value, kinds[test.name])
    first = b"".join(part(named[name].values[0]) for name in partition)
    prefix = hashed(first) + first
    whole = (prefix, following(prefix))
    prefix += b"".join(part(named[name].values[0]) for name in given[:-1])
    low, high = _range(prefix, named[given[-1]]) if given else whole
    return Stretch(low, high, *whole)


def _unsupported() -> Refusal:
    return invalid("Query key condition not supported")


def _missed(name: str) -> Refusal:
    return invalid(f"Query condition missed key schema element: {name}")


def _check_value(test: KeyTest, value: Value, kind: str) -> None:
    if kind_of(value) != kind:
        raise wrong_value("Condition parameter type does not match schema type")
    if test.operator == _BEGINS and kind == "N":
        raise invalid(f"{_INVALID}Incorrect operand type for operator or function; operator: begins_with, type: N")
    if next(iter(value.values())) in ("", b"") and test.operator != _BEGINS:
        kind_name = "string" if kind == "S" else "binary"
        raise invalid(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            f"empty {kind_name} value. Key: {test.name}"
        )


def _range(prefix: bytes, test: KeyTest) -> tuple[bytes, bytes]:
    first = prefix + part(test.values[0])
    if test.operator == _BEGINS:
        start = prefix + escaped(test.values[0])
        return start, following(start)
    if test.operator == _BETWEEN:
        return first, following(prefix + part(test.values[1]))
    low = {"=": first, ">=": first, ">": following(first)}.get(test.operator, prefix)
    high = {"=": following(first), "<=": following(first), "<": first}.get(test.operator, following(prefix))
    return low, high
