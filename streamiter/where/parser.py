"""The parser: a text as a tree of clauses, or what is wrong with it, and where."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from streamiter.terminal import printable
from streamiter.where.clauses import (
    Both,
    Changed,
    Clause,
    Comparison,
    Either,
    Exists,
    Membership,
    Named,
    Not,
    Operand,
    Typed,
)
from streamiter.where.comparing import NUMBER, ORDERINGS, Word
from streamiter.where.fields import NAMES, Field

EVENTS = ("INSERT", "MODIFY", "REMOVE")
_ONLY = {"event": EVENTS, "late": ("true", "false")}  # what there is: anything else would never be found
_IMAGES = ("new", "old")
OPERATORS = ("!=", "<=", ">=", "^=", "*=", "=", "<", ">")
_OPERATORS_OF = {"late": ("=", "!="), "event": ("=", "!=", "^=", "*=")}
_DEEPEST = 50  # parentheses and nots within each other
_LONGEST_SHOWN = 60  # cells before the caret
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'[^']*'|\"(?:[^\"\\]|\\.)*\")|(?P<sign>!=|<=|>=|\^=|\*=|==|[=<>(),])|(?P<word>[^\s=<>!^*(),'\"]+))"
)


class WhereError(ValueError):
    """The text is wrong, at this place."""

    def __init__(self, text: str, at: int, message: str) -> None:
        super().__init__(message)
        self.text = text
        self.at = at

    @property
    def shown(self) -> str:
        """The message, and the text with a caret under the place."""
        # Escaped as it will be printed, so that the caret still stands under the place.
        before, after = (
            printable(" ".join(part.splitlines())) for part in (self.text[: self.at], self.text[self.at :])
        )
        if self.text[: self.at].endswith(("\n", "\r")):
            before += " "
        if len(before) > _LONGEST_SHOWN:  # a long text is shown around the place
            before = "…" + before[10 - _LONGEST_SHOWN :]
        return f"{self}\n  {before}{after[:40]}\n  {' ' * _cells(before)}^"


class _Token(NamedTuple):
    kind: str  # text, sign, word, end
    text: str
    at: int


def parse_clause(text: str) -> Clause:
    """The clause that the text describes; WhereError says where it goes wrong."""
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._place = 0
        self._depth = 0

    def parse(self) -> Clause:
        clause = self._any()
        if self._next.kind != "end":
            raise self._wrong("expected 'and', 'or' or the end")
        return clause

    def _any(self) -> Clause:
        clauses = [self._all()]
        while self._takes_word("or"):
            clauses.append(self._all())
        return clauses[0] if len(clauses) == 1 else Either(tuple(clauses))

    def _all(self) -> Clause:
        clauses = [self._one()]
        while self._takes_word("and"):
            clauses.append(self._one())
        return clauses[0] if len(clauses) == 1 else Both(tuple(clauses))

    def _one(self) -> Clause:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong("too deeply nested")
        try:
            if self._takes_word("not"):
                return Not(self._one())
            if self._takes_sign("("):
                clause = self._any()
                self._expect_sign(")")
                return clause
            return self._asked()
        finally:
            self._depth -= 1

    # -- what is asked of a record

    def _asked(self) -> Clause:
        if self._is_call("changed"):
            return self._changed()
        if self._is_call("exists"):
            self._skip(2)
            named = self._field(images_alone=True)
            self._expect_sign(")")
            return Exists(named)
        left = self._field()
        if left.field.name == "late" and not self._is_operator():
            return Comparison(left, "=", Typed(Word("true")))  # `late` says it all
        return self._compared(left)

    def _changed(self) -> Changed:
        self._skip(2)
        token = self._next
        path = tuple(token.text.split("."))
        if token.kind != "word" or not all(path):
            raise self._wrong("expected an attribute's name, such as changed(status)")
        if path[0].lower() in NAMES and len(path) > 1:
            rest = ".".join(path[1:])
            raise self._wrong(f"expected the attribute's name alone, before and after are both meant: changed({rest})")
        self._skip(1)
        self._expect_sign(")")
        return Changed(Named(Field("old", path), token.at), Named(Field("new", path), token.at))

    def _compared(self, left: Named) -> Clause:
        if self._takes_word("in"):
            self._expect_sign("(")
            choices = [self._operand(left, "=")]
            while self._takes_sign(","):
                choices.append(self._operand(left, "="))
            self._expect_sign(")")
            return Membership(left, tuple(choices))
        if not self._is_operator():
            raise self._wrong(f"expected one of {' '.join(OPERATORS)} or 'in'")
        operator = "=" if self._next.text == "==" else self._next.text
        fitting = _OPERATORS_OF.get(left.field.name, OPERATORS)
        if operator not in fitting:
            raise self._wrong(f"'{left.field.name}' is compared by {' '.join(fitting)} or 'in'")
        self._skip(1)
        return Comparison(left, operator, self._operand(left, operator))

    def _field(self, *, images_alone: bool = False) -> Named:
        token = self._next
        name, _, rest = token.text.partition(".")
        if token.kind != "word" or name.lower() not in NAMES:
            raise self._wrong(
                f"expected one of {', '.join(told for tolds in NAMES.values() for told in tolds)}{_meant(token)}"
            )
        field = Field(name.lower(), tuple(rest.split(".")) if rest else ())
        self._check(field, token.text, images_alone=images_alone)
        self._skip(1)
        return Named(field, token.at)

    def _check(self, field: Field, text: str, *, images_alone: bool) -> None:
        told = NAMES[field.name]
        is_image = images_alone and field.name in _IMAGES and text.lower() == field.name
        if field.name not in told and not is_image and not all(field.path or [""]):
            raise self._wrong(f"expected {told[0]}: an attribute")
        if field.path and (told == (field.name,) or not all(field.path)):
            raise self._wrong(f"'{field.name}' has no parts")

    def _operand(self, left: Named, operator: str) -> Operand:
        token = self._next
        if token.kind not in ("text", "word"):
            raise self._wrong("expected a value: a word, a number, text in quotes, or another attribute")
        if token.kind == "word" and (name := token.text.partition(".")[0].lower()) in NAMES:
            if "." in token.text:
                return self._field()
            if name not in _IMAGES:  # it may be meant either way, and one of the two prints wrong rows
                raise self._wrong(f"expected a value: for the text write it in quotes, '{token.text}'")
        self._check_value(left.field, operator, token)
        self._skip(1)
        return Typed(_value_of(left.field, token))

    def _check_value(self, left: Field, operator: str, token: _Token) -> None:
        only = _ONLY.get(left.name, ()) if operator in ("=", "!=") else ()
        if only and token.text.strip("'\"").lower() not in map(str.lower, only):
            raise self._wrong(f"expected {', '.join(only[:-1])} or {only[-1]}")
        if left.name == "shard" and operator in ORDERINGS and token.kind == "word" and NUMBER.fullmatch(token.text):
            raise self._wrong(f"a shard's id is text: write it in quotes, '{token.text}'")

    # -- tokens

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _skip(self, count: int) -> None:
        self._place += count

    def _is_operator(self) -> bool:
        token = self._next
        is_in = token.kind == "word" and token.text.lower() == "in"
        return is_in or (token.kind == "sign" and token.text not in "(),")

    def _is_call(self, name: str) -> bool:
        token = self._next
        if token.kind != "word" or token.text.lower() != name:
            return False
        following = self._tokens[self._place + 1]
        if (following.kind, following.text) != ("sign", "("):
            self._skip(1)
            raise self._wrong(f"expected '(' after '{name}'")
        return True

    def _takes_word(self, word: str) -> bool:
        if self._next.kind == "word" and self._next.text.lower() == word:
            self._skip(1)
            return True
        return False

    def _takes_sign(self, sign: str) -> bool:
        if self._next.kind == "sign" and self._next.text == sign:
            self._skip(1)
            return True
        return False

    def _expect_sign(self, sign: str) -> None:
        if not self._takes_sign(sign):
            raise self._wrong(f"expected '{sign}'")

    def _wrong(self, message: str) -> WhereError:
        token = self._next
        found = "the end" if token.kind == "end" else repr(token.text)
        wanted, mark, meant = message.partition("; ")
        return WhereError(self._text, token.at, f"{wanted}, found {found}{mark}{meant}")


def _meant(token: _Token) -> str:
    """What a word that is no field may have meant: an attribute, without the image that it is of."""
    is_attribute = token.kind == "word" and token.text.isidentifier() and token.text.lower() not in ("and", "or", "in")
    return f"; an attribute of the row is written new.{token.text} or old.{token.text}" if is_attribute else ""


def _value_of(left: Field, token: _Token) -> str:
    text = token.text.upper() if left.name == "event" else token.text  # insert is INSERT
    if token.kind == "word":
        return Word(text)
    if left.name == "late":
        return Word(text[1:-1])  # it is true or false, also in quotes
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL) if text[0] == '"' else text[1:-1]


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    kinds = [(unicodedata.category(sign), unicodedata.east_asian_width(sign)) for sign in text]
    return sum(0 if kind in ("Mn", "Mc", "Me", "Cf") else 2 if width in "WF" else 1 for kind, width in kinds)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            what = "this text in quotes does not end" if text[at] in "'\"" else f"{text[at]!r} has no meaning here"
            raise WhereError(text, at, what)
        kind = match.lastgroup or ""
        yield _Token(kind, match[kind], match.start(kind))
        at = match.end()
    yield _Token("end", "", len(text.rstrip()))
