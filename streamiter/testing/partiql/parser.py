"""PartiQL's grammar, as far as DynamoDB has it: terms from words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamiter.testing.http.refusal import invalid
from streamiter.testing.partiql.terms import Call, Infix, Not, Path, Term, Value
from streamiter.testing.partiql.words import Words, malformed

_COMPARISONS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_KEYWORDS = {"TRUE": {"BOOL": True}, "FALSE": {"BOOL": False}, "NULL": {"NULL": True}}


class Parser:
    """Reads the parts of one statement; parameters take the places of question marks in turn."""

    def __init__(self, statement: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        self.words = Words(statement)
        self._parameters = list(parameters)
        self._asked = 0

    def end(self) -> None:
        """The statement ends here, and every parameter had its place."""
        self.words.take_if(";")
        if self.words.next.kind != "end":
            raise malformed(f"unexpected {self.words.next.says!r}")
        if self._asked != len(self._parameters):
            raise _wrong_count()

    def table(self) -> tuple[str, str | None]:
        """A table's name, and an index's behind it."""
        name = self.words.take_name()
        return name, self.words.take_name() if self.words.take_if(".") else None

    def path(self) -> Path:
        """An attribute, or a place in one."""
        steps: list[str | int] = [self.words.take_name()]
        while True:
            if self.words.take_if("."):
                steps.append(self.words.take_name())
            elif self.words.take_if("["):
                index = self.words.take()
                steps.append(int(index.says) if index.says.isdecimal() else index.says)
                self.words.expect("]")
            else:
                return Path(tuple(steps))

    def paths(self) -> list[Path]:
        """Some of them, with commas between."""
        return self._several(self.path)

    def value(self) -> Value:
        """A literal or a parameter."""
        words = self.words
        sign = "-" if words.take_if("-") else ""
        token = words.take()
        if token.kind == "number":
            return Value({"N": sign + token.says})
        if token.kind == "text" and not sign:
            return Value({"S": token.says})
        if token.kind == "word" and token.says.upper() in _KEYWORDS and not sign:
            return Value(_KEYWORDS[token.says.upper()])
        if token.kind != "sign" or sign:
            raise malformed(f"a value is expected where {token.says or 'the end'!r} stands")
        if token.says == "?":
            return self._parameter()
        if token.says == "{":
            return Value({"M": dict(self._until("}", self._member))})
        if token.says == "[":
            return Value({"L": self._until("]", self._typed)})
        if token.says == "<<":
            return Value(_set(self._until(">>", self._typed)))
        raise malformed(f"a value is expected where {token.says!r} stands")

    def operand(self) -> Term:
        """A value, a path or a function of them, and what is added to it."""
        term = self._operand()
        for sign in "+-":
            if self.words.take_if(sign):
                return Infix((sign,), (term, self._operand()))
        return term

    def condition(self) -> Term:
        """What WHERE says."""
        return self._chain("OR", lambda: self._chain("AND", self._negated))

    # -- inside

    def _chain(self, word: str, part: Any) -> Term:
        terms = [part()]
        while self.words.take_if(word):
            terms.append(part())
        return terms[0] if len(terms) == 1 else Infix((word,) * (len(terms) - 1), tuple(terms))

    def _negated(self) -> Term:
        return Not(self._negated()) if self.words.take_if("NOT") else self._comparison()

    def _comparison(self) -> Term:
        words = self.words
        if words.take_if("("):
            inner = self.condition()
            words.expect(")")
            return inner
        left = self.operand()
        if words.next.kind == "sign" and words.next.says in _COMPARISONS:
            return Infix((_COMPARISONS[words.take().says],), (left, self.operand()))
        if words.take_if("BETWEEN"):
            low = self.operand()
            words.expect("AND")
            return Infix(("BETWEEN", "AND"), (left, low, self.operand()))
        if words.take_if("IN"):
            return self._one_of(left)
        if words.take_if("IS"):
            return self._is(left)
        return left

    def _one_of(self, left: Term) -> Term:
        closing = "]" if self.words.take_if("[") else ")"
        if closing == ")":
            self.words.expect("(")
        choices = self._until(closing, self.operand)
        if not choices:
            raise malformed("IN takes one value at least")
        either = [Infix(("=",), (left, choice)) for choice in choices]
        return either[0] if len(either) == 1 else Infix(("OR",) * (len(either) - 1), tuple(either))

    def _is(self, left: Term) -> Term:
        is_not = self.words.take_if("NOT")
        if self.words.take_if("MISSING"):
            return Call("attribute_exists" if is_not else "attribute_not_exists", (left,))
        self.words.expect("NULL")
        is_null = Call("attribute_type", (left, Value({"S": "NULL"})))
        return Not(is_null) if is_not else is_null

    def _operand(self) -> Term:
        token = self.words.next
        if token.kind == "quoted" or (token.kind == "word" and token.says.upper() not in _KEYWORDS):
            path = self.path()
            if token.kind == "word" and len(path.steps) == 1 and self.words.take_if("("):
                return Call(token.says.lower(), tuple(self._until(")", self.operand)))
            return path
        return self.value()

    def _typed(self) -> Mapping[str, Any]:
        return self.value().typed

    def _member(self) -> tuple[str, Mapping[str, Any]]:
        token = self.words.take()
        if token.kind not in ("text", "quoted"):
            raise malformed(f"a name in quotes is expected where {token.says or 'the end'!r} stands")
        self.words.expect(":")
        return token.says, self._typed()

    def _parameter(self) -> Value:
        self._asked += 1
        if self._asked > len(self._parameters):
            raise _wrong_count()
        return Value(self._parameters[self._asked - 1])

    def _several(self, part: Any) -> list[Any]:
        parts = [part()]
        while self.words.take_if(","):
            parts.append(part())
        return parts

    def _until(self, closing: str, part: Any) -> list[Any]:
        if self.words.take_if(closing):
            return []
        parts = self._several(part)
        self.words.expect(closing)
        return parts


def _set(elements: list[Mapping[str, Any]]) -> dict[str, Any]:
    kinds = {kind for element in elements for kind in element}
    if len(kinds) != 1 or not kinds <= {"S", "N", "B"}:
        raise malformed("a set has texts, numbers or binary, of one kind alone")
    [kind] = kinds
    return {f"{kind}S": [element[kind] for element in elements]}


def _wrong_count() -> Exception:
    return invalid("Number of parameters in request and statement don't match.")
