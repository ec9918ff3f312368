"""Each dependency is used, pinned and accounted for in docs/dependencies.md, and nothing is accounted for that is not there."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PAGE = (ROOT / "docs/dependencies.md").read_text("utf-8")
PINS = {line.partition("==")[0].lower() for line in (ROOT / ".ci/constraints.txt").read_text("utf-8").splitlines()}

EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
IMPORTED_AS = {"pillow": "PIL", "opentelemetry-api": "opentelemetry"}


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=!~;, ]", requirement)[0]


CORE = [name_of(requirement) for requirement in PROJECT["project"]["dependencies"]]
OPTIONAL = sorted({name_of(one) for extra, all_ in EXTRAS.items() if extra not in ("all", "dev") for one in all_})
DEVELOPMENT = [name for name in map(name_of, EXTRAS["dev"]) if name != "streamiter"]


def imports() -> set[str]:
    found = set()
    for path in (ROOT / "streamiter").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("name", [*CORE, *OPTIONAL, *DEVELOPMENT])
def test_a_dependency_has_a_row_with_everything_that_is_asked(name):
    rows = [
        line for line in PAGE.splitlines() if line.startswith("|") and re.search(rf"[|,] {re.escape(name)}\b", line)
    ]
    assert rows, f"docs/dependencies.md says nothing of {name}"
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert all(cells[:-1]), row


@pytest.mark.parametrize("name", [*CORE, *OPTIONAL])
def test_a_dependency_is_used(name):
    assert IMPORTED_AS.get(name, name) in imports()


@pytest.mark.parametrize("name", [*CORE, *DEVELOPMENT])
def test_what_dev_installs_is_pinned(name):
    assert name.lower() in PINS


def test_every_extra_is_told_and_all_has_them_all():
    extras = set(EXTRAS) - {"dev", "all"}
    assert {extra for extra in extras if f"| `{extra}` |" in PAGE} == extras
    assert EXTRAS["all"] == [f"streamiter[{','.join(extra for extra in EXTRAS if extra in extras)}]"]
