"""PartiQL's words: a statement's text as tokens, read one after the other."""

from __future__ import annotations

import re
from typing import NamedTuple

from streamiter.testing.http.refusal import Refusal, invalid

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")*")
      | (?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<sign><<|>>|<>|!=|<=|>=|[-+*=<>{}\[\](),:?.;])
      | (?P<end>$)
    )""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """One of them: text, quoted, number, word, sign or end, and what it says without its quotes."""

    kind: str
    says: str


class Words:
    """The tokens of a statement; `place` is the next one."""

    def __init__(self, statement: str) -> None:
        self._tokens = list(_tokens(statement))
        self._place = 0

    @property
    def next(self) -> Token:
        """The next one, which stays the next one."""
        return self._tokens[self._place]

    def take(self) -> Token:
        """The next one; behind it is the one after."""
        token = self.next
        self._place += token.kind != "end"
        return token

    def is_next(self, *words: str) -> bool:
        """Whether these keywords or signs come next, in any case of their letters."""
        coming = self._tokens[self._place : self._place + len(words)]
        return len(coming) == len(words) and all(
            token.kind in ("word", "sign") and token.says.upper() == word
            for token, word in zip(coming, words, strict=True)
        )

    def take_if(self, *words: str) -> bool:
        """Takes these keywords or signs if they come next."""
        found = self.is_next(*words)
        self._place += len(words) if found else 0
        return found

    def expect(self, *words: str) -> None:
        """Takes these keywords or signs, or refuses the statement."""
        if not self.take_if(*words):
            raise malformed(f"{' '.join(words)} is expected where {self.next.says or 'the end'!r} stands")

    def take_name(self) -> str:
        """A table's, an index's or an attribute's name, quoted or plain."""
        token = self.take()
        if token.kind not in ("word", "quoted"):
            raise malformed(f"a name is expected where {token.says or 'the end'!r} stands")
        return token.says


def malformed(told: str) -> Refusal:
    """The statement is none."""
    return invalid(f"Statement wasn't well formed, can't be processed: {told}")


def _tokens(statement: str) -> list[Token]:
    tokens: list[Token] = []
    place = 0
    while not tokens or tokens[-1].kind != "end":
        found = _TOKEN.match(statement, place)
        if found is None:
            raise malformed(f"unexpected {statement[place:].strip()[:10]!r}")
        place = found.end()
        kind = str(found.lastgroup)
        says = found[kind]
        if kind in ("text", "quoted"):
            says = says[1:-1].replace(says[0] * 2, says[0])
        tokens.append(Token(kind, says))
    return tokens
