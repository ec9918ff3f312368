"""Paint: pieces of a line, escaped, cut to the terminal's width, coloured where that is wanted."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

from rich.cells import cell_len, set_cell_size

from streamiter import terminal
from streamiter.terminal import LOOKS, Span, can_write, is_coloured


class Painter:
    """Makes text out of spans, as one output wants it."""

    def __init__(self, *, coloured: bool, width: int | None = None, plain: bool = False) -> None:
        self.width = width
        self._is_coloured = coloured
        self._is_plain = plain  # the output's encoding lacks our signs

    def line(self, spans: Iterable[Span]) -> str:
        """A line without its end. Whatever a record holds is escaped here: nothing of it steers the terminal."""
        texts = [(self._plain(span.text), span.look) for span in spans]
        if self.width is not None and sum(cell_len(text) for text, _ in texts) > self.width:
            texts = list(self._cut(texts, self.width))
        return "".join(self._paint(text, look) for text, look in texts)

    def _plain(self, text: str) -> str:
        return terminal.shown(text, as_ascii=self._is_plain)

    def _cut(self, texts: list[tuple[str, str]], room: int) -> Iterator[tuple[str, str]]:
        for text, look in texts:
            cells = cell_len(text)
            if cells >= room:  # the last cell says that there is more
                yield cut(text + " ", room, self._more), look
                return
            room -= cells
            yield text, look

    @property
    def _more(self) -> str:
        return "~" if self._is_plain else "…"

    def _paint(self, text: str, look: str) -> str:
        return terminal.painted(text, LOOKS.get(look)) if self._is_coloured else text


def cut(text: str, cells: int, more: str = "…") -> str:
    """At most so many of a terminal's cells of it; wide characters take two."""
    if len(text) * 2 <= cells or cell_len(text) <= cells:
        return text
    return set_cell_size(text, cells - 1).rstrip() + more if cells > 0 else ""


def painter_for(out: TextIO, colour: str = "auto") -> Painter:
    """What suits an output: colours and a width for a terminal, neither for a pipe."""
    is_terminal = out.isatty()
    is_plain = not can_write("→…·━", getattr(out, "encoding", None))
    return Painter(coloured=is_coloured(out, colour), width=columns() if is_terminal else None, plain=is_plain)


def columns() -> int:
    """How wide the terminal is now."""
    return terminal.size()[0]


def prepare_output() -> None:
    """What the output's encoding lacks is written out instead of failing."""
    for out in (sys.stdout, sys.stderr):
        terminal.prepare(out)
