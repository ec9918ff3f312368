"""Types: what mypy and pyright make of a user's code. `types/pins.py` says what each expression is, and is checked by both."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent
ERROR = re.compile(r"\b(?P<name>\w+)\.py:(?P<line>\d+)(?::\d+)?:? (?:- )?error", re.MULTILINE)


def mypy(folder: Path, *names: str) -> str:
    """What mypy says of a user's files, as strictly as it can."""
    (folder / "mypy.ini").write_text(f"[mypy]\nstrict = True\nmypy_path = {ROOT}\ncache_dir = {ROOT / '.mypy_cache'}\n")
    return told([sys.executable, "-m", "mypy", *names], folder)


def pyright(folder: Path, *names: str) -> str:
    """What pyright says: basedpyright is pyright with its Node inside, as a wheel."""
    options = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(ROOT)],
        "include": list(names),
        "reportMissingTypeStubs": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(options))
    return told(
        [sys.executable, "-m", "basedpyright", "--level", "error", "--pythonpath", sys.executable, "-p", "."], folder
    )


def told(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("check", [mypy, pyright])
def test_each_expression_has_the_type_that_is_pinned_and_mistakes_are_found(tmp_path: Path, check):
    mistakes = (HERE / "types/mistakes.txt").read_text("utf-8")
    (tmp_path / "mistakes.py").write_text(mistakes, "utf-8")
    (tmp_path / "pins.py").write_text((HERE / "types/pins.py").read_text("utf-8"), "utf-8")
    output = check(tmp_path, "mistakes.py", "pins.py")
    found = {(error["name"], int(error["line"])) for error in ERROR.finditer(output)}
    lines = enumerate(mistakes.splitlines(), 1)
    assert found == {("mistakes", number) for number, line in lines if "# mistake" in line}, output
