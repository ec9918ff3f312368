"""What may reach a terminal: nothing that steers it, no sign that it lacks, and colours only where they are wanted."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.demo.screen import SIGNS
from streamiter.terminal import ASCII, can_write, is_coloured, painted, printable, shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_steers_a_terminal_is_written_out():
    assert printable("\x1b[2Jx\r\n\t\x07") == r"\x1b[2Jx\r\n\t\x07"
    assert printable("\x9b31m\x7f") == r"\x9b31m\x7f"
    assert printable("evil\u202etxt\u2066 \u200b") == r"evil\u202etxt\u2066 \u200b"
    assert printable("\ud800 \u2028") == r"\ud800 \u2028"
    assert printable("żółw × 2 → 3") == "żółw × 2 → 3"


@given(st.text())
def test_nothing_that_steers_is_ever_shown(text: str):
    assert shown(text, as_ascii=False).isprintable() and shown(text, as_ascii=True).isprintable()
    assert printable(printable(text)) == printable(text)


def test_an_output_that_lacks_our_signs_gets_ascii():
    assert can_write(SIGNS, "utf-8")
    assert not can_write(SIGNS, "latin-1")
    assert not can_write(SIGNS, "no such encoding") and not can_write(SIGNS, None)
    assert shown(SIGNS, as_ascii=True).isascii(), "each has one that stands for it"
    assert shown("".join(map(chr, ASCII)), as_ascii=True).isascii()


def test_what_is_empty_or_without_a_look_has_no_colour():
    assert painted("x", "32") == "\x1b[32mx\x1b[0m"
    assert painted("", "32") == "" and painted("x", None) == "x"


@pytest.mark.parametrize(
    "names,on_a_terminal,in_a_pipe",
    [({}, True, False), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False), ({"FORCE_COLOR": "1"}, True, True),
     ({"TERM": "dumb"}, False, False)],
)  # fmt: skip
def test_colours_are_for_terminals_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, str], on_a_terminal: bool, in_a_pipe: bool
):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    assert (is_coloured(Terminal()), is_coloured(io.StringIO())) == (on_a_terminal, in_a_pipe)
    assert is_coloured(io.StringIO(), "always") and not is_coloured(Terminal(), "never")
