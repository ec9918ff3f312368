"""Tests of the first moments: help comes at once, and Ctrl-C is quiet from our first import on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.conftest import environment

HEAVY = {"boto3", "botocore", "arrow", "rich", "msgspec", "asyncio"}
INTERRUPTS_ITSELF = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # as at a terminal, also where tests run in the background
class AtImport:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.write(2, b"now;")
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, AtImport())
sys.argv = ["streamiter", *{words!r}]
from streamiter.cli.main import main
main()
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=250, check=False
    )


@pytest.mark.parametrize("words", [["--help"], ["--version"], [], ["tial"]])
def test_what_needs_no_stream_loads_none(words):
    code = f"import sys, atexit; sys.argv = ['streamiter', *{words!r}]\n"
    code += "atexit.register(lambda: sys.stderr.write('loaded: ' + ' '.join(sys.modules)))\n"
    done = python(code + "from streamiter.cli.main import main; main()")
    told, _, loaded = done.stderr.rpartition("loaded: ")
    assert "streamiter" in done.stdout + told
    assert "click" in loaded.split()
    assert not HEAVY & set(loaded.split())


@pytest.mark.parametrize(
    "module",
    [
        "click",
        "streamiter.cli.catalogue",
        "streamiter.cli.terminal.ending",
        "streamiter.cli.commands.tail",
        "boto3",
        "rich",
        "arrow",
    ],
)
def test_ctrl_c_is_quiet_whatever_is_being_loaded(module):
    done = python(INTERRUPTS_ITSELF.format(module=module, words=["tail", "users", "--help"]))
    assert (done.returncode, done.stderr, done.stdout) == (130, "now;", "")


def test_ctrl_c_is_quiet_while_python_takes_itself_down():
    code = "import atexit, os, signal, sys; sys.argv = ['streamiter', '--version']\n"
    code += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
    done = python(code + "from streamiter.cli.main import main; main()")
    assert (done.returncode, done.stderr) == (130, "")
