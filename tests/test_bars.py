"""The bars: how long a file may be, and how many collaborators a constructor may take."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "streamiter"

MOST_LINES = 400
MOST_COLLABORATORS = 4

# Values: what is only told, and changes nothing and calls nobody. A class is one if it is made so, or rests on one that is.
VALUE_BASES = {"NamedTuple", "TypedDict", "Struct", "Enum", "IntEnum", "StrEnum", "Exception", "BaseException"}


class Class(NamedTuple):
    """A class of the package, as its file has it."""

    path: str
    line: int
    name: str
    bases: tuple[str, ...]
    is_frozen: bool
    fields: tuple[ast.expr, ...]  # the annotations of what its constructor takes

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}: {self.name}"


def sources(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")


def classes_in(path: str, source: str) -> Iterator[Class]:
    for node in ast.walk(ast.parse(source, path)):
        if isinstance(node, ast.ClassDef):
            bases = tuple(_last_name(base) for base in node.bases)
            is_frozen = any("frozen=True" in ast.unparse(decorator) for decorator in node.decorator_list)
            yield Class(path, node.lineno, node.name, bases, is_frozen, tuple(_taken(node)))


def _taken(node: ast.ClassDef) -> Iterator[ast.expr]:
    """The annotations of the constructor's parameters: those written out, or the fields that one is made of."""
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__" and not _is_overload(inner):
            arguments = inner.args
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                if argument.annotation is not None:
                    yield argument.annotation
            return
    is_made = any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    if is_made or "NamedTuple" in map(_last_name, node.bases):
        for inner in node.body:
            if isinstance(inner, ast.AnnAssign) and "init=False" not in ast.unparse(inner):
                yield inner.annotation


def _is_overload(function: ast.FunctionDef) -> bool:
    return any(_last_name(decorator) == "overload" for decorator in function.decorator_list)


def _last_name(node: ast.expr) -> str:
    """`msgspec.Struct` and `Source[Record]` are a Struct and a Source."""
    if isinstance(node, ast.Subscript | ast.Call):
        return _last_name(node.value if isinstance(node, ast.Subscript) else node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def values_among(classes: list[Class]) -> set[str]:
    """The names of the classes that are values."""
    values = {known.name for known in classes if known.is_frozen or VALUE_BASES & set(known.bases)}
    while True:
        more = {known.name for known in classes if values & set(known.bases)} - values
        if not more:
            return values
        values |= more


def collaborators(known: Class, classes: set[str], values: set[str]) -> list[str]:
    """What a constructor takes that is an object of a class of ours, and no value; one for each such parameter."""
    taken = []
    for annotation in known.fields:
        found = [name for name in _named(annotation) if name in classes and name not in values]
        taken += found[:1]
    return taken


def _named(annotation: ast.expr) -> Iterator[str]:
    """The classes that a parameter may be of. `dict[str, Lane]` is a dict, and a callable is no object of ours."""
    if isinstance(annotation, ast.BinOp):
        yield from _named(annotation.left)
        yield from _named(annotation.right)
    elif isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield from _named(ast.parse(annotation.value, mode="eval").body)
    else:
        yield _last_name(annotation)


def crowded(files: list[tuple[str, str]]) -> list[str]:
    known = [found for path, source in files for found in classes_in(path, source)]
    names, values = {found.name for found in known}, values_among(known)
    faults = []
    for found in known:
        taken = collaborators(found, names, values)
        if len(taken) > MOST_COLLABORATORS:
            faults.append(f"{found.place} takes {len(taken)} collaborators: {', '.join(taken)}")
    return faults


@pytest.mark.parametrize("folder", ["streamiter", "tests", "benchmarks", "docs"])
def test_no_file_is_longer_than_one_reads(folder: str):
    long = [
        f"{path}: {lines} lines"
        for path, source in sources(ROOT / folder)
        if (lines := source.count("\n")) > MOST_LINES
    ]
    assert not long, "\n" + "\n".join(long)


def test_no_constructor_takes_more_than_four_collaborators():
    faults = crowded(list(sources(PACKAGE)))
    assert not faults, "\n" + "\n".join(faults)


# The checks themselves, on planted faults: a check that finds nothing anywhere would pass everywhere.

OWN = """
class A: ...
class B(A): ...
class C(Protocol): ...
class D: ...
class E: ...
class Told(NamedTuple): ...
class Row(msgspec.Struct): ...
class Change(Row): ...
@dataclass(frozen=True)
class Place: ...
"""


@pytest.mark.parametrize(
    "constructor",
    [
        "class X:\n    def __init__(self, a: A, b: B | None, c: 'C', *, d: D | None = None, e: E): ...",
        "class X:\n    def __init__(self, a: A, b: B, c: C, d: D, /, e: E[int]): ...",
        "@dataclass\nclass X:\n    a: A\n    b: B\n    c: C\n    d: D\n    e: E",
        "class X(NamedTuple):\n    a: A\n    b: B\n    c: C\n    d: D\n    e: E",
        "@dataclass(frozen=True)\nclass X:\n    a: A\n    b: B\n    c: C\n    d: D\n    e: E",
    ],
)
def test_five_collaborators_are_one_too_many_however_they_are_taken(constructor: str):
    (fault,) = crowded([("x.py", OWN + constructor)])
    assert fault.endswith("X takes 5 collaborators: A, B, C, D, E")


@pytest.mark.parametrize(
    "constructor",
    [
        "class X:\n    def __init__(self, a: A, b: B, c: C, d: D, told: Told, row: Row, change: Change, place: Place): ...",
        "class X:\n    def __init__(self, a: A, b: B, c: C, d: D, e: dict[str, E], f: Callable[[E], None], g: str): ...",
        "class X:\n    @overload\n    def __init__(self, a: A, b: B, c: C, d: D, e: E): ...\n    def __init__(self, a: A): ...",
        "@dataclass\nclass X:\n    a: A\n    b: B\n    c: C\n    d: D\n    e: E = field(init=False)",
    ],
)
def test_values_containers_and_callables_are_none(constructor: str):
    assert not crowded([("x.py", OWN + constructor)])
