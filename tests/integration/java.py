"""Java programs of the tests: what they need comes by Maven, and is kept inside .venv with what the compiler makes of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KEPT = Path(__file__).parent.parent.parent / ".venv"


def compiled(folder: str, program: str) -> str:
    """The class path of the program in a folder of ours, with a pom.xml beside it."""
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("there is no Maven, or no Java to compile with")
    kept = KEPT / folder
    kept.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / folder / "pom.xml", kept / "pom.xml")
    fetch = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={kept / 'lib'}"]
    subprocess.run(fetch, cwd=kept, check=True, timeout=600)
    source = str(HERE / folder / f"{program}.java")
    compile_ = ["javac", "-nowarn", "-cp", f"{kept / 'lib'}/*", "-d", str(kept / "classes"), source]
    subprocess.run(compile_, check=True, timeout=120)
    return f"{kept / 'classes'}:{kept / 'lib'}/*"
