"""Labels: the names above the bars: none touches another, none runs out of the picture; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from streamiter.cli.checks.standing import short_names
from streamiter.cli.pictures.layout import Bar
from streamiter.cli.pictures.shapes import width_of

SIZE = 11.0
GAP = 4.0  # between two of them, and to the line of the token


class Span(NamedTuple):
    """From where to where something stretches."""

    left: float
    right: float


class Label(NamedTuple):
    """A bar's name, and where it begins."""

    bar: Bar
    left: float
    text: str


def place_labels(
    bars: Sequence[Bar],
    names: dict[str, str],
    span_of: Callable[[Bar], Span],
    edges: Span,
    line_at: Sequence[float] = (),
) -> list[Label]:
    """The names that have room, shorter ones where these have none: a closed shard's above its own bar, an open one's also
    beyond it.

    `edges` are those of the picture; `line_at` is where the token's line crosses each row.
    """
    labels: list[Label] = []
    shorter = short_names(list(names))
    for row in sorted({bar.row for bar in bars}):
        here = [bar for bar in bars if bar.row == row]
        taken: list[Span] = []
        for bar in sorted(here, key=lambda bar: not bar.is_open):  # what can still grow is named first
            span = span_of(bar)
            room = Span(span.left + 1, edges.right if bar.is_open else span.right)
            for name in dict.fromkeys((names[bar.shard_id], shorter[bar.shard_id])):
                place = _place(width_of(name, SIZE, is_bold=True), bar.is_open, room, line_at[row] if line_at else None)
                if place.left >= edges.left and place.right <= room.right and not any(_touch(place, t) for t in taken):
                    taken.append(place)
                    labels.append(Label(bar, place.left, name))
                    break
    return labels


def _place(width: float, is_open: bool, room: Span, line: float | None) -> Span:
    """At the bar's begin, or beside the line of the token where that leaves room; an open one's ends at the edge."""
    left = room.left
    if line is not None and left - GAP < line < left + width + GAP and line + GAP + width <= room.right:
        left = line + GAP
    if is_open:
        left = min(left, room.right - width)
    return Span(left, left + width)


def _touch(one: Span, other: Span) -> bool:
    return one.left < other.right + GAP and other.left < one.right + GAP
