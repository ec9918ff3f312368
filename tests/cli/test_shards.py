"""`streamiter shards`: the tree, where a token stands in it, and the pictures."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFont

from streamiter import DynamoDBStreams, Lineage, Shard, Stream
from streamiter.cli.chart import BAR, LEFT, RIGHT, WIDTH, draw_chart, lay_out, rows_of
from streamiter.cli.png import to_png
from streamiter.cli.shapes import Box, Picture, Stroke, Words, shortened, width_of
from streamiter.cli.standing import Standing, short_names, standings
from streamiter.cli.survey import BIN_US, Counts, Found, Survey
from streamiter.cli.svg import to_svg
from streamiter.cli.tree import branches, tree_rows
from streamiter.testing import Simulator
from streamiter.token import Token, load_token
from tests.cli.conftest import Invoke, run, token_in
from tests.stream.helpers import write

HOUR_US = 3600 * 1_000_000
T = 1_750_000_000_000_000


@pytest.fixture
def users(sim: Simulator) -> Simulator:
    sim.shape("S1 ~ S2")
    write(sim, "S1", "S2", rounds=4, every=600)
    sim.split("S1", "S3", "S4")
    write(sim, "S2", "S3", "S4", rounds=4, every=600)
    sim.roll("S4", "S5")
    write(sim, "S2", "S3", "S5", rounds=4, every=600)
    return sim


def squeezed(line: str) -> str:
    return " ".join(line.split())


def save_token(sim: Simulator, file: Path, records: int) -> None:
    with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock) as stream:
        for _ in zip(range(records), stream.follow(), strict=False):
            pass
        file.write_text(json.dumps(stream.token))


def test_the_tree_shows_state_and_age(users: Simulator, invoke: Invoke):
    done = invoke("shards", "users")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [
        users.stream_arn,
        "enabled, 5 shards, 3 open",
        "",
        "shard   state        began  holds from",
        "S1      closed         2 h         2 h",
        "├╴S3    open      1 h 20 m    1 h 20 m",
        "└╴S4    closed    1 h 20 m    1 h 20 m",
        "  └╴S5  open          40 m        40 m",
        "S2      open           2 h         2 h",
    ]


def test_the_tree_shows_where_a_token_stands(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = tmp_path / "users.token"
    save_token(users, file, 8 + 12)
    lines = invoke("shards", "users", "--token-file", file).stdout.splitlines()[4:]
    told = {line.lstrip(" ├└│╴").split()[0]: line.split("  ")[-1].strip() for line in lines}
    assert told["S1"] == told["S4"] == "read"
    assert told["S3"] == told["S2"] == "here, 40 m behind"
    assert told["S5"] in ("from its start, 40 m behind", "not reached")
    save_token(users, file, 3)
    lines = invoke("shards", "users", "--token-file", file).stdout.splitlines()[4:]
    told = {line.lstrip(" ├└│╴").split()[0]: line.split("  ")[-1].strip() for line in lines}
    assert told == {
        "S1": "here, 1 h 40 m behind",
        "S2": "here, 1 h 50 m behind",
        "S3": "not reached",
        "S4": "not reached",
        "S5": "not reached",
    }


def test_a_token_whose_place_expired_is_told(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = tmp_path / "users.token"
    save_token(users, file, 3)
    users.trim("S2", before=4)
    lines = invoke("shards", "users", "--token-file", file).stdout.splitlines()
    assert "S2 open 1 h 20 m 1 h 20 m its place has expired: a gap" in map(squeezed, lines)
    other = tmp_path / "other.token"
    other.write_text(json.dumps(token_in(file) | {"stream": "arn:aws:dynamodb:us-east-1:0:table/x/stream/1"}))
    done = invoke("shards", "users", "--token-file", other)
    assert done.exit_code == 1 and "it is of another stream" in done.stderr


def test_what_is_trimmed_empty_or_gone_is_told(users: Simulator, invoke: Invoke):
    users.trim("S1")
    users.remove("S2", listed=True)
    lines = invoke("shards", "users").stdout.splitlines()
    assert {"S1 empty ? nothing", "S2 open ? nothing"} <= set(map(squeezed, lines))
    users.remove("S1")
    assert any(
        line.startswith("S3") and line.endswith("parent trimmed")
        for line in invoke("shards", "users").stdout.splitlines()
    )


def test_empty_pages_and_throttles_do_not_deceive_it(users: Simulator, invoke: Invoke):
    calm = invoke("shards", "users", "--json").stdout
    users.misbehave(3, gone=0, trimmed=0, lists_nothing=0, lag=0, looks_open=0, jitter=0, skew=0)
    told, wanted = json.loads(invoke("shards", "users", "--json").stdout), json.loads(calm)
    assert [shard["first_record_us"] for shard in told] == [shard["first_record_us"] for shard in wanted]


def test_json_is_for_programs(users: Simulator, invoke: Invoke, tmp_path: Path):
    file = tmp_path / "users.token"
    save_token(users, file, 32)
    told = json.loads(invoke("shards", "users", "--json", "--token-file", file).stdout)
    assert [shard["shard_id"] for shard in told] == ["S1", "S3", "S4", "S5", "S2"]
    assert told[1]["parents"] == ["S1"] and told[1]["state"] == "open"
    assert {shard["token"] for shard in told} == {"read", "here"}
    assert told[1]["lag_seconds"] == 0


def test_pictures_are_drawn_to_files(users: Simulator, invoke: Invoke, tmp_path: Path):
    token, svg, png = tmp_path / "users.token", tmp_path / "a.svg", tmp_path / "a.png"
    save_token(users, token, 20)
    done = invoke("shards", "users", "--token-file", token, "--svg", svg, "--png", png)
    assert done.exit_code == 0, done.stderr
    root = ElementTree.fromstring(svg.read_text("utf-8"))
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"S1", "S2", "S3", "S5", "users.token", "now"} <= set(words)
    assert "32 records, 5 shards, 3 open; seen 2025-06-15 17:06:40 UTC" in words
    with Image.open(png) as image:
        assert image.size == (2 * float(root.attrib["width"]), 2 * float(root.attrib["height"]))
        assert len(image.getcolors(1 << 20) or ()) > 100, "smooth edges"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg", "users.token"]


def test_where_a_picture_cannot_be_written_nothing_is_read(users: Simulator, invoke: Invoke, tmp_path: Path):
    before = len(users.calls)
    done = invoke("shards", "users", "--svg", tmp_path / "none" / "a.svg")
    assert done.exit_code == 1 and "a.svg cannot be written" in done.stderr
    assert len(users.calls) == before


def test_since_leaves_out_what_is_older(users: Simulator, invoke: Invoke, tmp_path: Path):
    invoke("shards", "users", "--since", "50 minutes ago", "--svg", tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text("utf-8")
    assert ">S5<" in text and ">S1<" not in text


def test_since_without_a_picture_is_a_mistake(users: Simulator, invoke: Invoke):
    done = invoke("shards", "users", "--since", "50 minutes ago")
    assert done.exit_code == 2 and "--svg FILE or --png FILE" in done.output


def test_as_a_process_with_the_services_own_ids(served: Simulator):
    served.shape("S1")
    write(served, "S1", every=0)
    served.split("S1", "S2", "S3")
    done = run(served, "shards", "users")
    assert done.returncode == 0, done.stderr
    names = [line.lstrip(" ├└╴").split()[0] for line in done.stdout.splitlines()[4:]]
    assert [served.shard_id(name).endswith(end) for name, end in zip(("S1", "S2", "S3"), names, strict=True)] == [
        True
    ] * 3
    whole = run(served, "shards", "users", "--ids").stdout
    assert all(served.shard_id(name) in whole for name in ("S1", "S2", "S3"))


def test_without_pillow_it_says_how_to_get_it(users: Simulator, invoke: Invoke, tmp_path: Path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    done = invoke("shards", "users", "--png", tmp_path / "a.png")
    assert done.exit_code == 1 and "pip install 'streamiter[png]'" in done.stderr
    assert not (tmp_path / "a.png").exists()


# -- pure: names, standings, layout


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


def test_hundreds_of_shards_take_no_gigabytes(monkeypatch):
    from streamiter import InvalidOption
    from streamiter.cli import png

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
    assert sum(isinstance(shape, Box) and shape.height == BAR for shape in picture.shapes) == 2000


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


def test_without_pillow_nothing_is_read(users: Simulator, invoke: Invoke, tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    before = len(users.calls)
    done = invoke("shards", "users", "--png", tmp_path / "a.png")
    assert done.exit_code == 1 and "pip install 'streamiter[png]'" in done.stderr
    assert len(users.calls) == before
