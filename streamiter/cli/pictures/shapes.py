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
    has_halo: bool = False  # white around it: it can be read where a line runs through


Shape = Box | Stroke | Area | Words


def width_of(text: str, size: float, *, is_bold: bool = False) -> float:
    """About how wide a text is, rather too much than too little: fonts differ from machine to machine."""
    ems = sum(_EMS.get(character, 1.0 if ord(character) > 0x2E80 else 0.62) for character in text)
    return (ems + len(text) * _BOLDER * is_bold) * size


_BOLDER = 0.05


_EMS = {character: ems for ems, characters in ((0.32, "iljI|.,:;'! "), (0.42, "frt()[]-/")) for character in characters}
_EMS |= dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ", 0.76) | dict.fromkeys("mwMW@", 0.95)


def shortened(text: str, size: float, room: float) -> str:
    """As much of a text as there is room for."""
    if width_of(text, size) <= room:
        return text
    while text and width_of(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


@dataclass(frozen=True)
class Picture:
    """Shapes on white, drawn in their order."""

    width: float
    height: float
    title: str
    shapes: tuple[Shape, ...]
