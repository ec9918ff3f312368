"""SVG: a picture as text, without any package; on a dark screen its colours are dark ones."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from streamiter.cli.pictures.shapes import Area, Box, Picture, Point, Shape, Stroke
from streamiter.cli.terminal.palette import DARK, GROUND
from streamiter.terminal import printable

_FONT = "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif\""

_FILL, _LINE = "f", "l"  # CSS classes for fills and for lines; the digits of the colour follow


def to_svg(picture: Picture) -> str:
    """The picture as an SVG document."""
    size = f'width="{_number(picture.width)}" height="{_number(picture.height)}"'
    box = f'viewBox="0 0 {_number(picture.width)} {_number(picture.height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img" {_FONT}>',
        f"<title>{_text(picture.title)}</title>",
        _style(),
        f"<rect {size} {_fill(GROUND)}/>",
        *map(_element, picture.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _style() -> str:
    """Readers that know no media queries keep the light colours, which stand in the elements themselves."""
    rules = [f".{_FILL}{light[1:]}{{fill:{dark}}}.{_LINE}{light[1:]}{{stroke:{dark}}}" for light, dark in DARK.items()]
    return f"<style>@media (prefers-color-scheme: dark) {{{''.join(rules)}}}</style>"


def _fill(colour: str) -> str:
    return f'class="{_FILL}{colour.lstrip("#")}" fill={quoteattr(colour)}'


def _line(colour: str) -> str:
    return f'class="{_LINE}{colour.lstrip("#")}" fill="none" stroke={quoteattr(colour)}'


def _element(shape: Shape) -> str:
    if isinstance(shape, Box):
        place = f'x="{_number(shape.left)}" y="{_number(shape.top)}"'
        size = f'width="{_number(shape.width)}" height="{_number(shape.height)}"'
        return f'<rect {place} {size} rx="{_number(shape.radius)}" {_fill(shape.fill)}/>'
    if isinstance(shape, Stroke):
        dashes = ' stroke-dasharray="5 4"' if shape.is_dashed else ""
        look = f'{_line(shape.colour)} stroke-width="{_number(shape.width)}"{dashes}'
        return f'<polyline points="{_points(shape.points)}" {look} stroke-linejoin="round" stroke-linecap="round"/>'
    if isinstance(shape, Area):
        return f'<polygon points="{_points(shape.points)}" {_fill(shape.fill)}/>'
    place = f'x="{_number(shape.left)}" y="{_number(shape.top)}" text-anchor="{shape.anchor}"'
    font = f'font-size="{_number(shape.size)}"' + (' font-weight="600"' if shape.is_bold else "")
    text = _text(shape.text)
    told = f"<text {place} {font} {_fill(shape.colour)}>{text}</text>"
    if not shape.has_halo:
        return told
    # An element of its own: not every reader knows paint-order, and without it the halo hides the letters.
    halo = f'{_line(GROUND)} stroke-width="4" stroke-linejoin="round" aria-hidden="true"'
    return f"<text {place} {font} {halo}>{text}</text>\n{told}"


def _points(points: tuple[Point, ...]) -> str:
    return " ".join(f"{_number(left)},{_number(top)}" for left, top in points)


def _text(text: str) -> str:
    return escape(printable(text))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
