"""Stderr: what a child writes there, line by line, each at its level; and its last lines, for people who ask why it ended."""

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
# A level's name as loggers write it, in capitals anywhere near the start, or as the line's first word; and in JSON.
_CAPITALS: Final = re.compile(r"\b(TRACE|DEBUG|FINE|INFO|NOTICE|WARN|WARNING|ERROR|SEVERE|FATAL|CRITICAL)\b")
_FIRST: Final = re.compile(r"\W*(debug|info|notice|warn|warning|error|fatal|critical|panic|traceback)\b", re.IGNORECASE)
_JSON: Final = re.compile(r'"(?:level|severity|levelname)"\s*:\s*"(\w+)"', re.IGNORECASE)
_NEAR: Final = 100


class Stderr:
    """One child's. A line that goes on from the one before, as in a traceback, has its level."""

    def __init__(self) -> None:
        self._lines = Lines(LINE_LIMIT)
        self._level = logging.INFO
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)

    def feed(self, piece: bytes) -> list[tuple[int, str]]:
        """The lines that end in this piece, with their levels."""
        return [self._levelled(line) for line in self._lines.feed(piece)]

    def rest(self) -> list[tuple[int, str]]:
        """What stands there without an end of its line: nothing came for a while, or nothing will."""
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
    """The level that a line names; of an indented one, that of the line before."""
    found = _JSON.search(text) if text.startswith("{") else _FIRST.match(text) or _CAPITALS.search(text[:_NEAR])
    if found is not None:
        return _LEVELS.get(found[1].lower(), logging.INFO)
    return before if text[:1].isspace() else logging.INFO
