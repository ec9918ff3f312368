"""PartiQL's terms: paths, values and conditions as they were parsed, and as DynamoDB's own expressions.

A statement's WHERE holds the key of its item beside conditions; only when the key is taken out is it known which names and
values the expressions need, so that terms are written out last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Path(NamedTuple):
    """An attribute, or a place within one: names and indexes."""

    steps: tuple[str | int, ...]


class Value(NamedTuple):
    """A value, as DynamoDB's JSON."""

    typed: Mapping[str, Any]


class Call(NamedTuple):
    """A function of terms."""

    name: str
    terms: tuple[Any, ...]


class Infix(NamedTuple):
    """Terms with words or signs between them: `a AND b AND c`, `a = b`, `a BETWEEN b AND c`."""

    words: tuple[str, ...]
    terms: tuple[Any, ...]


class Not(NamedTuple):
    """A condition that is not to hold."""

    term: Any


Term = Path | Value | Call | Infix | Not


class Expressions:
    """The names and values that the expressions of one request share."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: list[Mapping[str, Any]] = []

    def write(self, term: Term) -> str:
        """A term as DynamoDB's expressions have it."""
        if isinstance(term, Path):
            return self._path(term)
        if isinstance(term, Value):
            self._values.append(term.typed)
            return f":v{len(self._values) - 1}"
        if isinstance(term, Call):
            return f"{term.name}({', '.join(map(self.write, term.terms))})"
        if isinstance(term, Not):
            return f"(NOT {self.write(term.term)})"
        first, *others = map(self.write, term.terms)
        text = first + "".join(f" {word} {other}" for word, other in zip(term.words, others, strict=True))
        return f"({text})" if term.words[0].isalpha() else text

    @property
    def members(self) -> dict[str, Any]:
        """The members of the request that say what the names and values are."""
        members: dict[str, Any] = {}
        if self._names:
            members["ExpressionAttributeNames"] = {place: name for name, place in self._names.items()}
        if self._values:
            members["ExpressionAttributeValues"] = {f":v{place}": value for place, value in enumerate(self._values)}
        return members

    def _path(self, path: Path) -> str:
        text = ""
        for step in path.steps:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += ("." if text else "") + self._names.setdefault(step, f"#n{len(self._names)}")
        return text


def conjuncts(term: Term | None) -> list[Term]:
    """The conditions that all have to hold."""
    if term is None:
        return []
    if isinstance(term, Infix) and set(term.words) == {"AND"}:
        return [part for inner in term.terms for part in conjuncts(inner)]
    return [term]


def all_of(terms: list[Term]) -> Term:
    """The condition that all of these hold."""
    return terms[0] if len(terms) == 1 else Infix(("AND",) * (len(terms) - 1), tuple(terms))


def attributes_of(term: Term) -> Iterator[str]:
    """The attributes that a term looks at."""
    if isinstance(term, Path):
        yield str(term.steps[0])
    elif isinstance(term, Not):
        yield from attributes_of(term.term)
    elif isinstance(term, Call | Infix):
        for inner in term.terms:
            yield from attributes_of(inner)
