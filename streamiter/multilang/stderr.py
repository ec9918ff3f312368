"""Standard error of a child: its lines, each with a level for our log, and the last ones, which tell why it ended."""

from __future__ import annotations

import logging
import re
from collections import deque
from typing import Final

from streamiter.multilang.wire import Lines

LINE_LIMIT: Final = 16 * 1024
TAIL_LINES: Final = 20

_LEVELS: Final = {
    **dict.fromkeys(("trace", "debug", "fine"), logging.DEBUG),
    **dict.fromkeys(("info", "notice"), logging.INFO),
    **dict.fromkeys(("warn", "warning"), logging.WARNING),
    **dict.fromkeys(("error", "err", "severe", "traceback"), logging.ERROR),
    **dict.fromkeys(("fatal", "critical", "panic"), logging.CRITICAL),
}
# Where loggers write a level's name: in capitals near the start of the line, as its first word, or as a field of JSON.
_CAPITALS: Final = re.compile(r"\b(TRACE|DEBUG|FINE|INFO|NOTICE|WARN|WARNING|ERROR|SEVERE|FATAL|CRITICAL)\b")
_FIRST: Final = re.compile(r"\W*(debug|info|notice|warn|warning|error|fatal|critical|panic|traceback)\b", re.IGNORECASE)
_JSON: Final = re.compile(r'"(?:level|severity|levelname)"\s*:\s*"(\w+)"', re.IGNORECASE)
_NEAR: Final = 100


class Stderr:
    """Standard error of one child. An indented line, as in a traceback, has the level of the line before it."""

    def __init__(self) -> None:
        self._lines = Lines(LINE_LIMIT)
        self._level = logging.INFO
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)

    def feed(self, piece: bytes) -> list[tuple[int, str]]:
        """The lines that end in this piece, with their levels."""
        return [self._levelled(line) for line in self._lines.feed(piece)]

    def rest(self) -> list[tuple[int, str]]:
        """Takes a line whose end has not come: the child has written nothing for a while, or has ended."""
        rest = self._lines.rest()
        return [self._levelled(rest)] if rest else []

    @property
    def tail(self) -> str:
        """The last lines."""
        return "\n".join(self._tail)

    def _levelled(self, line: bytes) -> tuple[int, str]:
        text = line.decode("utf-8", "replace").rstrip("\r")
        self._tail.append(text)
        self._level = level_of(text, self._level)
        return self._level, text


def level_of(text: str, before: int = logging.INFO) -> int:
    """The level that a line names; for an indented line that names none, the level of the line before."""
    found = _JSON.search(text) if text.startswith("{") else _FIRST.match(text) or _CAPITALS.search(text[:_NEAR])
    if found is not None:
        return _LEVELS.get(found[1].lower(), logging.INFO)
    return before if text[:1].isspace() else logging.INFO
