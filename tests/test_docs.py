"""The docs: every Python block of README.md and docs/ runs, and every shell block that calls streamiter, page by page.

As a reader would paste them: the blocks of a page share their names and run in order, in an empty folder. A page that
needs something running says `<!-- fixture: NAME -->`, a function of tests/docs_fixtures.py. A block that cannot run here
says so, and why:

    ```python no-run needs an AWS account
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import textwrap
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs_fixtures import FIXTURES

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>.*)$")
COMMAND = re.compile(r"^(streamiter|python -m streamiter)\b", re.MULTILINE)
FIXTURE = re.compile(r"<!--\s*fixture:\s*(\S+)\s*-->")


class Block(NamedTuple):
    line: int  # where its code begins, counted from 1
    info: list[str]
    code: str

    @property
    def is_python(self) -> bool:
        return self.info[:1] in (["python"], ["py"])

    @property
    def is_command(self) -> bool:
        """Whether it is for a shell, and calls streamiter: other commands (pip, docker, aws) are not ours to try."""
        return self.info[:1] in (["bash"], ["sh"]) and COMMAND.search(self.code) is not None

    @property
    def runs(self) -> bool:
        return (self.is_python or self.is_command) and not self.is_exempt

    @property
    def is_exempt(self) -> bool:
        return self.info[1:2] == ["no-run"]


def blocks_of(text: str) -> Iterator[Block]:
    """Every fenced block of a page, whatever its language: a Python block shown inside another is text."""
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        opening = FENCE.match(line)
        if opening is None:
            continue
        code = []
        for _, inner in lines:
            if inner.strip().startswith(opening["marks"]) and not inner.strip().strip(opening["marks"][0]):
                break
            code.append(inner)
        yield Block(number + 1, opening["info"].split(), textwrap.dedent("\n".join(code)))


def pages() -> list[Path]:
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if page.exists() and has_code(page)]


def has_code(page: Path) -> bool:
    return any(block.is_python or block.is_command for block in blocks_of(page.read_text("utf-8")))


def run_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a page's blocks, and give how many ran; whatever goes wrong names the page and the line."""
    text = page.read_text("utf-8")
    # A real module: dataclasses and type hints look their names up there.
    module = types.ModuleType("docs_page")
    monkeypatch.setitem(sys.modules, "docs_page", module)
    ran = 0
    with contextlib.ExitStack() as stack:
        for name in FIXTURE.findall(text):
            if name not in FIXTURES:
                pytest.fail(f"{page}: there is no fixture {name!r}; tests/docs_fixtures.py has: {', '.join(FIXTURES)}")
            vars(module).update(stack.enter_context(contextlib.contextmanager(FIXTURES[name])(monkeypatch)))
        for block in blocks_of(text):
            if block.is_exempt and not block.info[2:]:
                pytest.fail(f"{page}:{block.line}: a no-run block gives its reason after no-run")
            if block.runs:
                (run_block if block.is_python else run_command)(page, block, vars(module))
                ran += 1
    return ran


def run_block(page: Path, block: Block, names: dict[str, object]) -> None:
    # Blank lines before it, so that Python counts the page's lines.
    padded = "\n" * (block.line - 1) + block.code
    try:
        exec(compile(padded, str(page), "exec", dont_inherit=True), names)
    except Exception as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(page)]
        line = error.lineno if isinstance(error, SyntaxError) and not frames else frames[-1].lineno
        pytest.fail(f"{page}:{line}: {type(error).__name__}: {error}\n\n{textwrap.indent(block.code, '    ')}")


def run_command(page: Path, block: Block, names: dict[str, object]) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONUTF8": "1", "COLUMNS": "100"}
    shell = ["bash", "-euo", "pipefail", "-c", block.code]
    done = subprocess.run(shell, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    if done.returncode:
        said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        pytest.fail(f"{page}:{block.line}: exit code {done.returncode}\n\n{said}")


def cases() -> list[object]:
    """The pages; the one that starts Spark shares a worker with Spark's own tests."""
    alike = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]
    return [pytest.param(page, marks=alike if page.stem == "spark" else ()) for page in pages()]


@pytest.mark.parametrize("page", cases(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page, monkeypatch)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(text: str) -> int:
        page = tmp_path / "page.md"
        page.write_text(text)
        return run_page(page, monkeypatch)

    return run


def test_blocks_of_a_page_share_their_names(run):
    assert run("```python\na = 1\n```\n\n1. in a list\n\n   ```python\n   assert a == 1\n   ```\n") == 2


def test_classes_of_a_page_know_their_module(run):
    lines = [
        "from __future__ import annotations",
        "from dataclasses import dataclass",
        "@dataclass",
        "class A:",
        " b: int",
    ]
    assert run("\n".join(["```python", *lines, "assert A(1).b == 1", "```"])) == 1


def test_a_failure_names_page_and_line(run):
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:5: ZeroDivisionError"):
        run("# Title\n\n```python\na = 0\n1 / a\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: SyntaxError"):
        run("```python\nin valid\n```\n")


def test_a_block_is_exempt_only_with_a_reason(run):
    assert run("```python no-run needs an AWS account\n1 / 0\n```\n") == 0
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: a no-run block gives its reason"):
        run("```python no-run\n1 / 0\n```\n")


def test_commands_of_ours_run_and_others_do_not(run):
    assert run("```bash\nstreamiter --version > told.txt\n```\n\n```bash\npip install streamiter\n```\n") == 1
    assert Path("told.txt").read_text().startswith("streamiter")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: exit code 2"):
        run("```bash\nstreamiter no-such-command\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: a no-run block gives its reason"):
        run("```bash no-run\nstreamiter simulate\n```\n")


def test_other_languages_and_quoted_blocks_do_not_run(run):
    assert run("```bash\nexit 1\n```\n\n````markdown\n```python\n1 / 0\n```\n````\n") == 0


def test_an_unknown_fixture_fails(run):
    with pytest.raises(pytest.fail.Exception, match="no fixture 'nothing'"):
        run("<!-- fixture: nothing -->\n")
