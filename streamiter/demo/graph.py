"""The graph: a column for each shard being read, drawn line by line as `git log --graph` draws branches; pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from streamiter import Lineage
from streamiter.demo.screen import Line
from streamiter.terminal import Span

CELL = 3  # characters a column


class Graph:
    """Which shard stands in which column. A shard's first child goes on in its column, the others take new ones."""

    def __init__(self, columns: int) -> None:
        self._columns: list[str] = []
        self._width = CELL * columns

    def __contains__(self, shard: object) -> bool:
        return shard in self._columns

    def open(self, shards: Sequence[str]) -> None:
        """Shards without parents begin."""
        self._columns += shards

    def head(self, shards: Collection[str]) -> Line:
        """A line that names shards at the top of their columns."""
        return self._filled([Span(shard if shard in shards else "│", shard=shard) for shard in self._columns])

    def heads(self) -> Line:
        """A line that names all shards at the top of their columns."""
        return self.head(self._columns)

    def node(self, shard: str, mark: str = "●") -> Line:
        """The line of a record of this shard."""
        return self._filled([Span(mark if lane == shard else "│", shard=lane) for lane in self._columns])

    def grow(self, parent: str, children: Sequence[str]) -> Line | None:
        """The children take over. Gives the line on which the parent's column forks, if it does."""
        fork = self._fork(parent, len(children) - 1) if len(children) > 1 else None
        self._columns[self._columns.index(parent)] = children[0]
        self._columns += children[1:]
        return fork

    def _fork(self, parent: str, new: int) -> Line:
        at = self._columns.index(parent)
        spans = [Span(f"{'│':{CELL}}", shard=lane) for lane in self._columns[:at]]
        spans.append(Span("├──", shard=parent))
        for lane in self._columns[at + 1 :]:
            spans += [Span("│", shard=lane), Span("──", shard=parent)]
        spans.append(Span("┬──" * (new - 1) + "╮", shard=parent))
        return self._padded(spans)

    def _filled(self, marks: Line) -> Line:
        return self._padded([mark._replace(text=f"{mark.text:{CELL}}") for mark in marks])

    def _padded(self, spans: Line) -> Line:
        used = sum(len(span.text) for span in spans)
        return [*spans, Span(" " * (self._width - used))]


def tree(lineage: Lineage) -> list[Line]:
    """The lineage as a small tree, from left to right."""
    return [row for root in lineage.roots() for row in _branch(lineage, root)]


def _branch(lineage: Lineage, shard: str) -> list[Line]:
    branches = [_branch(lineage, child) for child in lineage.children(shard)]
    if not branches:
        return [[Span(shard, shard=shard)]]
    rows: list[Line] = []
    for number, branch in enumerate(branches):
        is_last = number == len(branches) - 1
        for place, row in enumerate(branch):
            name = shard if not rows else " " * len(shard)
            rows.append([Span(name, shard=shard), Span(_link(rows, place, is_last), "dim"), *row])
    return rows


def _link(above: Collection[Line], place: int, is_last: bool) -> str:
    """What joins a row of a branch to the shard left of it."""
    if not above:
        return " ─── " if is_last else " ─┬─ "
    if place == 0:
        return "  ╰─ " if is_last else "  ├─ "
    return "     " if is_last else "  │  "
