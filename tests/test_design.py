"""The pages that explain the code name files, classes and functions that exist, and the stages as MOVES has them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from streamiter.reading.book import MOVES, Stage

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "streamiter"
DESIGN = (ROOT / "docs/design.md").read_text("utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOLD_IN_FULL = ("lineage", "merge", "reading", "driving", "stream", "aio")  # rooms of which the page names each file

NAMED = re.compile(r"`(?P<owner>[A-Za-z_]+)\.(?P<name>[A-Za-z_]+)(?:\(.*?\))?`")
FILE = re.compile(r"\b([a-z_]+|kinesis_\*)\.py\b")


def the_rooms() -> dict[str, set[str]]:
    """The files that the page's tree names, by room; those of the package itself under an empty name."""
    tree = re.search(r"## The rooms\n.*?```\nstreamiter/\n(.*?)```", DESIGN, re.DOTALL)
    assert tree is not None
    found: dict[str, set[str]] = defaultdict(set)
    room = ""
    for line in tree[1].splitlines():
        opened = re.match(r"  (\w+)/ ", line)
        if opened:
            room = opened[1]
        elif not line.startswith("    "):
            room = ""
        found[room].update(FILE.findall(line))
    return found


def names_of(tree: ast.Module) -> tuple[dict[str, set[str]], set[str]]:
    """What each class of a module has, and the module's own functions and constants."""
    classes: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            classes[node.name] = {ast.unparse(base) for base in node.bases}
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef):
                    classes[node.name].add(inner.name)
                elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                    classes[node.name].add(inner.target.id)
                elif isinstance(inner, ast.Attribute) and ast.unparse(inner.value) == "self":
                    classes[node.name].add(inner.attr)
    return classes, {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.fixture(scope="module")
def code() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """What classes have, by their names, and which functions modules have, by theirs; where names meet, of all together."""
    classes: dict[str, set[str]] = defaultdict(set)
    functions: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        of_classes, of_module = names_of(ast.parse(path.read_text("utf-8")))
        for name, has in of_classes.items():
            classes[name] |= has
        functions[path.stem] |= of_module | of_classes.keys()
    for has in classes.values():
        for base in [name for name in has if name in classes]:
            has |= classes[base]
    return classes, functions


def missing(text: str, code: tuple[dict[str, set[str]], dict[str, set[str]]]) -> list[str]:
    """The names in backticks, of our classes and modules, that the code lacks."""
    classes, functions = code
    named = {(found["owner"], found["name"]) for found in NAMED.finditer(text)}
    modules = {path.stem for path in (PACKAGE / "reading").glob("*.py")}
    gone = [f"{owner}.{name}" for owner, name in named if owner in classes and name not in classes[owner]]
    gone += [f"{o}.{n}" for o, n in named if o in modules and n != "py" and n not in functions[o]]
    return sorted(gone)


@pytest.mark.parametrize("page", ["design.md", "ordering.md", "glossary.md", "leases.md", "contributing.md"])
def test_a_page_names_only_what_the_code_has(page, code):
    assert missing((ROOT / "docs" / page).read_text("utf-8"), code) == []


def test_a_name_that_is_gone_is_seen(code):
    text = "`Reading.push` and `Reading.paged`, `gaps.fall` and `gaps.stand(book)`, `Driver.lock`, `Pickle.relish`"
    assert missing(text, code) == ["Reading.push", "gaps.fall"]
    assert len(NAMED.findall(DESIGN)) > 60


def test_the_rooms_are_those_of_the_package():
    rooms = the_rooms()
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= {*rooms, "token", *re.findall(r"^  (\w+)/", DESIGN, re.MULTILINE)}
    for room, files in rooms.items():
        for name in files:
            assert list((PACKAGE / room).glob(f"{name}.py")) or list((PACKAGE / room).rglob(f"{name}.py")), (room, name)
    for room in TOLD_IN_FULL:
        known = {path.stem for path in (PACKAGE / room).glob("*.py") if path.stem != "__init__"}
        assert rooms[room] == known, f"docs/design.md, {room}/"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_link_to_a_file_leads_to_one(page):
    for link in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", page.read_text("utf-8")):
        made = link.endswith(("decisions/index.md", "command-line.md"))  # when the site is built
        assert made or link == "index.md" or (page.parent / link).exists(), link


def test_the_table_of_stages_is_the_table_of_moves():
    rows = re.findall(r"^\|([^|]*)\|[^|]*\|([^|]*)\|[^|]*\|$", DESIGN.partition("| Stage | What")[2], re.MULTILINE)
    found: dict[Stage | None, set[Stage | None]] = defaultdict(set)
    stage: Stage | None = None
    for origin, targets in rows[1:]:
        if origin.strip() and origin.strip("- "):
            stage = stage_of(origin)
        found[stage].update(map(stage_of, targets.split(",")))
    assert found == {before: set(after) for before, after in MOVES.items()}


def stage_of(text: str) -> Stage | None:
    name = text.strip(" `*")
    return None if name in ("not known", "forgotten") else Stage[name]
