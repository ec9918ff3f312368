"""The grammar: the text of a condition, a projection or an update as a tree, whatever names and values it uses.

    condition   either ("OR" either)*          either  negated ("AND" negated)*       negated  "NOT"* single
    single      "(" condition ")" | function | operand compares operand | operand "BETWEEN" operand "AND" operand
                | operand "IN" "(" operand ("," operand)* ")"
    operand     path | value | function | "(" operand ")"
    path        name ("." name | "[" number "]")*
    update      ("SET" path "=" sum ("," ...)* | "REMOVE" path ("," path)* | ("ADD" | "DELETE") path value ("," ...)*)+
    sum         operand (("+" | "-") operand)?

What was parsed once is remembered: a client sends few expressions, many times each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TypeVar

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
from streamiter.testing.expressions.words import MOST_STEPS, Malformed, Words

_Part = TypeVar("_Part")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_CLAUSES = ("SET", "REMOVE", "ADD", "DELETE")
_REMEMBERED = 1024

# How many operands a function takes.
OPERANDS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
    "if_not_exists": 2,
    "list_append": 2,
}
MOST_CHOICES = 100


@lru_cache(_REMEMBERED)
def parse_condition(text: str) -> Condition:
    """A condition, a filter or a key condition."""
    words = Words(text)
    condition = _condition(words)
    _end(words)
    words.check_parentheses()
    return condition


@lru_cache(_REMEMBERED)
def parse_projection(text: str) -> tuple[Path, ...]:
    """The places that a projection names."""
    words = Words(text)
    paths = tuple(_several(words, _path))
    _end(words)
    return paths


@lru_cache(_REMEMBERED)
def parse_update(text: str) -> Update:
    """The actions of an update, in the order of the text."""
    words = Words(text)
    changes: list[Change] = []
    seen: set[str] = set()
    while not words.is_at_end:
        clause = words.next.text.upper()
        if clause not in _CLAUSES:
            raise words.error()
        words.take()
        if clause in seen:
            raise Malformed(f'The "{clause}" section can only be used once in an update expression;')
        seen.add(clause)
        changes += _several(words, partial(_change, clause=clause))
    return tuple(changes)


def _end(words: Words) -> None:
    if not words.is_at_end:
        raise words.error()


def _several(words: Words, part: Callable[[Words], _Part]) -> list[_Part]:
    parts = [part(words)]
    while words.take_if(","):
        parts.append(part(words))
    return parts


# -- conditions


def _condition(words: Words) -> Condition:
    return _chain(words, "OR", lambda words: _chain(words, "AND", _negated))


def _chain(words: Words, word: str, part: Callable[[Words], Condition]) -> Condition:
    conditions = [part(words)]
    while words.take_if(word):
        words.count()
        conditions.append(part(words))
    return conditions[0] if len(conditions) == 1 else Chain(word, tuple(conditions))


def _negated(words: Words) -> Condition:
    times = 0
    while words.take_if("NOT"):
        words.count()
        times += 1
    condition = _single(words)
    for _ in range(times):
        condition = Not(condition)
    return condition


def _single(words: Words) -> Condition:
    if words.next.text != "(":
        return _comparison(words)
    mark = words.mark()
    try:
        words.enter()
        condition = _condition(words)
        words.leave()
    except Malformed as error:
        refused = error
    else:
        if not _is_operator(words):
            return condition
        refused = words.error()
    words.return_to(mark)  # `(a) = b`: what stands in parentheses may be an operand, too
    try:
        return _comparison(words)
    except Malformed:
        raise refused from None


def _is_operator(words: Words) -> bool:
    return words.next.text in _COMPARISONS or words.says("BETWEEN") or words.says("IN")


def _comparison(words: Words) -> Condition:
    left = _operand(words)
    if words.next.text in _COMPARISONS:
        words.count()
        return Comparison(words.take().text, left, _operand(words))
    if words.take_if("BETWEEN"):
        words.count()
        low = _operand(words)
        words.expect("AND")
        return Between(left, low, _operand(words))
    if words.take_if("IN"):
        words.count()
        words.expect("(")
        choices = _several(words, _operand)
        words.expect(")")
        if len(choices) > MOST_CHOICES:
            raise Malformed(
                f"The IN operator is provided with too many operands; number of operands: {len(choices)}, "
                f"maximum: {MOST_CHOICES}"
            )
        return OneOf(left, tuple(choices))
    if isinstance(left, Function):
        return left
    raise words.error()


# -- operands


def _operand(words: Words) -> Operand:
    if words.next.text == "(":
        words.enter()
        operand = _operand(words)
        words.leave()
        return operand
    if words.next.is_value:
        return Literal(words.take().text)
    if words.next.is_name and words.after_next.text == "(" and not words.next.text.startswith("#"):
        return _function(words)
    return _path(words)


def _function(words: Words) -> Function:
    words.count()
    name = words.take().text
    words.enter()
    arguments = tuple(_several(words, _operand))
    words.leave()
    return Function(name, arguments)


def _path(words: Words) -> Path:
    if not words.next.is_name:
        raise words.error()
    steps: list[str | int] = [words.take().text]
    while True:
        if words.take_if("."):
            if not words.next.is_name:
                raise words.error()
            steps.append(words.take().text)
        elif words.take_if("["):
            if not words.next.text.isdecimal():
                raise words.error()
            steps.append(_index(words.take().text))
            words.expect("]")
        elif len(steps) > MOST_STEPS:
            raise Malformed(f"The document path has too many nesting elements; nesting elements: {len(steps)}")
        else:
            return Path(tuple(steps))


def _index(text: str) -> int:
    if len(text) > 10 or int(text) >= 1 << 31:
        raise Malformed(f"List index is not within the allowable range; index: [{text}]")
    return int(text)


# -- updates


def _change(words: Words, clause: str) -> Change:
    path = _path(words)
    if clause == "REMOVE":
        return Change(clause, path)
    if clause == "SET":
        words.expect("=")
        return Change(clause, path, _sum(words))
    words.count()
    if not words.next.is_value:
        raise words.error()
    return Change(clause, path, Literal(words.take().text))


def _sum(words: Words) -> Operand:
    words.count()
    if words.next.text == "(":
        words.enter()
        inner = _sum(words)
        words.leave()
        return inner
    left = _operand(words)
    if words.next.text in ("+", "-"):
        return Sum(words.take().text, left, _operand(words))
    return left
