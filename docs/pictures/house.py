"""Draws the house, for docs/design.md: its rooms, a record's way, a shard's stages: python docs/pictures/house.py.

The stages and the arrows between them come from `streamiter.reading.book.MOVES`; the way names functions that exist, which
tests/test_pictures.py checks. Boxes have their own colours; lines and labels are of a middle grey. So the pictures read on
white and on black.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from streamiter.reading.book import MOVES, Stage

HERE = Path(__file__).parent

GREY, BROWN, BLUE, DEEP, GREEN = "#5b6b7a", "#8f5a24", "#1d69a6", "#12476f", "#2a7554"
LINE, LABEL = "#788693", "#7a8895"

Point = tuple[float, float]


def pictures() -> dict[str, str]:
    """Each picture by the name of its file."""
    return {"architecture.svg": draw_rooms(), "record-way.svg": draw_way(), "stages.svg": draw_stages()}


def main() -> None:
    for name, text in pictures().items():
        (HERE / name).write_text(text, "utf-8")


# -- what pictures are made of


def sheet(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    font = 'font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" font-size="14"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {font} role="img" aria-labelledby="title">',
        f'  <title id="title">{escape(title)}</title>',
        *(f"  {part}" for part in parts),
        "</svg>\n",
    ])  # fmt: skip


def text(x: float, y: float, words: str, *, fill: str = LABEL, size: int = 14, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}" font-size="{size}"{weight} text-anchor="middle">{escape(words)}</text>'


def box(
    corner: Point, size: Point, fill: str, title: str, lines: Sequence[str] = (), *, small: int = 13
) -> Iterator[str]:
    """A box with a title in bold, and lines below it; all of them in its middle."""
    (x, y), (width, height) = corner, size
    yield f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="7" fill="{fill}"/>'
    middle, step = x + width / 2, small + 6
    first = y + height / 2 + 5 - step * len(lines) / 2
    yield text(middle, first, title, fill="#fff", bold=True)
    for count, line in enumerate(lines, start=1):
        yield text(middle, first + count * step, line, fill="#fff", size=small)


def arrow(*points: Point) -> Iterator[str]:
    """A line through these points, with a head at the last one."""
    (x0, y0), (x, y) = points[-2], points[-1]
    length = max(1.0, ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5)
    ahead, aside = (x - x0) / length, (y - y0) / length
    neck = (x - 9 * ahead, y - 9 * aside)
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in (*points[:-1], neck))
    left, right = (neck[0] - 5 * aside, neck[1] + 5 * ahead), (neck[0] + 5 * aside, neck[1] - 5 * ahead)
    yield f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="2"/>'
    corners = "L".join(f"{a:.1f} {b:.1f}" for a, b in ((x, y), left, right))
    yield f'<path d="M{corners}z" fill="{LINE}"/>'


def frame(corner: Point, size: Point) -> str:
    place = f'x="{corner[0]:g}" y="{corner[1]:g}" width="{size[0]:g}" height="{size[1]:g}"'
    return f'<rect {place} rx="10" fill="none" stroke="{LINE}" stroke-width="1.5" stroke-dasharray="6 5"/>'


# -- the rooms

INSIDE = [  # of reading/, and of the two rooms that it decides with
    "Book: each shard once, in one stage",
    "Asking: who is asked, for how much",
    "Opening, floors, gaps, succession",
    "Listing, Patience: when again",
    "resume: token to book, and back",
    "lineage/ parents, listings to trust",
    "merge/ lanes, and the one order",
]

TOP_ROW: list[tuple[float, float, str, str, list[str]]] = [
    (14, 136, GREY, "the service", ["DynamoDB", "Streams, Kinesis,", "or what your own", "source reads"]),
    (
        204,
        148,
        BROWN,
        "driving/ threads",
        ["one call each,", "through source/:", "list the shards,", "open a shard,", "fetch a page"],
    ),
    (
        388,
        132,
        BROWN,
        "driving/ Driver",
        ["makes wishes", "into calls, and", "answers into", "events; holds", "the iterators"],
    ),
]


def draw_rooms() -> str:
    parts = [frame((370, 16), (496, 424))]
    parts.append(text(618, 42, "one thread, the caller's: it owns all state and the clock", bold=True))
    for x, width, fill, title, lines in TOP_ROW:
        parts += box((x, 92), (width, 172), fill, title, lines)
    parts.append(f'<rect x="578" y="60" width="272" height="266" rx="8" fill="{BLUE}"/>')
    parts.append(text(714, 84, "reading/ decides, purely", fill="#fff", bold=True))
    for row, words in enumerate(INSIDE):
        parts.append(f'<rect x="590" y="{96 + 32 * row}" width="248" height="27" rx="5" fill="{DEEP}"/>')
        parts.append(text(714, 114 + 32 * row, words, fill="#fff", size=13))
    parts += box((578, 372), (160, 52), GREEN, "stream/ Stream")
    parts += box((888, 322), (140, 152), GREY, "your code", ["next(stream)", "follow()", "batches()", "stream.token"])
    parts += [*arrow((204, 140), (152, 140)), *arrow((150, 204), (202, 204)), text(177, 131, "calls", size=13)]
    parts += [*arrow((388, 140), (354, 140)), *arrow((352, 204), (386, 204)), text(177, 224, "pages", size=13)]
    parts += [*arrow((578, 140), (522, 140)), *arrow((520, 204), (576, 204)), text(549, 131, "wishes", size=13)]
    parts += [
        *arrow((658, 326), (658, 370)),
        text(548, 224, "events", size=13),
        text(718, 354, "records, token", size=13),
    ]
    parts += arrow((738, 398), (886, 398))
    parts += box((14, 492), (1014, 62), GREY, "the rooms further down", [
        "store/ lease/ many workers  ·  metrics/  ·  testing/ a simulated service  ·  spark/  ·  demo/  ·  cli/",
    ])  # fmt: skip
    told = (
        "Threads in driving/ make one call each to the service, through source/; the Driver turns wishes into calls and "
        "answers into events; reading/ decides with lineage/ and merge/; the Stream gives records and tokens to your code."
    )
    return sheet(1040, 566, told, parts)


# -- a record's way


class Step(NamedTuple):
    """One station: the function that is called, the column that it stands in, and what it does."""

    function: str  # module below streamiter, and name
    column: int
    does: str

    @property
    def name(self) -> str:
        return self.function.rpartition(":")[2]


COLUMNS = [("a daemon thread", BROWN), ("driving/", BROWN), ("reading/", BLUE), ("merge/", DEEP), ("stream/", GREEN)]
WAY = [
    Step("stream.stream:Stream.__next__", 4, "nothing is ready yet"),
    Step("stream.output:Outlet.prepare", 4, "one round, for one thread"),
    Step("driving.driver:Driver.turn", 1, "what can be done now?"),
    Step("reading.reading:Reading.wishes", 2, "decides which calls to make"),
    Step("driving.threads:Threads.submit", 1, "hands the call to a thread"),
    Step("driving.calls:fetch", 0, "opens the shard, gets a page"),
    Step("source.dynamodb_page:decode_page", 0, "source/: what order needs"),
    Step("driving.driver:Driver._take_page", 1, "drops what came before"),
    Step("reading.reading:Reading.paged", 2, "when is it asked again?"),
    Step("merge.lane:Lane.push", 3, "order times, places, bound"),
    Step("stream.output:Outlet._run", 4, "may a record come out?"),
    Step("merge.merge:Merge.run", 3, "a window, sorted at once"),
    Step("stream.stream:Stream.__next__", 4, "takes one: it is returned"),
    Step("merge.merge:Merge.settle", 3, "later: the lanes take note"),
]
WIDE, TALL, DOWN, TOP = 196, 46, 62, 62


def draw_way() -> str:
    parts: list[str] = []
    height = TOP + DOWN * len(WAY)
    for column, (name, _) in enumerate(COLUMNS):
        parts.append(text(_middle(column), 28, name, bold=True))
        if column:
            x = column * 208
            parts.append(f'<path d="M{x} 12V{height - 14}" stroke="{LINE}" stroke-width="1" stroke-dasharray="3 6"/>')
    for row, step in enumerate(WAY):
        corner = (_middle(step.column) - WIDE / 2, TOP + DOWN * row - 14.0)
        parts += box(corner, (WIDE, TALL), COLUMNS[step.column][1], f"{row + 1}  {step.name}", [step.does], small=12)
        if row:
            parts += _from(WAY[row - 1], step, row)
    title = "A record's way, call by call: " + ", ".join(step.name for step in WAY)
    return sheet(1040, height, title, parts)


def _middle(column: int) -> float:
    return 104.0 + 208 * column


def _from(before: Step, step: Step, row: int) -> Iterator[str]:
    """From the station above: down, and then across to this one's row."""
    top = TOP + DOWN * row - 14.0
    start = (_middle(before.column), top - DOWN + TALL)
    if before.column == step.column:
        return arrow(start, (start[0], top - 1))
    side = WIDE / 2 + 1 if before.column > step.column else -WIDE / 2 - 1
    level = top + TALL / 2
    return arrow(start, (start[0], level), (_middle(step.column) + side, level))


