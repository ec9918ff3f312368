"""Environments of others: what pins an older boto3 than ours gets a Python of its own, made by ./dev setup or at first use."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.canned.process import ROOT

BLOOP = "bloop==3.1.*"
PLACE = ROOT / ".venv-bloop"


ASYNC_KINESIS = "async-kinesis[kpl]==3.0.1"
ASYNC_KINESIS_PLACE = ROOT / ".venv-async-kinesis"

NATIVE_KCL = "native-aws-kcl-py==0.1.1"
NATIVE_KCL_PLACE = ROOT / ".venv-native-kcl"

FASTSTREAM = "faststream[redis]==0.7.8"
FASTSTREAM_PLACE = ROOT / ".venv-faststream"

RUNNEL = "runnel==0.1.0b1"
RUNNEL_PLACE = ROOT / ".venv-runnel"


def bloop_python() -> Path:
    """Bloop's interpreter."""
    return own_python(PLACE, BLOOP)


def async_kinesis_python() -> Path:
    """async-kinesis' interpreter."""
    return own_python(ASYNC_KINESIS_PLACE, ASYNC_KINESIS)


def native_kcl_python() -> Path:
    """native-aws-kcl-py's interpreter."""
    return own_python(NATIVE_KCL_PLACE, NATIVE_KCL)


def faststream_python() -> Path:
    """FastStream's interpreter."""
    return own_python(FASTSTREAM_PLACE, FASTSTREAM)


def runnel_python() -> Path | None:
    """runnel's interpreter: what it needs runs on Python 3.7 to 3.9 alone. None: this machine has none of these."""
    base = next(filter(None, map(_python, ("3.9", "3.8", "3.7"))), None)
    return None if base is None else own_python(RUNNEL_PLACE, RUNNEL, base)


def _python(version: str) -> str | None:
    """A Python of this version: on the path, or of pyenv's."""
    found = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    return str(found[-1]) if found else shutil.which(f"python{version}")


def own_python(place: Path, package: str, base: str = sys.executable) -> Path:
    """The interpreter of an environment with this package; makes it where there is none, one process at a time."""
    python = place / "bin" / "python"
    stamp = place / "made-from"  # written last: an interrupted install has none
    made_from = f"{package} {sys.version if base == sys.executable else base} {ROOT}"
    if stamp.exists() and stamp.read_text() == made_from:
        return python
    place.mkdir(exist_ok=True)
    (place / ".gitignore").write_text("*\n")
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.exists() and stamp.read_text() == made_from):
            print(f"bench: installing {package} in {place.name}, an environment of its own", file=sys.stderr)
            subprocess.run([base, "-m", "venv", str(place)], check=True, stdin=subprocess.DEVNULL)
            install = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
            subprocess.run([*install, package], check=True, stdin=subprocess.DEVNULL)
            stamp.write_text(made_from)
    return python


def main() -> None:
    """Makes all of them. One that cannot be made says so: what runs beside it tries again, or does without."""
    for find in (bloop_python, async_kinesis_python, native_kcl_python):
        try:
            find()
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"bench: {find.__name__}: {error}; what runs beside it does without", file=sys.stderr)


if __name__ == "__main__":
    main()
