"""What `streamiter shards` draws: names, standings, the layout of its tree and of its pictures."""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFont

from streamiter import Lineage, Shard
from streamiter.cli.checks.standing import Standing, short_names, standings
from streamiter.cli.checks.survey import BIN_US, Counts, Found, Survey
from streamiter.cli.pictures.chart import (
    BAR,
    BOTTOM,
    LEFT,
    RIGHT,
    TALLEST,
    TOP,
    WIDTH,
    Rows,
    draw_chart,
    lay_out,
    rows_of,
)
from streamiter.cli.pictures.png import to_png
from streamiter.cli.pictures.shapes import Box, Picture, Stroke, Words, shortened, width_of
from streamiter.cli.pictures.svg import to_svg
from streamiter.cli.pictures.tree import branches, tree_rows
from streamiter.cli.terminal.palette import COLOURS, DARK, GROUND, INK, QUIET, TOKEN
from streamiter.token import Token, TokenLane, load_token

HOUR_US = 3600 * 1_000_000
T = 1_750_000_000_000_000


def test_short_names_are_the_ends_of_ids_where_they_are_enough():
    ids = ["shardId-00000001750000000000-aaaa", "shardId-00000001750000000001-bbbb"]
    assert list(short_names(ids).values()) == ["aaaa", "bbbb"]
    twice = [*ids, "shardId-00000001750000000002-bbbb"]
    assert list(short_names(twice).values()) == ["aaaa", *twice[1:]]
    assert list(short_names(["shardId-000000000000", "shardId-000000000012"]).values()) == ["0", "12"]
    assert short_names(["S1"]) == {"S1": "S1"}


def test_standings_of_tokens_of_ours_and_of_bloops():
    lineage = Lineage.parse("S0 => S1 => {S2, S3}; S9 => S8")
    ours = load_token(
        {
            "streamiter": 1,
            "stream": "arn",
            "lanes": [
                {"shard": "S2", "parents": ["S1"], "depth": 2, "place": ["5", 0], "floor": 7},
                {"shard": "S1", "ended": 9, "depth": 1, "floor": 6},
                {"shard": "SX", "depth": 0},
            ],
        }
    )
    kinds = {shard_id: standing.kind for shard_id, standing in standings(ours, lineage).items()}
    assert kinds == {
        "S0": "read",
        "S1": "read",
        "S2": "here",
        "S3": "unread",
        "S9": "unread",
        "S8": "unread",
        "SX": "gone",
    }
    bloops = Token(1, "arn", lanes=(), closed_are_read=True)
    closed = Lineage([Shard("S0", (), True), Shard("S1", ("S0",))])
    assert {shard_id: standing.kind for shard_id, standing in standings(bloops, closed).items()} == {
        "S0": "read",
        "S1": "unread",
    }
    below = Token(1, "arn", lanes=(TokenLane("S0", place=("5", 0)),), closed_are_read=True)
    rolled = Lineage([Shard("S0", (), True), Shard("S1", ("S0",), True), Shard("S2", ("S1",))])
    kinds = {shard_id: standing.kind for shard_id, standing in standings(below, rolled).items()}
    assert kinds == {"S0": "here", "S1": "unread", "S2": "unread"}, (
        "what is below a lane of Bloop's is still to be read"
    )


@st.composite
def lineages(draw: Any) -> Lineage:
    """Splits, rolls and merges, as services make them."""
    lineage = Lineage()
    for number in range(draw(st.integers(1, 25))):
        parents = draw(st.lists(st.sampled_from(sorted(lineage)), max_size=2, unique=True)) if len(lineage) else []
        lineage.add(Shard(f"S{number:02d}", tuple(parents)))
    for shard_id in list(lineage):
        if lineage.children(shard_id):
            lineage.add(Shard(shard_id, lineage[shard_id].parents, closed=True))
    return lineage


