"""The demo before a reader, on a terminal of 80 by 24: a scene a screen, and the next one when the reader asks for it."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios

import pytest

from streamiter.demo.screen import CLEAN, READING_SECONDS, Screen, screen_on_stdout, wait_for_enter
from streamiter.demo.show import Show
from streamiter.terminal import Span
from tests.demo.running import ROOT, environment, processes_of

PROMPT = f"Enter: the next scene (it comes by itself after {READING_SECONDS} s). Ctrl-C: leave. "
COLOURS = re.compile(r"\x1b\[[\d;]+m")


class Output(io.StringIO):
    encoding = "utf-8"


def screen(out, *, answers=True, coloured=True):
    return Screen(out, coloured=coloured, fast=True, wait=lambda _: answers)


@pytest.mark.parametrize("seed", range(1, 6))
def test_each_scene_fits_80_by_24(seed, tmp_path):
    out = Output()
    assert Show(screen(out, answers=False), seed, tmp_path, with_spark=False).play()
    before, *scenes = out.getvalue().split("\n" * 24 + CLEAN)
    assert before == ""
    assert len(scenes) == 5
    for scene in scenes:
        lines = COLOURS.sub("", scene).removesuffix("\n").split("\n")
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
        assert not any("…" in line for line in lines), "cut"
        assert all(line.isprintable() for line in lines)
    assert [PROMPT in COLOURS.sub("", scene) for scene in scenes] == [True, True, True, True, False]


def test_enter_has_ended_the_line_of_the_prompt_and_nothing_else_has():
    shown = []
    for answers in (True, False):
        out = Output()
        screen(out, answers=answers).turn()
        shown.append(COLOURS.sub("", out.getvalue()))
    assert shown == [PROMPT + "\n" * 24 + CLEAN, PROMPT + "\n" + "\n" * 24 + CLEAN]


def test_without_colours_nothing_moves_the_cursor():
    out = Output()
    one = screen(out, coloured=False)
    one.begin()
    one.turn()
    assert out.getvalue() == PROMPT


def test_without_a_reader_scenes_follow_each_other():
    out = Output()
    one = Screen(out, coloured=True, fast=True)
    one.begin()
    one.line([Span("one")])
    one.turn()
    one.line([Span("other")])
    assert out.getvalue() == "one\n\nother\n"


def test_where_nobody_looks_on_nothing_pauses(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Output())
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it slept"))
    one = screen_on_stdout(fast=False)
    one.line([Span("a line")], pause=5)
    one.turn()


@pytest.fixture
def keyboard(monkeypatch):
    """Standard input is a terminal; gives what types there."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield lambda keys: os.write(ours, keys)
    os.close(ours)


def test_it_waits_for_enter_and_no_longer_than_it_is_told(keyboard):
    assert not wait_for_enter(0)
    keyboard(b"\n")
    assert wait_for_enter(60)
    keyboard(b"\x04")  # Ctrl-D: there is no more input
    assert not wait_for_enter(60)


def test_without_a_keyboard_it_waits_some_seconds(monkeypatch):
    waited = []
    monkeypatch.setattr("time.sleep", waited.append)
    monkeypatch.setattr(sys, "stdin", io.StringIO("not a terminal"))
    assert not wait_for_enter(READING_SECONDS)
    assert waited == [5]


class Terminal:
    """The demo in a terminal of its own, which it controls, so that a Ctrl-C typed there reaches it as in a shell."""

    def __init__(self, folder):
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._shown = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "streamiter.demo", "--without-spark"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=ROOT,
            env=environment(folder),
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(theirs)

    @property
    def shown(self):
        return COLOURS.sub("", self._shown.decode(errors="replace")).replace("\r\n", "\n")

    def read(self):
        """Reads a piece more; gives whether there was one."""
        try:
            piece = os.read(self._ours, 65536)
        except OSError:  # the other side is closed
            return False
        self._shown += piece
        return piece != b""

    def read_until(self, text):
        while text not in self.shown:
            assert self.read(), self.shown

    def type(self, keys):
        os.write(self._ours, keys)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


def take_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def terminal(tmp_path):
    made = Terminal(tmp_path)
    yield made
    made.close()


def test_ctrl_c_at_a_prompt_and_in_a_scene_leaves_quietly(terminal, tmp_path):
    terminal.read_until(PROMPT)
    assert "next(stream)" not in terminal.shown, "the reader has not asked for the next scene"
    terminal.type(b"\n")
    terminal.read_until("next(stream)")
    terminal.read_until("INSERT")
    terminal.type(b"\x03")
    while terminal.read():
        pass
    assert terminal.process.wait(250) == 130
    assert terminal.shown.endswith("^C\n")
    assert "Traceback" not in terminal.shown
    assert not list(tmp_path.iterdir())
    assert not processes_of(tmp_path)
