"""The children that docs/multilang.md shows, in three languages: each passes the trial that the page speaks of."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from streamiter.multilang.trying import Verdict, try_child

PAGE = (Path(__file__).parent.parent.parent / "docs" / "multilang.md").read_text("utf-8")
SECONDS = 120  # for each answer: a machine may be busy

pytestmark = pytest.mark.realtime


def block(language: str) -> str:
    """The first block of this language below its heading."""
    section = PAGE.partition("## A child without a library")[2]
    found = re.search(rf"(?ms)^```{language}[^\n]*\n(.*?)^```", section)
    assert found is not None
    written = re.search(r"(?ms)^cat > \S+ <<'EOF'\n(.*?)^EOF$", found[1])
    return found[1] if written is None else written[1]


def faults(command: list[str]) -> list[str]:
    verdicts: list[Verdict] = list(try_child(command, timeout=SECONDS))
    assert len(verdicts) > 10
    return [f"{verdict.scenario}: {found}" for verdict in verdicts for found in verdict.findings]


def test_a_child_in_python(tmp_path: Path):
    (tmp_path / "clicks.py").write_text(block("bash"))
    assert faults([sys.executable, os.fspath(tmp_path / "clicks.py")]) == []


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node")
def test_a_child_in_javascript(tmp_path: Path):
    (tmp_path / "clicks.js").write_text(block("js"))
    assert faults(["node", os.fspath(tmp_path / "clicks.js")]) == []


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go")
def test_a_child_in_go(tmp_path: Path):
    (tmp_path / "clicks.go").write_text(block("go"))
    program = os.fspath(tmp_path / "clicks")
    build = ["go", "build", "-o", program, os.fspath(tmp_path / "clicks.go")]
    subprocess.run(build, check=True, timeout=600, env={**os.environ, "GO111MODULE": "off"})
    assert faults([program]) == []


def test_each_is_short():
    for language in ("bash", "js", "go"):
        assert len([line for line in block(language).splitlines() if line]) <= 40, language
