"""PNG: a picture as pixels, drawn with Pillow, which brings its own font: no display and no fonts are needed."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from streamiter.cli.shapes import Area, Box, Picture, Shape, Stroke
from streamiter.demo.screen import printable
from streamiter.errors import InvalidOption, MissingExtra

SCALE = 2  # pixels for each unit: sharp on screens of today
FINE = 2  # drawn so many times larger, then made smaller: smooth edges
MOST_PIXELS = 120_000_000  # three bytes each
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
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
    image = Image.new("RGB", (round(picture.width * zoom), round(picture.height * zoom)), "#ffffff")
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
        bold = round(zoom * shape.size / 40) if shape.is_bold else 0
        place, text, anchor = (shape.left * zoom, shape.top * zoom), printable(shape.text), _ANCHORS[shape.anchor]
        if shape.has_halo:
            draw.text(place, text, "#ffffff", font, anchor, stroke_width=bold + 2 * zoom, stroke_fill="#ffffff")
        draw.text(place, text, shape.colour, font, anchor, stroke_width=bold, stroke_fill=shape.colour)


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
