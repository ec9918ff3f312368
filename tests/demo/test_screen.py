from __future__ import annotations

import io

from streamiter.demo.screen import SIGNS, Screen, Span, can_write, printable


def shown(*spans, coloured=False, width=80):
    out = io.StringIO()
    Screen(out, coloured=coloured, width=width, fast=True).line(spans)
    return out.getvalue()


class Output(io.StringIO):
    encoding = "utf-8"


def on_screen(*spans, coloured=False, width=80):
    out = Output()
    Screen(out, coloured=coloured, width=width, fast=True).line(spans)
    return out.getvalue()


def test_what_steers_a_terminal_is_written_out():
    assert printable("\x1b[2Jx\r\n\t\x07") == r"\x1b[2Jx\r\n\t\x07"
    assert printable("\x9b31m\x7f") == r"\x9b31m\x7f"
    assert printable("evil\u202etxt\u2066 \u200b") == r"evil\u202etxt\u2066 \u200b"
    assert printable("\ud800 \u2028") == r"\ud800 \u2028"
    assert printable("żółw × 2 → 3") == "żółw × 2 → 3"


def test_every_span_is_escaped_coloured_or_not():
    assert on_screen(Span("\x1b[2J", shard="\x1b"), coloured=True) == "\x1b[36m\\x1b[2J\x1b[0m\n"
    assert on_screen(Span("\x1b[2J", "bold")) == "\\x1b[2J\n"


def test_a_line_is_no_longer_than_the_screen_is_wide():
    assert on_screen(Span("abc"), Span("defgh", "bold"), Span("ijk"), width=6) == "abcde…\n"
    assert on_screen(Span("abc"), Span("def"), width=6) == "abcdef\n"
    assert on_screen(Span("abcdef"), Span("g"), width=6) == "abcdef\n"


def test_each_shard_keeps_its_colour():
    line = on_screen(*(Span(shard, shard=shard) for shard in ("S1", "S2", "S1")), coloured=True)
    assert line == "\x1b[36mS1\x1b[0m\x1b[33mS2\x1b[0m\x1b[36mS1\x1b[0m\n"


def test_an_output_that_lacks_our_signs_gets_ascii():
    assert can_write(SIGNS, "utf-8")
    assert not can_write(SIGNS, "latin-1")
    assert not can_write(SIGNS, "no such encoding")
    assert shown(Span("● │ ├──╮ 1 → 2 ✓")) == "* | |--. 1 -> 2 ok\n"  # a StringIO has no encoding at all