# -- the stages of a shard

OUTSIDE = "not known"
WHERE = {  # the middle of each stage's box
    Stage.UNREAD: (330.0, 110.0),
    Stage.WAITING: (330.0, 280.0),
    Stage.LANE: (560.0, 195.0),
    Stage.ENDED: (800.0, 195.0),
    Stage.PAST: (800.0, 50.0),
}
SAYS = {
    Stage.UNREAD: "listed, not opened",
    Stage.WAITING: "in the token, not opened",
    Stage.LANE: "being read",
    Stage.ENDED: "read to its end",
    Stage.PAST: "before the token",
}
HALF = (85.0, 26.0)
ENTERS, LEAVES, ROUND = (80.0, 195.0), (970.0, 125.0), (56.0, 20.0)


class Arrow(NamedTuple):
    """How a move is drawn: its words, where they stand, and the corners on its way."""

    words: str
    at: Point
    corners: tuple[Point, ...] = ()


ARROWS: dict[tuple[Stage | None, Stage | None], Arrow] = {
    (None, Stage.UNREAD): Arrow("a listing shows it", (160.0, 130.0)),
    (None, Stage.WAITING): Arrow("the token names it", (160.0, 264.0)),
    (None, Stage.ENDED): Arrow(
        "the token names it as read to its end", (440.0, 352.0), ((80.0, 360.0), (800.0, 360.0))
    ),
    (Stage.UNREAD, Stage.LANE): Arrow("may be read now", (504.0, 142.0)),
    (Stage.UNREAD, Stage.PAST): Arrow("the token counts it as read", (540.0, 62.0)),
    (Stage.WAITING, Stage.LANE): Arrow("may be read now", (504.0, 262.0)),
    (Stage.LANE, Stage.ENDED): Arrow("its end", (678.0, 186.0)),
    (Stage.ENDED, None): Arrow("listed no more", (950.0, 185.0)),
    (Stage.PAST, None): Arrow("listed no more", (950.0, 78.0)),
}


