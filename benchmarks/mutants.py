"""Mutants: every way to break one thing in a module, made from its syntax tree and written into its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from itertools import accumulate
from typing import NamedTuple

PAIRS: list[tuple[type[ast.cmpop], type[ast.cmpop]]] = [
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
]
COMPARISONS = dict(PAIRS) | {right: left for left, right in PAIRS}
EXTREMES = {"max": "min", "min": "max"}


class Mutant(NamedTuple):
    path: str
    line: int
    context: str  # the line as it stands, stripped
    before: str
    after: str
    source: str  # the whole mutated module

    @property
    def change(self) -> str:
        return f"{self.before} → {self.after}"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.change}"


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Each mutant of a module, in the order of its lines; every one of them compiles."""
    text = source.encode()  # ast counts columns in bytes of UTF-8
    lines = text.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    seen = set()
    for node, replacement in sorted(changes(ast.parse(source)), key=lambda change: position(change[0])):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        after = ast.unparse(replacement)
        # Parentheses keep an expression whole, whatever stands around it.
        written = f"({after})" if isinstance(replacement, ast.expr) else after
        mutated = (text[:start] + written.encode() + text[end:]).decode()
        compile(mutated, path, "exec")
        if mutated not in seen:  # `while True` turns False both as a condition and as a constant
            seen.add(mutated)
            context = lines[node.lineno - 1].decode().strip()
            yield Mutant(path, node.lineno, context, ast.unparse(node), after, mutated)


Change = tuple[ast.expr | ast.stmt, ast.expr | ast.stmt]


def position(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def changes(node: ast.AST) -> Iterator[Change]:
    """What to put in the place of what, in `node` and below it."""
    if isinstance(node, ast.stmt):
        yield from ((node, changed) for changed in statements_instead(node))
    if isinstance(node, ast.expr):
        yield from ((node, changed) for changed in expressions_instead(node))
    yield from ((test, ast.Constant(value)) for test, value in conditions_of(node))
    for child in logic_below(node):
        yield from changes(child)


def logic_below(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node in which something is decided: no types, no asserts, no texts that somebody reads."""
    if isinstance(node, ast.AnnAssign):
        yield from [node.value] if node.value else []
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body)
    elif isinstance(node, ast.ClassDef):
        yield from node.body
    elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        yield from node.orelse
    elif not isinstance(node, ast.Assert | ast.JoinedStr):
        yield from ast.iter_child_nodes(node)


def conditions_of(node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Conditions, and what to make of them."""
    if isinstance(node, ast.If | ast.IfExp) and "TYPE_CHECKING" not in ast.unparse(node.test):
        yield from ((node.test, value) for value in (True, False))
    if isinstance(node, ast.While):
        yield node.test, False  # True would only run until the timeout
    if isinstance(node, ast.comprehension):
        yield from ((test, value) for test in node.ifs for value in (True, False))


def statements_instead(node: ast.stmt) -> Iterator[ast.stmt]:
    match node:
        case ast.Expr(value=ast.Constant()):
            return  # a docstring, or `...`
        case ast.Expr() | ast.Delete():
            yield ast.Pass()
        case (
            ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_])
            | ast.AnnAssign(target=ast.Attribute() | ast.Subscript(), value=ast.expr())
        ):
            yield ast.Pass()
        case ast.AugAssign(target=target, op=op, value=value):
            if isinstance(op, ast.Add | ast.Sub):
                yield ast.AugAssign(target, other_sign(op), value)
            if not isinstance(target, ast.Name):
                yield ast.Pass()
        case ast.Return(value=None | ast.Constant(value=None | False)):
            return  # a caller that asks yes or no cannot tell False from None
        case ast.Return():
            yield ast.Return(ast.Constant(None))
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()


def expressions_instead(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for place, op in enumerate(ops):
                changed = [*ops[:place], COMPARISONS[type(op)](), *ops[place + 1 :]]
                yield ast.Compare(left, changed, comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield ast.BinOp(left, other_sign(op), right)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in EXTREMES:
            swapped = copy(node)
            swapped.func = ast.Name(EXTREMES[name], ast.Load())
            yield swapped


def other_sign(op: ast.operator) -> ast.operator:
    return ast.Sub() if isinstance(op, ast.Add) else ast.Add()
