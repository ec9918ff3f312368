"""Drawn: items, values and conditions by Hypothesis, and conditions as the text that a client would send."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

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

NAMES = ("a", "b", "c1", "d_e")
PLACEHOLDERS = (":v", ":w", ":x1")

numbers = st.integers(-20, 20).map(lambda number: {"N": str(number)})
texts = st.text("ab\u00e9", max_size=3).map(lambda text: {"S": text})
binary = st.binary(max_size=2).map(lambda inner: {"B": inner})
scalars = st.one_of(numbers, texts, binary)
sets = st.one_of(
    st.lists(st.sampled_from("abc"), min_size=1, unique=True).map(lambda inner: {"SS": inner}),
    st.lists(st.sampled_from(["1", "2", "3"]), min_size=1, unique=True).map(lambda inner: {"NS": inner}),
)
values: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.one_of(scalars, sets, st.just({"NULL": True}), st.booleans().map(lambda truth: {"BOOL": truth})),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda elements: {"L": elements}),
        st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(lambda members: {"M": members}),
    ),
    max_leaves=4,
)
items = st.dictionaries(st.sampled_from(NAMES), values, max_size=4)

paths = st.builds(
    lambda name, steps: Path((name, *steps)),
    st.sampled_from(NAMES),
    st.lists(st.one_of(st.sampled_from(NAMES), st.integers(0, 3)), max_size=2),
)
literals = st.sampled_from(PLACEHOLDERS).map(Literal)
operands = st.one_of(paths, literals, st.builds(lambda path: Function("size", (path,)), paths))

_single: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Comparison, st.sampled_from(("=", "<>", "<", "<=", ">", ">=")), operands, operands),
    st.builds(Between, operands, operands, operands),
    st.builds(
        lambda first, choices: OneOf(first, tuple(choices)), operands, st.lists(operands, min_size=1, max_size=3)
    ),
    st.builds(
        lambda name, path: Function(name, (path,)),
        st.sampled_from(("attribute_exists", "attribute_not_exists")),
        paths,
    ),
    st.builds(
        lambda name, path, literal: Function(name, (path, literal)),
        st.sampled_from(("begins_with", "contains", "attribute_type")),
        paths,
        literals,
    ),
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    _single,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(
            lambda word, parts: Chain(word, tuple(parts)),
            st.sampled_from(("AND", "OR")),
            st.lists(inner, min_size=2, max_size=3),
        ),
    ),
    max_leaves=5,
)


def written(term: Condition | Operand) -> str:
    """A term as text, each part of a chain or a negation in parentheses."""
    match term:
        case Path(steps):
            first, *others = steps
            return str(first) + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in others)
        case Literal(name):
            return name
        case Function(name, arguments):
            return f"{name}({', '.join(map(written, arguments))})"
        case Comparison(operator, left, right):
            return f"{written(left)} {operator} {written(right)}"
        case Between(operand, low, high):
            return f"{written(operand)} BETWEEN {written(low)} AND {written(high)}"
        case OneOf(operand, choices):
            return f"{written(operand)} IN ({', '.join(map(written, choices))})"
        case Not(inner):
            return f"NOT ({written(inner)})"
        case Chain(word, parts):
            return f" {word} ".join(f"({written(part)})" for part in parts)
    raise AssertionError(term)
