"""Workers: the Python that Spark starts for its tasks; it must be one that has streamiter."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from streamiter.errors import StreamiterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ASK = "import sys, pyspark, streamiter.spark.datasource; print(*sys.version_info[:2])"


def check_python(spark: SparkSession) -> None:
    """Raises where the Python of Spark's workers, as far as it can be tried out here, cannot read streams."""
    try:
        context = spark.sparkContext
        named, master = str(context.pythonExec), str(context.master)
    except Exception:  # Spark Connect has no context: its server says itself what it lacks
        return
    path = shutil.which(named)
    if path is not None and os.path.realpath(path) == os.path.realpath(sys.executable) and _same_environment(path):
        return
    if path is None and not master.startswith("local"):
        return  # It is a path on other machines.
    told = "there is no such program" if path is None else _ask(path)
    if told is not None:
        raise StreamiterError(
            f"Spark's workers would run {named!r}, which cannot read streams ({told}). Name this Python before the session "
            f"starts: os.environ['PYSPARK_PYTHON'] = sys.executable; on a cluster, install streamiter[spark] on each "
            "executor, or ship an environment that has it (spark.archives with venv-pack or conda-pack)"
        )


def _same_environment(path: str) -> bool:
    # Virtual environments share an interpreter: it is the path that tells which one it is.
    return os.path.dirname(os.path.abspath(path)) == os.path.dirname(os.path.abspath(sys.executable))


def _ask(path: str) -> str | None:
    """What is wrong with a Python; None where nothing is."""
    try:
        told = subprocess.run([path, "-c", _ASK], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return f"it cannot be started: {type(error).__name__}"
    if told.returncode != 0:
        lines = told.stderr.strip().splitlines()
        return lines[-1] if lines else f"it ended with {told.returncode}"
    if told.stdout.split() != [str(part) for part in sys.version_info[:2]]:
        return f"it is Python {'.'.join(told.stdout.split())}, this is {'.'.join(map(str, sys.version_info[:2]))}"
    return None
