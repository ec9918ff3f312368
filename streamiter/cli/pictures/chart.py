"""The chart: shards over time as a picture: bars, forks between them, records as density, the token as a line; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from streamiter.cli.checks.standing import Standing, arn_of, title_of
from streamiter.cli.checks.survey import BIN_US, Survey
from streamiter.cli.pictures.labels import SIZE, Label, Span, place_labels
from streamiter.cli.pictures.layout import Bar as Bar
from streamiter.cli.pictures.layout import lay_out as lay_out
from streamiter.cli.pictures.layout import rows_of as rows_of
from streamiter.cli.pictures.shapes import Area, Box, Picture, Point, Shape, Stroke, Words, shortened, width_of
from streamiter.cli.pictures.tree import counted, state_of
from streamiter.cli.terminal.palette import COLOURS, GRID, INK, QUIET, TOKEN
from streamiter.clock import SECOND_US
from streamiter.lineage import Lineage

WIDTH = 1100.0
LEFT, RIGHT, TOP, BOTTOM = 28.0, 62.0, 74.0, 62.0
ROW, BAR = 62.0, 32.0
NAMED, LEAST = 40.0, 1.8  # the lowest row that has room for names, and the lowest of all
NAME = 18.0  # above a bar, for its name
TALLEST = 2400.0  # of all rows, unless there are so many that each is as low as it can be
ARROW, GAP = 9.0, 4.0
BELOW = 5.0  # from the line of the token to the next row
STEPS = (
    1,
    5,
    15,
    60,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    14400,
    21600,
    43200,
    86400,
)  # seconds between two lines of the grid
LEAST_US = 600 * SECOND_US  # a picture of a stream that was just made shows no less


@dataclass(frozen=True)
class Rows:
    """How high the rows are: lower where there are hundreds, and then without names."""

    count: int

    @property
    def height(self) -> float:
        """Of one row."""
        return max(LEAST, min(ROW, TALLEST / self.count))

    @property
    def have_names(self) -> bool:
        """Whether there is room for names above the bars."""
        return self.height >= NAMED

    @property
    def bar(self) -> float:
        """How high a bar is."""
        return min(BAR, self.height - NAME - 6) if self.have_names else self.height * 0.75

    @property
    def bottom(self) -> float:
        """Where the last one ends."""
        return TOP + self.count * self.height

    def top(self, row: int) -> float:
        """Where a row's bars begin."""
        return TOP + row * self.height + (NAME if self.have_names else (self.height - self.bar) / 2)

    def middle(self, row: int) -> float:
        """The middle of a row's bars."""
        return self.top(row) + self.bar / 2

    def below(self, row: int) -> float:
        """Where the line of the token goes from a row to the next."""
        return TOP + (row + 1) * self.height - min(BELOW, self.height / 8)


