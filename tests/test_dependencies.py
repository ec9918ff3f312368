"""Each dependency is used, pinned and accounted for in docs/dependencies.md, and nothing is accounted for that is not there."""

from __future__ import annotations

import ast
import platform
import re
import tomllib
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PAGE = (ROOT / "docs/dependencies.md").read_text("utf-8")
LINES = (ROOT / ".ci/constraints.txt").read_text("utf-8").splitlines()
PINS = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in LINES) if version}

EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
IMPORTED_AS = {"confluent-kafka": "confluent_kafka", "pillow": "PIL", "opentelemetry-api": "opentelemetry"}
PYTHONS = ("3.11.0", "3.11.2", "3.12.0", "3.13.0")  # 3.11.2 is Debian 12's
INSTALLED = {canonicalize_name(one.name): one for one in distributions()}


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=!~;, ]", requirement)[0]


CORE = [name_of(requirement) for requirement in PROJECT["project"]["dependencies"]]
OPTIONAL = sorted({name_of(one) for extra, all_ in EXTRAS.items() if extra not in ("all", "dev") for one in all_})
DEVELOPMENT = [name for name in map(name_of, EXTRAS["dev"]) if name != "streamiter"]


@cache
def imports() -> set[str]:
    found = set()
    for path in (ROOT / "streamiter").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").partition(".")[0])
    return found


def needed(*extras: str, python: str = platform.python_version()) -> set[str]:
    """The packages that pip installs for streamiter with these extras, as the installed packages' own metadata has it."""
    waiting = [f"streamiter[{','.join(extras)}]"]
    seen: set[tuple[str, str]] = set()
    while waiting:
        wanted = Requirement(waiting.pop())
        name = canonicalize_name(wanted.name)
        new = {(name, extra) for extra in ("", *wanted.extras)} - seen
        seen |= new
        lines = INSTALLED[name].requires or [] if new and name in INSTALLED else []
        waiting += [line for line in lines if any(applies(line, extra, python) for _, extra in new)]
    return {name for name, _ in seen} - {"streamiter"}


def applies(requirement: str, extra: str, python: str) -> bool:
    marker = Requirement(requirement).marker
    version = {"python_full_version": python, "python_version": ".".join(python.split(".")[:2])}
    return marker is None or marker.evaluate({"extra": extra, **version})


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


@pytest.mark.parametrize("python", PYTHONS)
def test_what_dev_installs_is_pinned(python):
    assert needed("dev", python=python) - PINS.keys() == set()


@pytest.mark.parametrize("name", sorted(PINS.keys() & INSTALLED.keys()))
def test_a_pin_fits_every_python_that_we_name(name):
    wanted = SpecifierSet(INSTALLED[name].metadata.get("Requires-Python", ""))
    assert [version for version in PYTHONS if not wanted.contains(version)] == []


def test_the_pins_are_what_is_installed():
    """Otherwise the test above reads the metadata of other versions. Some are for another Python alone."""
    needless_here = set().union(*(needed("dev", python=python) for python in PYTHONS)) - needed("dev")
    expected = {name: version for name, version in PINS.items() if name not in needless_here}
    assert {name: INSTALLED[name].version for name in expected if name in INSTALLED} == expected, "run ./dev setup"


def test_the_demo_installs_little():
    small = needed("cli")
    assert {"boto3", "msgspec", "click"} <= small
    assert len(small) < 25
    assert not small & {"moto", "pyspark", "pyarrow", "numpy", "pytest", "mkdocs"}


def test_every_extra_is_told_and_all_has_them_all():
    extras = set(EXTRAS) - {"dev", "all"}
    assert {extra for extra in extras if f"| `{extra}` |" in PAGE} == extras
    assert EXTRAS["all"] == [f"streamiter[{','.join(extra for extra in EXTRAS if extra in extras)}]"]
