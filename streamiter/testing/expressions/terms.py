"""Terms: what an expression says, as a tree of placeholders until `binding.py` puts names and values in."""

from __future__ import annotations

from typing import Any, NamedTuple


class Path(NamedTuple):
    """A place in an item: an attribute, then names and indexes."""

    steps: tuple[str | int, ...]

    def __str__(self) -> str:
        return f"[{', '.join(f'[{step}]' if isinstance(step, int) else step for step in self.steps)}]"


class Literal(NamedTuple):
    """A value: by its placeholder, or bound."""

    name: str
    value: dict[str, Any] | None = None


class Function(NamedTuple):
    """A function of operands, in a condition or an update."""

    name: str
    arguments: tuple[Operand, ...]


class Sum(NamedTuple):
    """`a + b` or `a - b`, in an update."""

    sign: str
    left: Operand
    right: Operand


class Comparison(NamedTuple):
    """`a = b`, and its like."""

    operator: str
    left: Operand
    right: Operand


class Between(NamedTuple):
    """`a BETWEEN low AND high`."""

    operand: Operand
    low: Operand
    high: Operand


class OneOf(NamedTuple):
    """`a IN (b, c)`."""

    operand: Operand
    choices: tuple[Operand, ...]


class Not(NamedTuple):
    """`NOT a`."""

    condition: Condition


class Chain(NamedTuple):
    """`a AND b AND c`, or the same with OR."""

    word: str
    conditions: tuple[Condition, ...]


class Change(NamedTuple):
    """One action of an update."""

    clause: str  # SET, REMOVE, ADD or DELETE
    path: Path
    operand: Operand | None = None  # of REMOVE there is none


Operand = Path | Literal | Function | Sum
Condition = Function | Comparison | Between | OneOf | Not | Chain
Update = tuple[Change, ...]
