"""Words: the text of an expression cut into tokens, and the errors of its grammar in the service's words."""

from __future__ import annotations

import re
from typing import NamedTuple

# Hyphens are part of a placeholder, as the Developer Guide has it, but before a value: `#a-:v` is a difference.
_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9_]*|#\w(?:[\w#]|-(?=\w))*|:\w+|[0-9]+|<>|<=|>=|\S", re.ASCII)
END = "<EOF>"

MOST_OPERATORS = 300
MOST_NESTED = 150
MOST_STEPS = 32


class Malformed(Exception):
    """The text is no expression; says why, in the service's words."""


class Token(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        return (self.text[0].isascii() and self.text[0].isalpha()) or (self.text[0] == "#" and len(self.text) > 1)

    @property
    def is_value(self) -> bool:
        return self.text[0] == ":" and len(self.text) > 1


class Words:
    """Tokens, one at a time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._place = 0
        self._operators = 0
        self._nested = 0

    @property
    def next(self) -> Token:
        return self._tokens[self._place]

    @property
    def after_next(self) -> Token:
        return self._tokens[min(self._place + 1, len(self._tokens) - 1)]

    @property
    def is_at_end(self) -> bool:
        return self.next.text == END

    def take(self) -> Token:
        """The next token; the end stays where it is."""
        token = self.next
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token

    def says(self, word: str) -> bool:
        """Whether the next token is this word, in upper or lower case."""
        return self.next.text.upper() == word

    def take_if(self, word: str) -> bool:
        """Whether it is, and was taken."""
        is_it = self.says(word)
        if is_it:
            self.take()
        return is_it

    def expect(self, word: str) -> None:
        """Takes this word, and nothing else."""
        if not self.take_if(word):
            raise self.error()

    def count(self, operators: int = 1) -> None:
        """An operator or a function stands here."""
        self._operators += operators
        if self._operators > MOST_OPERATORS:
            raise Malformed(
                f"Expression exceeds the maximum number of operators; number of operators: {self._operators}, "
                f"maximum: {MOST_OPERATORS}"
            )

    def enter(self) -> None:
        """A parenthesis opens."""
        self.expect("(")
        self._nested += 1
        if self._nested > MOST_NESTED:
            raise Malformed(f"The expression is nested too deep; maximum depth: {MOST_NESTED}")

    def leave(self) -> None:
        """A parenthesis closes."""
        self.expect(")")
        self._nested -= 1

    def check_parentheses(self) -> None:
        """Refuses a pair of parentheses around a pair of parentheses."""
        closed: dict[int, int] = {}
        opened: list[int] = []
        for place, token in enumerate(self._tokens):
            if token.text == "(":
                opened.append(place)
            elif token.text == ")" and opened:
                closed[opened.pop()] = place
        if any(closed.get(start + 1) == end - 1 for start, end in closed.items()):
            raise Malformed("The expression has redundant parentheses;")

    def mark(self) -> tuple[int, int, int]:
        """Where we are, to come back."""
        return self._place, self._operators, self._nested

    def return_to(self, mark: tuple[int, int, int]) -> None:
        """Back to a mark."""
        self._place, self._operators, self._nested = mark

    def error(self) -> Malformed:
        """A syntax error at the next token, with the tokens around it."""
        before, after = self._tokens[max(0, self._place - 1)], self.after_next
        near = self._text[before.start : after.end].strip()
        return Malformed(f'Syntax error; token: "{self.next.text}", near: "{near}"')


def _tokens(text: str) -> list[Token]:
    found = [Token(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text)]
    return [*found, Token(END, len(text), len(text))]
