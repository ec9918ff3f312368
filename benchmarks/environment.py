"""Bloop's environment: Bloop pins an older boto3 than ours, so it gets a Python of its own, made at first use."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.canned.process import ROOT

BLOOP = "bloop==3.1.*"
PLACE = ROOT / ".venv-bloop"


def bloop_python() -> Path:
    """Its interpreter; makes the environment where there is none, one process at a time."""
    python = PLACE / "bin" / "python"
    stamp = PLACE / "made-from"  # written last: an interrupted install has none
    made_from = f"{BLOOP} {sys.version} {ROOT}"
    if stamp.exists() and stamp.read_text() == made_from:
        return python
    PLACE.mkdir(exist_ok=True)
    (PLACE / ".gitignore").write_text("*\n")
    with (PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.exists() and stamp.read_text() == made_from):
            print(f"bench: installing {BLOOP} in {PLACE.name}, an environment of its own", file=sys.stderr)
            venv.EnvBuilder(with_pip=True, symlinks=True).create(PLACE)
            install = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
            subprocess.run([*install, BLOOP], check=True, stdin=subprocess.DEVNULL)
            stamp.write_text(made_from)
    return python
