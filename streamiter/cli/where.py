"""Where: the small language of `--where`, which picks records by event, key and images; nothing is ever evaluated as code.

event = MODIFY and key = A1234            key: any part of the row's key
event in (INSERT, REMOVE)                 key.NAME, new.NAME, old.NAME, shard, late
payload.page = 3 or payload *= error      of Kinesis records that are no changes of rows; their key is the partition key
new.total >= 10 and not old.status = paid       = != < <= > >=, ^= begins with, *= contains
(key ^= A or key ^= B) and new.customer = "ann lee"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from rich.cells import cell_len

from streamiter.cli.fields import NAMES, Field, read_field, why_not_of
from streamiter.demo.screen import printable
from streamiter.record import Record

Test = Callable[[Record], bool]

EVENTS = ("INSERT", "MODIFY", "REMOVE")
_ONLY = {"event": EVENTS, "late": ("true", "false")}  # what there is: anything else would never be found
OPERATORS = ("!=", "<=", ">=", "^=", "*=", "=", "<", ">")
_DEEPEST = 50  # parentheses and nots within each other
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
        if len(before) > 60:  # a long text is shown around the place
            before = "…" + before[-50:]
        return f"{self}\n  {before}{after[:40]}\n  {' ' * cell_len(before)}^"


class _Token(NamedTuple):
    kind: str  # text, sign, word, end
    text: str
    at: int


class Where:
    """What a text asks of a record, and the fields that it names."""

    def __init__(self, text: str, test: Test, fields: list[tuple[Field, int]]) -> None:
        self._text = text
        self._test = test
        self._fields = fields  # and where in the text each stands

    def __call__(self, record: Record) -> bool:
        return self._test(record)

    def check_for(self, record_type: type[Record] | None) -> None:
        """WhereError where records of this type lack a field, so that nothing would ever fit."""
        for field, at in self._fields:
            why = None if record_type is None else why_not_of(field, record_type)
            if why is not None:
                raise WhereError(self._text, at, why)


def parse_where(text: str) -> Where:
    """The test that the text describes; WhereError says where it goes wrong."""
    parser = _Parser(text)
    return Where(text, parser.parse(), parser.fields)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._depth = 0
        self.fields: list[tuple[Field, int]] = []

    def parse(self) -> Test:
        test = self._any()
        if self._next.kind != "end":
            raise self._wrong("expected 'and', 'or' or the end")
        return test

    def _any(self) -> Test:
        tests = [self._all()]
        while self._takes_word("or"):
            tests.append(self._all())
        return tests[0] if len(tests) == 1 else lambda record: any(test(record) for test in tests)

    def _all(self) -> Test:
        tests = [self._one()]
        while self._takes_word("and"):
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda record: all(test(record) for test in tests)

    def _one(self) -> Test:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong("too deeply nested")
        try:
            if self._takes_word("not"):
                test = self._one()
                return lambda record: not test(record)
            if self._takes_sign("("):
                test = self._any()
                self._expect_sign(")")
                return test
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Test:
        name = self._next.text.lower()
        read = self._field()
        operator = self._next.text
        only = _ONLY.get(name, ()) if operator in ("=", "==", "!=") or operator.lower() == "in" else ()
        if self._takes_word("in"):
            self._expect_sign("(")
            values = [self._value(name, only)]
            while self._takes_sign(","):
                values.append(self._value(name, only))
            self._expect_sign(")")
            return lambda record: any(_is_equal(found, value) for found in read(record) for value in values)
        if self._next.kind != "sign" or self._next.text in "(),":
            raise self._wrong(f"expected one of {' '.join(OPERATORS)} or 'in'")
        operator = self._take().text
        value = self._value(name, only)
        compare = _COMPARISONS["=" if operator == "==" else operator]
        if operator == "!=":
            return lambda record: not any(_is_equal(found, value) for found in read(record))
        return lambda record: any(compare(found, value) for found in read(record))

    def _field(self) -> Callable[[Record], Iterator[Any]]:
        token = self._next
        name, _, rest = token.text.partition(".")
        if token.kind != "word" or name.lower() not in NAMES:
            raise self._wrong(f"expected one of {', '.join(told for tolds in NAMES.values() for told in tolds)}")
        field = Field(name.lower(), tuple(rest.split(".")) if rest else ())
        told = NAMES[field.name]
        if field.name not in told and not all(field.path or [""]):
            raise self._wrong(f"expected {told[0]}: an attribute")
        if field.path and (told == (field.name,) or not all(field.path)):
            raise self._wrong(f"'{field.name}' has no parts")
        self._take()
        self.fields.append((field, token.at))
        return lambda record: read_field(record, field)

    def _value(self, name: str, only: tuple[str, ...]) -> str:
        token = self._next
        if token.kind not in ("text", "word"):
            raise self._wrong("expected a value: a word, a number, or text in quotes")
        if only and token.text.strip("'\"").lower() not in map(str.lower, only):
            raise self._wrong(f"expected {', '.join(only[:-1])} or {only[-1]}")
        self._take()
        text = token.text.upper() if name == "event" else token.text  # insert is INSERT
        if token.kind == "word":
            return _Word(text)
        if name == "late":
            return _Word(text[1:-1])  # it is true or false, also in quotes
        return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] == '"' else text[1:-1]

    @property
    def _next(self) -> _Token:
        return self._tokens[0]

    def _take(self) -> _Token:
        return self._tokens.pop(0)

    def _takes_word(self, word: str) -> bool:
        if self._next.kind == "word" and self._next.text.lower() == word:
            self._take()
            return True
        return False

    def _takes_sign(self, sign: str) -> bool:
        if self._next.kind == "sign" and self._next.text == sign:
            self._take()
            return True
        return False

    def _expect_sign(self, sign: str) -> None:
        if not self._takes_sign(sign):
            raise self._wrong(f"expected '{sign}'")

    def _wrong(self, message: str) -> WhereError:
        token = self._next
        found = "the end" if token.kind == "end" else repr(token.text)
        return WhereError(self._text, token.at, f"{message}, found {found}")


class _Word(str):
    """A value without quotes: it may be meant as a number, true, false or null, too."""


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


def _is_equal(found: Any, value: str) -> bool:
    if isinstance(found, str):
        return found == value
    meant = _meant(value)
    if isinstance(found, bool) or found is None:
        return found is meant
    if isinstance(found, Decimal | int):
        return isinstance(meant, Decimal) and found == meant
    if isinstance(found, set | list):
        return any(_is_equal(part, value) for part in found)
    return False


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, str], bool]:
    def test(found: Any, value: str) -> bool:
        if isinstance(found, str):
            return compare(found, str(value))
        meant = _meant(value)
        if isinstance(found, Decimal | int) and not isinstance(found, bool) and isinstance(meant, Decimal):
            return compare(found, meant)
        return False

    return test


def _contains(found: Any, value: str) -> bool:
    if isinstance(found, str):
        return value in found
    if isinstance(found, set | list):
        return any(_is_equal(part, value) for part in found)
    return isinstance(found, dict) and value in found


def _begins(found: Any, value: str) -> bool:
    return isinstance(found, str | Decimal) and str(found).startswith(value)


def _meant(value: str) -> Any:
    """What a word means beside itself: a number, true, false, null."""
    if not isinstance(value, _Word):
        return value
    if value.lower() in _CONSTANTS:
        return _CONSTANTS[value.lower()]
    try:
        number = Decimal(value)
    except InvalidOperation:
        return value
    return number if number.is_finite() else value


_CONSTANTS = {"true": True, "false": False, "null": None}
_COMPARISONS: dict[str, Callable[[Any, str], bool]] = {
    "=": _is_equal,
    "!=": _is_equal,  # turned round where it is used: an attribute that is not there is different, too
    "<": _ordered(lambda found, value: bool(found < value)),
    "<=": _ordered(lambda found, value: bool(found <= value)),
    ">": _ordered(lambda found, value: bool(found > value)),
    ">=": _ordered(lambda found, value: bool(found >= value)),
    "^=": _begins,
    "*=": _contains,
}
