"""The demo as its users run it: a process of its own, whose folder for temporary files is empty before and after."""

from __future__ import annotations

import os
import signal
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
