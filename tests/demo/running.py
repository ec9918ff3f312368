"""The demo as its users run it: a process of its own, whose folder for temporary files is empty before and after."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def command(*arguments: str, with_spark: bool = False) -> list[str]:
    """Without the last scene, unless it is wanted: it starts a JVM."""
    return [sys.executable, "-m", "streamiter.demo", *([] if with_spark else ["--without-spark"]), *arguments]


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "PYTHONIOENCODING")}
    return {**kept, "TMPDIR": str(folder), "TERM": "xterm-256color", "PYTHONUTF8": "1", **more}


@contextmanager
def started(folder: Path, *arguments: str, stdout: int = subprocess.PIPE, **more: str):
    with subprocess.Popen(
        command("--fast", *arguments),
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(folder, **more),
        # Tests that run in the background have SIGINT ignored, and the demo would keep to that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


class Narrow:
    """An output that takes some writes ahead of its reader, and then makes the writer wait: it cannot be through before."""

    def __init__(self) -> None:
        self._ours, self.theirs = socket.socketpair()
        self.theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # Linux makes it the least that it allows

    def read_until(self, text: bytes) -> None:
        """Reads as far as this text."""
        self.theirs.close()  # the program has it by now
        seen = b""
        while text not in seen:
            piece = self._ours.recv(1)
            assert piece, seen.decode()
            seen += piece

    def drain(self) -> None:
        """Reads what is left, to the end."""
        while self._ours.recv(65536):
            pass
        self.close()

    def close(self) -> None:
        """Reads no more."""
        self.theirs.close()
        self._ours.close()


def processes_of(folder: Path) -> list[str]:
    """The processes that have the folder in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in line:
            found.append(line.decode(errors="replace"))
    return found
