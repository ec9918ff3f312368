"""The layers: a room imports only rooms above it, and time comes in from clock.py alone."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "streamiter"

# Read down: a room may import itself and what stands before it. The values are single modules, in their own order.
VALUES = (
    *(
        "installing",
        "errors",
        "finding",
        "urls",
        "clock",
        "steps",
        "moments",
        "redis_server",
        "sqlitefile",
        "shard",
        "position",
        "precision",
    ),
    *("images", "envelope", "record", "payload", "token", "tokenfile"),
)
CORE = (
    *VALUES,
    "source",
    "log",
    "locate",
    "lineage",
    "merge",
    "reading",
    "driving",
    "stream",
    "aio",
    "store",
    "lease",
    "terminal",
    "where",
    "topic",
    "app",
    "runnel",
    "multilang",
)
ROOMS = (*CORE, "metrics", "testing", "spark", "demo", "cli")

# Nothing rests on these: one module alone reaches each of them from another room, and only when it is run.
LEAVES = {"demo": "streamiter/cli/commands/demo.py"}

# `import streamiter` brings these, so that only rooms below them may write it.
FACE = "__init__"
FACE_IMPORTS = {*VALUES, "source", "log", "lineage", "stream", "aio", "topic", "app"}

# What pip install streamiter brings. Anything else is an extra, and loads inside the function that needs it.
CORE_PACKAGES = {"arrow", "boto3", "botocore", "msgspec", "sortedcontainers"}

CLOCK_READINGS = {
    *("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.sleep"),
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
    *("arrow.now", "arrow.utcnow", "arrow.Arrow.now", "arrow.Arrow.utcnow"),
}
# clock.py is where time comes in; cli and demo show things to somebody who waits.
MAY_READ_CLOCKS = {"clock", "cli", "demo"}


class Module(NamedTuple):
    path: str  # relative to the repository, as a reader would open it
    tree: ast.Module

    @property
    def parts(self) -> tuple[str, ...]:
        """The dotted name in parts, with `__init__` kept: it is what relative imports count from."""
        return Path(self.path).with_suffix("").parts

    @property
    def room(self) -> str:
        return self.parts[1]


class Import(NamedTuple):
    line: int
    target: tuple[str, ...]  # of `from a.b import c`: a, b, c
    is_lazy: bool  # inside a function, or only for the type checker


@cache
def modules() -> list[Module]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return [parse(path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in paths]


def parse(path: str, source: str) -> Module:
    return Module(path, ast.parse(source, path))


def imports_of(module: Module) -> Iterator[Import]:
    def visit(node: ast.AST, is_lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(child.lineno, tuple(alias.name.split(".")), is_lazy)
            elif isinstance(child, ast.ImportFrom):
                origin = (child.module or "").split(".") if child.module else []
                base = module.parts[: -child.level] if child.level else ()
                for alias in child.names:
                    yield Import(child.lineno, (*base, *origin, alias.name), is_lazy)
            else:
                yield from visit(child, is_lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    def is_for_types(node: ast.AST) -> bool:
        return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")

    for statement in module.tree.body:
        yield from visit(ast.Module([statement], []), is_for_types(statement))


def room_of(target: tuple[str, ...]) -> str:
    """The room that an import of ours reaches; `from streamiter import Stream` reaches the face."""
    is_room = len(target) > 1 and (target[1] in ROOMS or (PACKAGE / target[1]).is_dir())
    return target[1] if is_room or (len(target) > 2) else FACE


def allowed_rooms(room: str) -> set[str]:
    if room == FACE:
        return FACE_IMPORTS
    if room == "__main__":
        return {*ROOMS, FACE}
    above = set(ROOMS[: ROOMS.index(room) + 1])
    return above if room in CORE else {*above, FACE}


def layer_faults(module: Module) -> Iterator[str]:
    if module.room not in (*ROOMS, FACE, "__main__"):
        yield f"{module.path}:1: '{module.room}' has no place among the rooms; give it one in tests/test_layers.py"
        return
    allowed = allowed_rooms(module.room)
    for found in imports_of(module):
        if found.target[0] == "streamiter" and room_of(found.target) not in allowed:
            names = ", ".join(room for room in (*ROOMS, FACE) if room in allowed)
            yield f"{module.path}:{found.line}: imports {'.'.join(found.target)}; '{module.room}' may import: {names}"


def leaf_faults(module: Module) -> Iterator[str]:
    for found in imports_of(module):
        room = room_of(found.target) if found.target[0] == "streamiter" else ""
        door = LEAVES.get(room)
        if door is None or module.room == room or (module.path == door and found.is_lazy):
            continue
        told = f"'{room}' is a leaf: only {door} reaches it, in a function"
        yield f"{module.path}:{found.line}: imports {'.'.join(found.target)}; {told}"


def optional_package_faults(module: Module) -> Iterator[str]:
    if module.room not in (*CORE, FACE):
        return
    for found in imports_of(module):
        package = found.target[0]
        if not found.is_lazy and package not in {"streamiter", *CORE_PACKAGES, *sys.stdlib_module_names}:
            yield (
                f"{module.path}:{found.line}: imports {package} when it is itself imported; allowed are the standard "
                f"library and {', '.join(sorted(CORE_PACKAGES))}. Import it in the function that needs it."
            )


def clock_faults(module: Module) -> Iterator[str]:
    if module.room in MAY_READ_CLOCKS:
        return
    names: dict[str, str] = {}  # what a name in this module stands for
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(module.tree):
        # Also where it is only named: a default of `sleep=time.sleep` reads the same clock.
        if isinstance(node, ast.Attribute | ast.Name):
            first, dot, rest = ast.unparse(node).partition(".")
            if names.get(first, "") + dot + rest in CLOCK_READINGS:
                yield f"{module.path}:{node.lineno}: {ast.unparse(node)}; time comes in as an argument or a Clock"


def docstring_faults(module: Module) -> Iterator[str]:
    first_line = (ast.get_docstring(module.tree) or "").partition("\n")[0]
    if not first_line.endswith(".") or re.search(r"[.!?]\s+[A-Z]", first_line):
        yield f"{module.path}:1: a module opens with one sentence on one line that places it; found {first_line!r}"


def assert_none(faults: list[str]) -> None:
    assert not faults, "\n" + "\n".join(faults)


def test_the_checks_look_at_the_whole_package():
    assert len(modules()) >= 5
    assert len(modules()) == sum(1 for _ in PACKAGE.glob("**/*.py"))


def test_rooms_import_only_what_stands_above_them():
    assert_none([fault for module in modules() for fault in layer_faults(module)])


def test_nothing_rests_on_a_leaf():
    assert_none([fault for module in modules() for fault in leaf_faults(module)])


def test_the_core_imports_no_optional_package():
    assert_none([fault for module in modules() for fault in optional_package_faults(module)])


def test_time_comes_in_through_the_clock():
    assert_none([fault for module in modules() for fault in clock_faults(module)])


def test_each_module_says_where_it_stands():
    assert_none([fault for module in modules() for fault in docstring_faults(module)])


# The checks themselves, on planted faults: a check that finds nothing anywhere would pass everywhere.


def test_an_import_from_below_names_file_line_import_and_what_is_allowed():
    module = parse("streamiter/clock.py", "import os\nfrom streamiter.shard import Shard\n")
    (fault,) = layer_faults(module)
    assert (
        fault
        == "streamiter/clock.py:2: imports streamiter.shard.Shard; 'clock' may import: installing, errors, finding, urls, clock"
    )


def test_every_way_to_write_an_import_is_seen():
    ways = [
        "import streamiter.stream",
        "from streamiter import stream",
        "from streamiter import Stream",
        "from streamiter.reading import read",
        "from .. import stream",
        "from ..stream import Stream",
        "def later():\n    from streamiter import stream",
        "if TYPE_CHECKING:\n    from streamiter.stream import Stream",
    ]
    for way in ways:
        assert list(layer_faults(parse("streamiter/merge/lane.py", way))), way
    for way in ["from .lane import Lane", "from . import lane", "from ..token import Token", "import streamiter.merge"]:
        assert not list(layer_faults(parse("streamiter/merge/merge.py", way))), way


def test_the_face_imports_no_inner_room():
    assert list(layer_faults(parse("streamiter/__init__.py", "from .merge import Merge")))
    assert not list(layer_faults(parse("streamiter/__init__.py", "from .stream import Stream")))


def test_a_leaf_is_reached_by_its_door_alone_and_late():
    door, late = LEAVES["demo"], "def run():\n    from streamiter.demo.show import Show"
    assert list(leaf_faults(parse("streamiter/cli/commands/tail.py", late)))
    assert list(leaf_faults(parse(door, "from streamiter.demo.show import Show")))
    assert not list(leaf_faults(parse(door, late)))
    assert not list(leaf_faults(parse("streamiter/demo/watch.py", "from streamiter.demo.show import Show")))


def test_a_room_without_a_place_is_a_fault():
    assert list(layer_faults(parse("streamiter/helpers.py", "")))


def test_an_optional_package_may_load_only_where_it_is_used():
    assert list(optional_package_faults(parse("streamiter/stream/table.py", "import pyarrow as pa")))
    assert list(optional_package_faults(parse("streamiter/stream/table.py", "try:\n    import pyarrow\nfinally: 0")))
    for lazily in ["def table():\n    import pyarrow", "if TYPE_CHECKING:\n    import pyarrow"]:
        assert not list(optional_package_faults(parse("streamiter/stream/table.py", lazily)))
    assert not list(optional_package_faults(parse("streamiter/spark/reader.py", "import pyspark")))


def test_clocks_are_found_by_any_name():
    readings = [
        "import time\ntime.sleep(1)",
        "import time as t\nt.monotonic()",
        "from time import time\ntime()",
        "from datetime import datetime, UTC\ndatetime.now(UTC)",
        "import datetime as dt\ndt.datetime.utcnow()",
        "import arrow\narrow.utcnow()",
        "import time\ndef wait(sleep=time.sleep): ...",
    ]
    for reading in readings:
        assert len(list(clock_faults(parse("streamiter/stream/driver.py", reading)))) == 1, reading
        assert not list(clock_faults(parse("streamiter/clock.py", reading)))
    assert not list(clock_faults(parse("streamiter/stream/driver.py", "import arrow\narrow.get(0)\nclock.now()")))


def test_a_docstring_is_one_sentence_on_its_first_line():
    for wrong in ["", '"""No stop"""', '"""Over two\nlines."""', '"""One. Two."""']:
        assert list(docstring_faults(parse("streamiter/errors.py", wrong))), wrong
    assert not list(docstring_faults(parse("streamiter/errors.py", '"""Lanes: one shard\'s records."""')))
