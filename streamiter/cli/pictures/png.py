"""PNG: a picture as pixels, drawn with Pillow, which brings its own font: no display and no fonts are needed."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from streamiter.cli.pictures.shapes import Area, Box, Picture, Shape, Stroke
from streamiter.cli.terminal.palette import GROUND
from streamiter.errors import InvalidOption, MissingExtra
from streamiter.terminal import printable

SCALE = 2  # pixels for each unit: sharp on screens of today
FINE = 2  # drawn so many times larger, then made smaller: smooth edges
MOST_PIXELS = 120_000_000  # three bytes each
_SHIFTS = {"start": 0.0, "middle": 0.5, "end": 1.0}  # how much of a text stands left of its place
_DASH, _GAP = 5.0, 4.0


def check_extra() -> None:
    """Says what is missing, before anything is read."""
    try:
        from PIL import features
    except ImportError as error:
        raise MissingExtra("pillow", "png") from error
    if not features.check("freetype2"):
        raise MissingExtra("pillow with FreeType", "png")


def to_png(picture: Picture) -> bytes:
    """The picture as a PNG file."""
    check_extra()
    from PIL import Image, ImageDraw

    scale, fine = _sizes(picture)
    zoom = scale * fine
    image = Image.new("RGB", (round(picture.width * zoom), round(picture.height * zoom)), GROUND)
    draw = ImageDraw.Draw(image)
    for shape in picture.shapes:
        _draw(draw, shape, zoom)
    if fine > 1:
        size = round(picture.width * scale), round(picture.height * scale)
        image = image.resize(size, Image.Resampling.LANCZOS)
    out = BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _sizes(picture: Picture) -> tuple[int, int]:
    """SCALE and FINE, less where hundreds of rows would take gigabytes."""
    for scale, fine in ((SCALE, FINE), (SCALE, 1), (1, 1)):
        if picture.width * picture.height * (scale * fine) ** 2 <= MOST_PIXELS:
            return scale, fine
    raise InvalidOption("so many shards are too much for a PNG: draw fewer (--since), or an SVG (--svg)")


def _draw(draw: Any, shape: Shape, zoom: int) -> None:
    if isinstance(shape, Box):
        corners = [shape.left, shape.top, shape.left + shape.width, shape.top + shape.height]
        box = [round(value * zoom) for value in corners]
        draw.rounded_rectangle(
            [*box[:2], max(box[0], box[2] - 1), max(box[1], box[3] - 1)], shape.radius * zoom, shape.fill
        )
    elif isinstance(shape, Stroke):
        width = max(1, round(shape.width * zoom))
        for part in _dashes(shape) if shape.is_dashed else [shape.points]:
            draw.line([(left * zoom, top * zoom) for left, top in part], shape.colour, width, joint="curve")
    elif isinstance(shape, Area):
        if len(shape.points) > 2:
            draw.polygon([(left * zoom, top * zoom) for left, top in shape.points], shape.fill)
    else:
        from PIL import ImageFont

        font = ImageFont.load_default(shape.size * zoom)
        bold = max(1, round(zoom * shape.size / 45)) if shape.is_bold else 0
        letters = list(_spaced(printable(shape.text), font, bold))
        left = shape.left * zoom - letters[-1][0] * _SHIFTS[shape.anchor]
        for colour, stroke in ((GROUND, bold + 2 * zoom), (shape.colour, bold))[not shape.has_halo :]:
            for offset, letter in letters:
                place = left + offset, shape.top * zoom
                draw.text(place, letter, colour, font, "ls", stroke_width=stroke, stroke_fill=colour)


def _spaced(text: str, font: Any, bold: int) -> Iterator[tuple[float, str]]:
    """Each letter and where it begins, and at last where the text ends.

    Bold letters are regular ones drawn with a wider pen, for there is no bold font: each takes that much more room.
    """
    offset = 0.0
    for letter, following in zip(text, [*text[1:], ""], strict=True):
        yield offset, letter
        offset += font.getlength(letter + following) - font.getlength(following) + 2 * bold
    yield offset, ""


def _dashes(stroke: Stroke) -> list[tuple[tuple[float, float], ...]]:
    """The pieces of a dashed line; the pattern goes on around its corners."""
    pieces: list[tuple[tuple[float, float], ...]] = []
    walked = 0.0
    for (left, top), (to_left, to_top) in zip(stroke.points, stroke.points[1:], strict=False):
        length = ((to_left - left) ** 2 + (to_top - top) ** 2) ** 0.5
        at = 0.0
        while at < length:
            phase = (walked + at) % (_DASH + _GAP)
            step = min(length - at, (_DASH if phase < _DASH else _DASH + _GAP) - phase)
            if phase < _DASH:
                ends = [
                    (left + (to_left - left) * part, top + (to_top - top) * part)
                    for part in (at / length, (at + step) / length)
                ]
                pieces.append((ends[0], ends[1]))
            at += max(step, 0.01)
        walked += length
    return pieces