class Scale:
    """Times as places across the picture."""

    def __init__(self, begin_us: int, end_us: int) -> None:
        self.begin_us = begin_us
        self.end_us = max(end_us, begin_us + SECOND_US)
        seconds = (self.end_us - self.begin_us) / SECOND_US
        self.step = next((step for step in STEPS if seconds / step <= 10), STEPS[-1])  # seconds between two ticks

    def x(self, time_us: float) -> float:
        """The place of a time; what is outside stands at the edge."""
        part = (time_us - self.begin_us) / (self.end_us - self.begin_us)
        return LEFT + (WIDTH - LEFT - RIGHT) * min(1.0, max(0.0, part))

    def ticks(self) -> list[int]:
        """Whole seconds, minutes or hours, ten of them at most."""
        step = self.step * SECOND_US
        return list(range(-(-self.begin_us // step) * step, self.end_us + 1, step))


def draw_chart(
    survey: Survey,
    names: dict[str, str],
    standings: dict[str, Standing] | None,
    *,
    since_us: int | None = None,
    token_name: str = "the token",
) -> Picture:
    """The picture of a survey with its records counted."""
    bars = lay_out(survey, since_us)
    begin_us = min([survey.service_us - LEAST_US, *(bar.begin_us for bar in bars)])
    if since_us is not None:
        begin_us = min(max(begin_us, since_us), survey.service_us - SECOND_US)
    scale = Scale(begin_us, survey.service_us)
    rows = Rows(max((bar.row for bar in bars), default=0) + 1)
    height = rows.bottom + BOTTOM
    greatest, width_us = _greatest(survey), _column_us(survey)
    read_to = [] if standings is None else _read_to(bars, standings, scale, rows)
    edges = Span(LEFT, WIDTH - 4)
    labels = place_labels(bars, names, lambda bar: _span(bar, scale), edges, read_to) if rows.have_names else []
    shapes: list[Shape] = [
        *_title(survey, bars, _unnamed(len(bars) - len(labels), rows)),
        *_grid(scale, rows),
        *(shape for bar in bars for shape in _bar(survey, bar, scale, rows, greatest, width_us)),
        *_forks(survey.lineage, bars, scale, rows),
    ]
    if standings is not None:
        shapes += _token_line(read_to, rows, token_name)
    shapes += [_label(label, rows) for label in labels]
    shapes += _legend(survey, height, has_token=standings is not None, token_name=token_name)
    return Picture(WIDTH, height, f"The shards of {arn_of(survey.stream)} over time", tuple(shapes))


# -- shapes


def _unnamed(count: int, rows: Rows) -> str:
    """Why some bars have no names."""
    if not rows.have_names:
        return "; so many rows have no room for names: --since draws fewer"
    if count:
        return f"; {count:,} too narrow for {'its name' if count == 1 else 'their names'}"
    return ""


def _title(survey: Survey, bars: Sequence[Bar], unnamed: str) -> list[Shape]:
    open_shards = sum(bar.is_open for bar in bars)
    records = "" if survey.counts is None else f"{counted(survey.counts.records, 'record')}, "
    now = datetime.fromtimestamp(survey.service_us // SECOND_US, UTC)
    what = f"{records}{counted(len(bars), 'shard')}, {open_shards} open; seen {now:%Y-%m-%d %H:%M:%S} UTC{unnamed}"
    if survey.errors:
        what += f"; {counted(len(survey.errors), 'shard')} could not be read, so records are not counted"
    title = ": its stream's shards over time"
    name = shortened(title_of(survey.stream), 17, WIDTH - 2 * LEFT - width_of(title, 17))
    return [Words(LEFT, 30, name + title, 17, INK, is_bold=True), Words(LEFT, 50, what, 12, QUIET)]


def _grid(scale: Scale, rows: Rows) -> Iterator[Shape]:
    bottom = rows.bottom
    ticks = scale.ticks()
    for number, time_us in enumerate(ticks):
        moment = datetime.fromtimestamp(time_us // SECOND_US, UTC)
        new_day = number == 0 or moment.date() != datetime.fromtimestamp(ticks[number - 1] // SECOND_US, UTC).date()
        yield Stroke(((scale.x(time_us), TOP - 6), (scale.x(time_us), bottom)), GRID, 1)
        told = f"{moment:%H:%M}" if scale.step >= 60 else f"{moment:%H:%M:%S}"
        yield Words(scale.x(time_us), bottom + 16, told, 11, QUIET, "middle")
        if new_day and len(ticks) > 1:
            yield Words(scale.x(time_us), bottom + 30, f"{moment:%b} {moment.day}", 10, QUIET, "middle")
    yield Stroke(((scale.x(scale.end_us), TOP - 6), (scale.x(scale.end_us), bottom)), QUIET, 1)
    yield Words(scale.x(scale.end_us), TOP - 10, "now", 11, QUIET, "middle")


def _forks(lineage: Lineage, bars: Sequence[Bar], scale: Scale, rows: Rows) -> Iterator[Shape]:
    known = {bar.shard_id: bar for bar in bars}
    for bar in bars:
        for parent in lineage.parents(bar.shard_id):
            if parent in known:
                start = scale.x(known[parent].end_us), rows.middle(known[parent].row)
                curve = _curve(start, (scale.x(bar.begin_us), rows.middle(bar.row)))
                yield Stroke(curve, QUIET, 1.6 if rows.have_names else 0.8)


def _curve(start: Point, end: Point) -> tuple[Point, ...]:
    """From a parent's end to a child's begin: straight, or bent like an S, never back in time where there is no room."""
    (left, top), (to_left, to_top) = start, end
    if top == to_top:
        return start, end
    room = max(to_left - left, 14.0)
    left = max(LEFT, to_left - room)
    room = to_left - left
    points = []
    for step in range(17):
        part = step / 16
        eased = part * part * (3 - 2 * part)
        points.append((left + room * part, top + (to_top - top) * eased))
    return tuple(points)


def _span(bar: Bar, scale: Scale) -> Span:
    left, right = min(scale.x(bar.begin_us), WIDTH - RIGHT - 2), scale.x(bar.end_us)
    return Span(left, max(right if bar.is_open else right - GAP, left + 2))


def _label(label: Label, rows: Rows) -> Words:
    colour = COLOURS[label.bar.colour % len(COLOURS)][1]
    top = rows.top(label.bar.row) - 5
    return Words(label.left, top, label.text, SIZE, colour, is_bold=True, has_halo=True)


def _bar(survey: Survey, bar: Bar, scale: Scale, rows: Rows, greatest: int, width_us: int) -> Iterator[Shape]:
    pale, strong = COLOURS[bar.colour % len(COLOURS)]
    left, right = _span(bar, scale)
    top, middle = rows.top(bar.row), rows.middle(bar.row)
    yield Box(left, top, right - left, rows.bar, pale, min(3.0, rows.bar / 4))
    if bar.is_open:
        yield Area(((right, top), (right + ARROW, middle), (right, top + rows.bar)), pale)
    yield from _density(survey, bar, scale, rows, greatest, width_us, strong)
    if not rows.have_names:
        return
    said = _said_inside(survey, bar)
    if bar.is_open:
        yield Words(right + ARROW + 4, middle + 4, "open", 11, strong)
    if said and right - left > width_of(said, 10) + 2 * GAP:
        yield Words((left + right) / 2, middle + 4, said, 10, QUIET, "middle")


def _said_inside(survey: Survey, bar: Bar) -> str:
    if survey.found[bar.shard_id].error is not None:
        return "could not be read"
    return "nothing held" if state_of(survey, bar.shard_id) == "empty" else ""


def _greatest(survey: Survey) -> int:
    """The most records that one column of the picture has."""
    width_us = _column_us(survey)
    return max((max(_columns(survey, shard_id, width_us).values(), default=0) for shard_id in survey.found), default=0)


def _columns(survey: Survey, shard_id: str, width_us: int) -> dict[int, int]:
    """How many records fall into each column."""
    columns: dict[int, int] = {}
    if survey.counts is not None:
        for number, count in survey.counts.by_bin.get(shard_id, {}).items():
            column = number * BIN_US // width_us
            columns[column] = columns.get(column, 0) + count
    return columns


def _column_us(survey: Survey) -> int:
    """How long a column is: as long as it has to be to be seen, and a whole number of bins."""
    bins = {} if survey.counts is None else survey.counts.by_bin
    times = [number for numbers in bins.values() for number in numbers]
    return BIN_US * max(1, -(-(max(times) - min(times)) // 240)) if times else BIN_US


def _density(
    survey: Survey, bar: Bar, scale: Scale, rows: Rows, greatest: int, width_us: int, colour: str
) -> Iterator[Shape]:
    if survey.counts is None or not greatest:
        return
    bottom = rows.top(bar.row) + rows.bar
    least, most = min(2.0, rows.bar / 2), rows.bar - min(4.0, rows.bar / 4)
    end = scale.x(bar.end_us) - (0.0 if bar.is_open else GAP)
    for column, count in sorted(_columns(survey, bar.shard_id, width_us).items()):
        left, right = scale.x(column * width_us), scale.x((column + 1) * width_us)
        if (column + 1) * width_us < scale.begin_us:
            continue
        left = max(left, scale.x(bar.begin_us))
        right = min(max(right, left + 1.5), end)
        left = max(LEFT, min(left, right - 1.5))
        # The root of the count, so that a quiet minute is seen beside a busy one.
        height = max(least, most * (count / greatest) ** 0.5)
        yield Box(left, bottom - height, max(0.8, right - left - 0.6), height, colour)


def _read_to(bars: Sequence[Bar], standings: dict[str, Standing], scale: Scale, rows: Rows) -> list[float]:
    """How far each row is read."""
    by_row: dict[int, list[Bar]] = {row: [] for row in range(rows.count)}
    for bar in bars:
        by_row[bar.row].append(bar)
    return [_token_place(here, standings, scale) for here in by_row.values()]


def _token_line(read_to: Sequence[float], rows: Rows, name: str) -> Iterator[Shape]:
    """What is left of it was read. From row to row it runs below the bars, where no name stands."""
    points: list[Point] = []
    for row, left in enumerate(read_to):
        points += [(left, rows.below(row - 1) if row else TOP - 6), (left, rows.below(row))]
    yield Stroke(tuple(points), TOKEN, 2, is_dashed=True)
    left = points[0][0]
    name = shortened(name, SIZE, WIDTH / 3)
    half = width_of(name, SIZE) / 2
    is_near_now = left + half > WIDTH - RIGHT - 20  # "now" stands at the right
    left = min(max(left, LEFT + half), WIDTH - 4 - half)
    yield Words(left, TOP - (22 if is_near_now else 10), name, SIZE, TOKEN, "middle", is_bold=True)


def _token_place(bars: Sequence[Bar], standings: dict[str, Standing], scale: Scale) -> float:
    """How far the shards of a row are read."""
    left = scale.x(min((bar.begin_us for bar in bars), default=scale.begin_us))
    for bar in sorted(bars, key=lambda bar: bar.begin_us):
        standing = standings.get(bar.shard_id, Standing("unread"))
        if standing.kind == "read":
            left = scale.x(bar.end_us)
            continue
        if standing.kind == "here" and standing.read_us is not None:
            return max(scale.x(bar.begin_us), scale.x(standing.read_us))
        return scale.x(bar.begin_us)
    return left


def _legend(survey: Survey, height: float, *, has_token: bool, token_name: str) -> Iterator[Shape]:
    pale, strong = COLOURS[0]
    top = height - 16
    yield Box(LEFT, top - 10, 22, 12, pale, 2)
    yield Words(LEFT + 28, top, "a shard", 11, QUIET)
    yield Stroke(_curve((LEFT + 92, top - 9), (LEFT + 114, top + 1)), INK, 1.6)
    yield Words(LEFT + 120, top, "split, merge", 11, QUIET)
    left = LEFT + 208
    if survey.counts is not None:
        for number, tall in enumerate((5, 9, 12, 7)):
            yield Box(left + number * 6, top + 2 - tall, 5, tall, strong)
        yield Words(
            left + 30,
            top,
            f"records (the most: {_greatest(survey):,} in {_column_us(survey) // SECOND_US} s)",
            11,
            QUIET,
        )
        left += 260
    if has_token:
        yield Stroke(((left, top - 4), (left + 24, top - 4)), TOKEN, 2, is_dashed=True)
        what = ": what is left of it was read"
        name = shortened(token_name, 11, WIDTH - RIGHT - left - 30 - width_of(what, 11))
        yield Words(left + 30, top, name + what, 11, QUIET)
    yield Words(WIDTH - RIGHT + 40, top, "UTC", 11, QUIET, "end")
