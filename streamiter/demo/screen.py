"""The screen: the one place where the demo writes, colours, escapes, clips, pauses and turns to the next scene."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterable
from typing import TextIO

from streamiter import terminal
from streamiter.terminal import HEIGHT, LOOKS, WIDTH, Span, can_write, is_coloured

READING_SECONDS = 20  # after which the next scene comes by itself
CLEAN = "\x1b[H"  # to the top left, after so many empty lines: what was there stays in the terminal's history

SCENE_LOOKS = {**LOOKS, "good": "1;32", "bad": "1;31"}  # a verdict is to be seen among many coloured lines
# A colour for each shard, as they turn up; those that are open at the same time are far apart.
LANES = ("36", "33", "35", "32", "94", "93", "91", "96", "95", "92")

SIGNS = "●○│─├╮┬╰→✓✗×…"  # of our own


Line = list[Span]
MARGIN = Span("  ")


Wait = Callable[[float], bool]  # for so many seconds, or until the reader asks for more: whether they did


class Screen:
    """Writes lines as they happen. Text is escaped and clipped here, so nothing that a record holds reaches a terminal.

    With `wait`, a scene stands until the reader wants the next one, which then begins at the top of the terminal.
    """

    def __init__(
        self,
        out: TextIO,
        *,
        coloured: bool,
        width: int = WIDTH,
        height: int = HEIGHT,
        fast: bool = False,
        wait: Wait | None = None,
    ) -> None:
        self._out = out
        self._is_coloured = coloured
        self._width = width
        self._height = height
        self._is_fast = fast
        self._wait = wait
        self._is_plain = not can_write(SIGNS, out.encoding)
        self._colours: dict[str, str] = {}

    def line(self, spans: Iterable[Span] = (), *, pause: float = 0.0) -> None:
        """Writes a line, no longer than the screen is wide; then leaves whoever looks on some seconds."""
        self._write("".join(map(self._paint, self._clip(spans))) + "\n", pause)

    def piece(self, spans: Iterable[Span], *, pause: float = 0.0) -> None:
        """Writes the next piece of a line that `line` will end."""
        self._write("".join(map(self._paint, spans)), pause)

    def begin(self) -> None:
        """The first scene begins at the top of the terminal, if scenes are waited for."""
        if self._wait is not None and self._is_coloured:
            self._write("\n" * self._height + CLEAN, 0)

    def turn(self) -> None:
        """A scene is over: waits for the reader, and begins at the top again; or leaves a line empty, and goes on."""
        if self._wait is None:
            self.line()
            return
        self.piece([Span("Enter: the next scene", "bold")])
        self.piece([Span(f" (it comes by itself after {READING_SECONDS} s). Ctrl-C: leave. ", "dim")])
        if not self._wait(READING_SECONDS):
            self._write("\n", 0)  # which the reader's Enter has written else
        self.begin()

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
        return terminal.shown(text, as_ascii=self._is_plain)

    def _paint(self, span: Span) -> str:
        text = self._plain(span.text)
        code = self._colour(span.shard) if span.shard else SCENE_LOOKS.get(span.look)
        return terminal.painted(text, code) if self._is_coloured else text

    def _colour(self, shard: str) -> str:
        return self._colours.setdefault(shard, LANES[len(self._colours) % len(LANES)])


def screen_on_stdout(*, fast: bool) -> Screen:
    """The screen on standard output: coloured on a terminal, unless NO_COLOR says otherwise."""
    out = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - None where it was closed before we began
    terminal.prepare(out)
    if not out.isatty():
        return Screen(out, coloured=False, fast=True)
    width, height = terminal.size()
    wait = None if fast else wait_for_enter
    return Screen(out, coloured=is_coloured(out), width=width, height=height, fast=fast, wait=wait)


def wait_for_enter(seconds: float) -> bool:
    """Waits for a line on standard input, at most so long; without a terminal there, it only waits."""
    if sys.stdin is None or not sys.stdin.isatty() or os.name == "nt":  # Windows cannot wait for a console like this
        time.sleep(min(seconds, 5))
        return False
    if not select.select([sys.stdin], [], [], seconds)[0]:
        return False
    return sys.stdin.readline() != ""