def surveyed(lineage: Lineage) -> Survey:
    """A survey in which each shard begins an hour after its latest parent, and lasts until its children begin."""
    began: dict[str, int] = {}
    for shard_id in sorted(lineage, key=lineage.rank):
        began[shard_id] = T + HOUR_US * lineage.rank(shard_id).depth
    counts = Counts()
    for shard_id in lineage:
        counts.by_bin[shard_id] = Counter({began[shard_id] // BIN_US + 1: 3})
        counts.last_us[shard_id] = began[shard_id] + BIN_US
        counts.records += 3
    found = {shard_id: Found(time_us) for shard_id, time_us in began.items()}
    return Survey("arn:aws:dynamodb:r:0:table/t/stream/l", lineage, T + 30 * HOUR_US, False, found, counts)


@given(lineages())
def test_every_shard_is_told_once_and_below_a_parent(lineage: Lineage):
    told = list(branches(lineage))
    assert sorted(shard_id for _, shard_id in told) == sorted(lineage)
    depth = {shard_id: len(lead) // 2 for lead, shard_id in told}
    for place, (lead, shard_id) in enumerate(told):
        if lead:
            above = next(other for _, other in reversed(told[:place]) if depth[other] == depth[shard_id] - 1)
            assert above in lineage.parents(shard_id)
        else:
            assert not lineage.parents(shard_id)


@given(lineages())
def test_each_shard_has_a_bar_and_first_children_go_on_in_their_parents_row(lineage: Lineage):
    bars = {bar.shard_id: bar for bar in lay_out(surveyed(lineage))}
    assert bars.keys() == set(lineage)
    rows = rows_of(lineage)
    assert set(rows.values()) == set(range(max(rows.values()) + 1))
    for shard_id, bar in bars.items():
        assert bar.begin_us <= bar.end_us
        for parent in lineage.parents(shard_id):
            assert bars[parent].begin_us <= bar.begin_us
    for row in set(rows.values()):
        here = [shard_id for shard_id in rows if rows[shard_id] == row]
        for shard_id in here[1:]:
            assert any(parent in here for parent in lineage.parents(shard_id)), "a row is one line of descent"


@given(lineages(), st.data())
def test_a_picture_stays_within_its_frame(lineage: Lineage, data: Any):
    survey = surveyed(lineage)
    kinds = st.sampled_from(["read", "here", "start", "unread"])
    standing = {shard_id: Standing(data.draw(kinds), T + HOUR_US) for shard_id in lineage}
    picture = draw_chart(survey, {shard_id: shard_id for shard_id in lineage}, standing)
    for shape in picture.shapes:
        if isinstance(shape, Box):
            assert shape.left >= LEFT and shape.left + shape.width <= WIDTH - RIGHT + 0.01 and shape.width > 0
            assert shape.top >= 0 and shape.top + shape.height <= picture.height
        elif isinstance(shape, Stroke):
            assert all(0 <= left <= WIDTH and 0 <= top <= picture.height for left, top in shape.points)
    assert sum(isinstance(shape, Box) and shape.height == BAR for shape in picture.shapes) == len(lineage)
    ElementTree.fromstring(to_svg(picture))


def squares_of(picture: Picture) -> list[tuple[str, float, float, float, float]]:
    """Where the names of shards are: left, right, top, bottom."""
    names = [shape for shape in picture.shapes if isinstance(shape, Words) and shape.has_halo]
    return [
        (name.text, name.left, name.left + width_of(name.text, name.size), name.top - 9, name.top + 2) for name in names
    ]


@pytest.mark.parametrize("long_names", [False, True])
@given(lineages(), st.data())
def test_no_name_touches_another_or_the_edge_or_is_crossed_along_by_the_token(long_names, lineage: Lineage, data: Any):
    survey = surveyed(lineage)
    standing = {
        shard_id: Standing("here", T + round(data.draw(st.floats(0, 30)) * HOUR_US)) if data.draw(st.booleans())
        else Standing("read") for shard_id in lineage
    }  # fmt: skip
    names = {shard_id: f"shardId-{shard_id:0>20}-deadbeef" if long_names else shard_id for shard_id in lineage}
    picture = draw_chart(survey, names, standing)
    squares = squares_of(picture)
    for number, (_, left, right, top, bottom) in enumerate(squares):
        assert left >= LEFT and right <= WIDTH
        for _, other_left, other_right, other_top, other_bottom in squares[:number]:
            assert right < other_left or other_right < left or bottom <= other_top or other_bottom <= top
    line = next(shape for shape in picture.shapes if isinstance(shape, Stroke) and shape.is_dashed)
    for (start, level), (end, other_level) in zip(line.points, line.points[1:], strict=False):
        if level == other_level:
            for _, left, right, top, bottom in squares:
                assert not top <= level <= bottom or max(start, end) < left or right < min(start, end)
    unnamed = len(lineage) - len(squares)
    (told,) = [shape.text for shape in picture.shapes if isinstance(shape, Words) and "; seen " in shape.text]
    assert (f"{unnamed} too narrow" in told) if unnamed else ("narrow" not in told)


def test_every_open_shard_that_is_alone_in_its_row_is_named():
    lineage = Lineage.parse("; ".join(f"S{number} => S{number + 1}" for number in range(29)))
    for number in range(29):
        lineage.add(Shard(f"S{number}", lineage[f"S{number}"].parents, closed=True))
    names = {shard_id: f"a-name-of-some-length-{shard_id}" for shard_id in lineage}
    texts = {square[0] for square in squares_of(draw_chart(surveyed(lineage), names, None))}
    assert names["S29"] in texts and "S3" in texts, "where a name has no room, its end may have"


@pytest.mark.parametrize(
    "text", ["81911c52", "shardId-00000001750000000001-81911c52", "S1", "WWMM", "users.token", "日本"]
)
def test_texts_are_not_wider_than_they_are_taken_for(text: str):
    font = ImageFont.load_default(44)
    if text.isascii():
        assert font.getlength(text) + 4 <= 4 * width_of(text, 11)
    assert width_of(shortened(text * 20, 11, 300), 11) <= 300
    assert shortened(text, 11, 300) == text


def test_shards_that_merge_stand_near_each_other():
    lineage = Lineage.parse("{S1, S9} => T; T => {U1, U2}; U1 => {V1, V2}; S2 => S3")
    rows = rows_of(lineage)
    assert (rows["S1"], rows["S9"], rows["T"], rows["U1"]) == (0, 1, 0, 0)


def test_an_empty_shard_whose_begin_nobody_knows_ends_where_its_children_begin():
    lineage = Lineage.parse("S1 => {S2, S3}")
    lineage.add(Shard("S1", (), True))
    survey = surveyed(lineage)
    survey.found["S1"] = Found(None)
    del survey.counts.by_bin["S1"], survey.counts.last_us["S1"]
    bars = {bar.shard_id: bar for bar in lay_out(survey)}
    assert bars["S1"].begin_us == bars["S1"].end_us == bars["S2"].begin_us < survey.service_us


def test_a_shard_began_with_its_first_record_whatever_its_id_hints():
    shard_id = "shardId-00000001750000000700-0a1b2c3d"
    survey = surveyed(Lineage.parse(shard_id))
    for first_us, began_us in ((None, 1750000000_700000), (1750000000_000000, 1750000000_000000)):
        survey.found[shard_id] = Found(first_us)
        assert survey.began_us(shard_id) == began_us
    survey.found[shard_id] = Found(1750000009_000000)
    assert survey.began_us(shard_id) == 1750000000_700000


def test_one_of_each_is_told_as_one():
    lineage = Lineage.parse("S1")
    survey = surveyed(lineage)
    survey.counts.records = 1
    texts = [shape.text for shape in draw_chart(survey, {"S1": "S1"}, None).shapes if isinstance(shape, Words)]
    assert any(text.startswith("1 record, 1 shard, 1 open; seen") for text in texts)


def test_the_token_line_is_where_each_row_is_read_up_to():
    lineage = Lineage.parse("S1 => {S2, S3}")
    lineage.add(Shard("S1", (), True))
    survey = surveyed(lineage)
    standing = {"S1": Standing("read"), "S2": Standing("here", T + 10 * HOUR_US), "S3": Standing("unread")}
    picture = draw_chart(survey, {shard_id: shard_id for shard_id in lineage}, standing)
    (line,) = [
        shape for shape in picture.shapes if isinstance(shape, Stroke) and shape.is_dashed and len(shape.points) > 2
    ]

    def x(hours: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * hours / 30

    assert [round(left, 3) for left, _ in line.points] == [round(x(hours), 3) for hours in (10, 10, 1, 1)]


def test_an_empty_stream_has_a_picture_too():
    survey = Survey("arn:aws:dynamodb:r:0:table/t/stream/l", Lineage(), T, False, {}, Counts())
    picture = draw_chart(survey, {}, {})
    assert Image.open(io.BytesIO(to_png(picture))).size[0] == 2 * WIDTH


@pytest.mark.parametrize("ago_us,since_us", [(0, None), (3_000_000, None), (HOUR_US, 0), (HOUR_US, 30_000_000)])
def test_a_stream_that_was_just_made_ends_now_and_has_times(ago_us: int, since_us: int | None):
    survey = Survey("arn", Lineage.parse("S1"), T, False, {"S1": Found(T - ago_us)}, Counts())
    picture = draw_chart(survey, {"S1": "S1"}, None, since_us=None if since_us is None else T - since_us)
    (bar,) = [shape for shape in picture.shapes if isinstance(shape, Box) and shape.height == BAR]
    assert bar.left + bar.width == pytest.approx(WIDTH - RIGHT)
    times = [shape.text for shape in picture.shapes if isinstance(shape, Words) and re.fullmatch("[0-9:]+", shape.text)]
    assert 2 <= len(times) <= 11 and len(set(times)) == len(times)


def test_hundreds_of_shards_take_no_gigabytes(monkeypatch):
    from streamiter import InvalidOption
    from streamiter.cli.pictures import png

    small = Picture(100, 50, "small", (Box(0, 0, 100, 50, "#ff0000"),))
    sizes = []
    for most in (100 * 50 * 16, 100 * 50 * 4, 100 * 50):
        monkeypatch.setattr(png, "MOST_PIXELS", most)
        sizes.append(Image.open(io.BytesIO(to_png(small))).size)
    assert sizes == [(200, 100), (200, 100), (100, 50)]
    monkeypatch.setattr(png, "MOST_PIXELS", 100)
    with pytest.raises(InvalidOption, match="--svg"):
        to_png(small)


def test_a_thousand_shards_are_laid_out_in_no_time():
    lineage = Lineage.parse("; ".join(f"S{number:04d} => S{number + 1000:04d}" for number in range(1000)))
    survey = surveyed(lineage)
    picture = draw_chart(survey, {shard_id: shard_id for shard_id in lineage}, None)
    low = Rows(1000).bar
    assert sum(isinstance(shape, Box) and shape.height == low for shape in picture.shapes) == 2000


@pytest.mark.parametrize("count", [1, 5, 38, 59, 61, 610, 1300])
def test_pictures_of_hundreds_of_shards_are_no_taller_than_a_few_screens(count: int):
    lineage = Lineage.parse(" ~ ".join(f"S{number:04d}" for number in range(count)))
    picture = draw_chart(surveyed(lineage), {shard_id: shard_id for shard_id in lineage}, {})
    assert picture.height <= TALLEST + TOP + BOTTOM
    rows = Rows(count)
    boxes = [shape for shape in picture.shapes if isinstance(shape, Box) and shape.height == rows.bar]
    tops = sorted({box.top for box in boxes})
    assert len(tops) == count, "each shard has a row of its own"
    assert all(above + rows.bar < below for above, below in zip(tops, tops[1:], strict=False))
    words = [shape.text for shape in picture.shapes if isinstance(shape, Words)]
    assert ("S0000" in words) is rows.have_names
    assert any("no room for names" in text for text in words) is not rows.have_names


def test_each_colour_has_a_dark_one_that_can_be_told_from_the_dark_ground():
    def light_of(colour: str) -> float:
        return sum(int(colour[at : at + 2], 16) * weight for at, weight in ((1, 0.3), (3, 0.59), (5, 0.11)))

    ground = light_of(DARK[GROUND])
    for pale, strong in COLOURS:
        assert ground + 20 < light_of(DARK[pale]) < light_of(DARK[strong]) - 60
    for colour in (INK, QUIET, TOKEN):
        assert light_of(DARK[colour]) > ground + 100


def test_a_picture_in_svg_is_dark_on_a_dark_screen():
    survey = surveyed(Lineage.parse("S0 => {S1, S2}"))
    text = to_svg(draw_chart(survey, {shard_id: shard_id for shard_id in survey.lineage}, None))
    (style,) = re.findall(r"<style>@media \(prefers-color-scheme: dark\) \{(.*)\}</style>", text)
    ruled = dict(re.findall(r"\.([fl][0-9a-f]{6})\{(?:fill|stroke):(#[0-9a-f]{6})\}", style))
    for element in ElementTree.fromstring(text).iter():
        for name, letter in (("fill", "f"), ("stroke", "l")):
            colour = element.attrib.get(name)
            if colour not in (None, "none"):
                assert element.attrib["class"] == letter + colour[1:] and ruled[element.attrib["class"]] != colour


def test_bold_letters_do_not_touch_each_other_in_a_png():
    """Where two letters that are all stems stand side by side there is ground between them."""
    text = "lllll"
    picture = Picture(120, 40, text, (Words(10, 30, text, 17, "#000000", is_bold=True),))
    with Image.open(io.BytesIO(to_png(picture))) as image:
        middle = 2 * 25
        row = [image.convert("L").getpixel((left, middle)) for left in range(image.width)]
    stems = sum(before > 128 >= after for before, after in zip(row, row[1:], strict=False))
    assert stems == len(text)


def test_text_is_escaped_in_svg():
    evil = "<script>alert('x')</script>\x1b&\u202e"
    text = to_svg(Picture(10, 10, evil, (Words(0, 0, evil, 10, "#000000"),)))
    assert "<script>" not in text and "\x1b" not in text and "\u202e" not in text
    ElementTree.fromstring(text)


def test_on_a_narrow_screen_the_ages_give_way_to_the_token():
    lineage = Lineage.parse("S1 => {S2, S3}")
    survey, standing = surveyed(lineage), {shard_id: Standing("read") for shard_id in lineage}
    names = {shard_id: shard_id for shard_id in lineage}

    def heading(room: int | None) -> list[str]:
        rows = tree_rows(survey, names, standing, room)
        assert all("".join(span.text for span in row).endswith("read") for row in rows[1:])
        return "".join(span.text for span in rows[0]).split()

    assert heading(None) == heading(80) == ["shard", "state", "began", "holds", "from", "token"]
    assert heading(55) == ["shard", "state", "holds", "from", "token"]
    assert heading(30) == ["shard", "state", "token"]