def draw_stages() -> str:
    moves = {(before, after) for before, found in MOVES.items() for after in found}
    if moves != ARROWS.keys() or set(Stage) != WHERE.keys():
        raise ValueError(f"the table of moves changed; draw these, or draw them no more: {moves ^ ARROWS.keys()}")
    parts: list[str] = []
    for before, after in sorted(moves, key=str):
        parts += _move(before, after, ARROWS[before, after])
    for stage, (x, y) in WHERE.items():
        fill = {Stage.LANE: GREEN, Stage.PAST: GREY, Stage.ENDED: GREY}.get(stage, BLUE)
        parts += box((x - HALF[0], y - HALF[1]), (2 * HALF[0], 2 * HALF[1]), fill, stage.name, [SAYS[stage]], small=12)
    for (x, y), words in ((ENTERS, OUTSIDE), (LEAVES, "forgotten")):
        parts.append(
            f'<rect x="{x - ROUND[0]:g}" y="{y - ROUND[1]:g}" width="{2 * ROUND[0]:g}" height="{2 * ROUND[1]:g}" rx="20" '
            f'fill="none" stroke="{LINE}" stroke-width="2"/>'
        )
        parts.append(text(x, y + 5, words))
    told = "; ".join(f"{_name(before)} to {_name(after)}: {ARROWS[before, after].words}" for before, after in ARROWS)
    return sheet(1040, 376, f"The stages of a shard. {told}.", parts)


def _name(stage: Stage | None) -> str:
    return OUTSIDE if stage is None else stage.name


def _move(before: Stage | None, after: Stage | None, drawn: Arrow) -> Iterator[str]:
    start, start_half = (ENTERS, ROUND) if before is None else (WHERE[before], HALF)
    end, end_half = (LEAVES, ROUND) if after is None else (WHERE[after], HALF)
    stations = (start, *drawn.corners, end)
    first = _edge(start, start_half, stations[1], 0.0)
    last = _edge(end, end_half, stations[-2], 2.0)
    yield from arrow(first, *drawn.corners, last)
    yield text(*drawn.at, drawn.words, size=13)


def _edge(middle: Point, half: Point, towards: Point, gap: float) -> Point:
    """Where the line from the middle of a box to a point leaves it."""
    across, down = towards[0] - middle[0], towards[1] - middle[1]
    share = min(
        (half[0] + gap) / abs(across) if across else float("inf"), (half[1] + gap) / abs(down) if down else float("inf")
    )
    return middle[0] + share * across, middle[1] + share * down


if __name__ == "__main__":
    main()
