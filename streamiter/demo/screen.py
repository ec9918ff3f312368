"""The screen: the one place where the demo writes, colours, escapes, clips and pauses."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable
from typing import NamedTuple, TextIO

WIDTH = 80  # where nobody says how wide it is

LOOKS = {"bold": "1", "dim": "2", "good": "1;32", "bad": "1;31"}
# A colour for each shard, as they turn up; those that are open at the same time are far apart.
LANES = ("36", "33", "35", "32", "94", "93", "91", "96", "95", "92")

# What takes the place of our own signs where the output's encoding does not have them.
ASCII = str.maketrans(
    {"●": "*", "○": "o", "│": "|", "─": "-", "├": "|", "╮": ".", "┬": "+", "╰": "`", "→": "->"}
    | {"✓": "ok", "✗": "x", "×": "x", "…": "~"}
)
SIGNS = "".join(map(chr, ASCII))


class Span(NamedTuple):
    """A piece of a line: its text, and how it looks, or of which shard it is."""

    text: str
    look: str = ""
    shard: str = ""


Line = list[Span]
MARGIN = Span("  ")


class Screen:
    """Writes lines as they happen. Text is escaped and clipped here, so nothing that a record holds reaches a terminal."""

    def __init__(self, out: TextIO, *, coloured: bool, width: int = WIDTH, fast: bool = False) -> None:
        self._out = out
        self._is_coloured = coloured
        self._width = width
        self._is_fast = fast
        self._is_plain = not can_write(SIGNS, out.encoding)
        self._colours: dict[str, str] = {}

    def line(self, spans: Iterable[Span] = (), *, pause: float = 0.0) -> None:
        """Writes a line, no longer than the screen is wide; then leaves whoever looks on some seconds."""
        self._write("".join(map(self._paint, self._clip(spans))) + "\n", pause)

    def piece(self, spans: Iterable[Span], *, pause: float = 0.0) -> None:
        """Writes the next piece of a line that `line` will end."""
        self._write("".join(map(self._paint, spans)), pause)

    def _write(self, text: str, pause: float) -> None:
        self._out.write(text)
        self._out.flush()
        if not self._is_fast:
            time.sleep(pause)

    def _clip(self, spans: Iterable[Span]) -> Line:
        clipped: Line = []
        room = self._width
        for span in spans:
            text = self._plain(span.text)
            if len(text) > room:
                text = text[: room - 1] + self._plain("…") if room else ""
            clipped.append(span._replace(text=text))
            room -= len(text)
        return clipped

    def _plain(self, text: str) -> str:
        text = printable(text)
        return text.translate(ASCII) if self._is_plain else text

    def _paint(self, span: Span) -> str:
        text = self._plain(span.text)
        code = self._colour(span.shard) if span.shard else LOOKS.get(span.look)
        return f"\x1b[{code}m{text}\x1b[0m" if code and text and self._is_coloured else text

    def _colour(self, shard: str) -> str:
        return self._colours.setdefault(shard, LANES[len(self._colours) % len(LANES)])


def screen_on_stdout(*, fast: bool) -> Screen:
    """The screen on standard output: coloured on a terminal, unless NO_COLOR says otherwise."""
    out = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - None where it was closed before we began
    if hasattr(out, "reconfigure"):
        out.reconfigure(errors="backslashreplace")
    if not out.isatty():
        return Screen(out, coloured=False, fast=fast)
    coloured = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(out, coloured=coloured, width=shutil.get_terminal_size((WIDTH, 24)).columns, fast=fast)


def printable(text: str) -> str:
    r"""The text with everything that could steer a terminal written out: ESC as \x1b, also signs that turn the direction."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def can_write(text: str, encoding: str | None) -> bool:
    """Whether an output of this encoding has all these signs."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
