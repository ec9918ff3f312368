"""Shapes: what a picture is made of, the same for SVG and PNG; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Point = tuple[float, float]


class Box(NamedTuple):
    """A rectangle."""

    left: float
    top: float
    width: float
    height: float
    fill: str
    radius: float = 0.0


class Stroke(NamedTuple):
    """A line through points."""

    points: tuple[Point, ...]
    colour: str
    width: float = 1.5
    is_dashed: bool = False


class Area(NamedTuple):
    """A filled outline."""

    points: tuple[Point, ...]
    fill: str


class Words(NamedTuple):
    """A line of text; `top` is its base line."""

    left: float
    top: float
    text: str
    size: float
    colour: str
    anchor: Literal["start", "middle", "end"] = "start"
    is_bold: bool = False


Shape = Box | Stroke | Area | Words


@dataclass(frozen=True)
class Picture:
    """Shapes on white, drawn in their order."""

    width: float
    height: float
    title: str
    shapes: tuple[Shape, ...]
