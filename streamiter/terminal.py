"""The terminal: what may reach one, in which signs and colours; for the command line and the demo alike."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple, TextIO

WIDTH, HEIGHT = 80, 24  # where the terminal does not say

# The terminal's own colours, which its owner has chosen to be readable on its ground, light or dark.
LOOKS = {"bold": "1", "dim": "2", "good": "32", "bad": "31", "key": "1;36", "name": "36", "note": "35"}

# What takes the place of our own signs where the output's encoding does not have them.
ASCII = str.maketrans(
    {"●": "*", "○": "o", "│": "|", "─": "-", "━": "#", "╸": ">", "├": "|", "╮": ".", "┬": "+", "╰": "`"}
    | {"→": "->", "✓": "ok", "✗": "x", "×": "x", "·": "-", "−": "-", "⚠": "!", "…": "~"}
)


class Span(NamedTuple):
    """A piece of a line: its text, and how it looks, or of which shard it is."""

    text: str
    look: str = ""
    shard: str = ""  # the demo gives each shard a colour of its own


def printable(text: str) -> str:
    r"""The text with everything that could steer a terminal written out: ESC as \x1b, also signs that turn the direction."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def shown(text: str, *, as_ascii: bool) -> str:
    """The text as it may be written: nothing in it steers the terminal; with `as_ascii`, other signs stand for ours."""
    text = printable(text)
    return text.translate(ASCII) if as_ascii else text


def painted(text: str, code: str | None) -> str:
    """The text in a colour, given as the terminal's code for it."""
    return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


def can_write(text: str, encoding: str | None) -> bool:
    """Whether an output of this encoding has all these signs."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def is_coloured(out: TextIO, colour: str = "auto") -> bool:
    """Whether to colour: as `colour` says, else as NO_COLOR and FORCE_COLOR do, else on a terminal that can."""
    if colour != "auto":
        return colour == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return out.isatty() and os.environ.get("TERM") != "dumb"


def size() -> tuple[int, int]:
    """How wide and how high the terminal is now."""
    return shutil.get_terminal_size((WIDTH, HEIGHT))


def prepare(out: TextIO) -> None:
    """What the output's encoding lacks is written out instead of failing."""
    if hasattr(out, "reconfigure"):
        out.reconfigure(errors="backslashreplace")
