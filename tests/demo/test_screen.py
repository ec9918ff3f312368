from __future__ import annotations

import io

from streamiter.demo.screen import Screen
from streamiter.terminal import Span


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
    assert shown(Span("● │ ├──╮ 1 → 2 ✓")) == "* | |--. 1 -> 2 ok\n"  # a StringIO has no encoding at all
