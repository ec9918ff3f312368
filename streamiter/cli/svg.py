"""SVG: a picture as text, without any package."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from streamiter.cli.shapes import Area, Box, Picture, Point, Shape, Stroke
from streamiter.demo.screen import printable

_FONT = "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif\""


def to_svg(picture: Picture) -> str:
    """The picture as an SVG document."""
    size = f'width="{_number(picture.width)}" height="{_number(picture.height)}"'
    box = f'viewBox="0 0 {_number(picture.width)} {_number(picture.height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img" {_FONT}>',
        f"<title>{_text(picture.title)}</title>",
        f'<rect {size} fill="#ffffff"/>',
        *map(_element, picture.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _element(shape: Shape) -> str:
    if isinstance(shape, Box):
        place = f'x="{_number(shape.left)}" y="{_number(shape.top)}"'
        size = f'width="{_number(shape.width)}" height="{_number(shape.height)}"'
        return f'<rect {place} {size} rx="{_number(shape.radius)}" fill={quoteattr(shape.fill)}/>'
    if isinstance(shape, Stroke):
        dashes = ' stroke-dasharray="5 4"' if shape.is_dashed else ""
        look = f'fill="none" stroke={quoteattr(shape.colour)} stroke-width="{_number(shape.width)}"{dashes}'
        return f'<polyline points="{_points(shape.points)}" {look} stroke-linejoin="round" stroke-linecap="round"/>'
    if isinstance(shape, Area):
        return f'<polygon points="{_points(shape.points)}" fill={quoteattr(shape.fill)}/>'
    place = f'x="{_number(shape.left)}" y="{_number(shape.top)}" text-anchor="{shape.anchor}"'
    look = f'font-size="{_number(shape.size)}" fill={quoteattr(shape.colour)}' + (
        ' font-weight="600"' if shape.is_bold else ""
    )
    look += ' paint-order="stroke" stroke="#ffffff" stroke-width="4" stroke-linejoin="round"' if shape.has_halo else ""
    return f"<text {place} {look}>{_text(shape.text)}</text>"


def _points(points: tuple[Point, ...]) -> str:
    return " ".join(f"{_number(left)},{_number(top)}" for left, top in points)


def _text(text: str) -> str:
    return escape(printable(text))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
