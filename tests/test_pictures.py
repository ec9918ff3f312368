"""The pictures in docs/pictures show what is so today: the programs as they run, and the house as its code tells."""

from __future__ import annotations

import importlib
import importlib.util
import re
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from streamiter.reading.book import MOVES, Stage

PICTURES = Path(__file__).parent.parent / "docs/pictures"
# A token may grow by a field, and the recording says no less true things.
NUMBERS_THAT_MOVE = re.compile(r"\d+bytesofJSON")


# -- the recordings: `python docs/pictures/record.py` makes them anew


@pytest.fixture(scope="module")
def record() -> ModuleType:
    return script("record")


def script(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, PICTURES / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def lines(record: ModuleType, picture: str) -> list[str]:
    return [NUMBERS_THAT_MOVE.sub("bytesofJSON", line) for line in record.text_in(picture)]


def test_the_demo_still_shows_what_was_recorded(record):
    kept = lines(record, (PICTURES / record.DEMO).read_text("utf-8"))
    now = lines(record, record.picture_of(record.run_demo(), "python -m streamiter.demo"))
    assert kept == now, "run python docs/pictures/record.py, and look at what it draws"
    assert kept[0].startswith("Itgoeson:shardsrolloverandsplit")
    assert kept[-1].startswith("✓33records:nothinglost,nothingtwice")


def test_a_picture_with_another_text_is_another(record):
    one, other = record.picture_of("a \x1b[1mbold\x1b[0m line\nmore", "t"), record.picture_of("a line\nmore", "t")
    assert record.text_in(one) == ["aboldline", "more"]
    assert record.text_in(other) == ["aline", "more"]


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_is_whole_and_fetches_nothing(path):
    text = path.read_text("utf-8")
    ElementTree.fromstring(text)
    assert not re.search(r"url\(\s*[\"']?https?:|@import|href=|<script|<image", text)


# -- the house


@pytest.fixture(scope="module")
def house() -> ModuleType:
    return script("house")


@pytest.mark.parametrize("name", ["architecture.svg", "record-way.svg", "stages.svg"])
def test_the_pictures_of_the_house_are_those_that_its_script_draws(house, name):
    kept = (PICTURES / name).read_text("utf-8")
    assert kept == house.pictures()[name], "run python docs/pictures/house.py, and look at what it draws"


def test_the_drawing_of_the_stages_follows_the_table_of_moves(house, monkeypatch):
    before = house.draw_stages()
    assert before.count(f'stroke="{house.LINE}" stroke-width="2"/>') == sum(map(len, MOVES.values())) + 2  # two ends
    monkeypatch.setattr(house, "MOVES", {**MOVES, Stage.PAST: frozenset()})
    with pytest.raises(ValueError, match="table of moves changed"):
        house.draw_stages()
    monkeypatch.setattr(house, "MOVES", {**MOVES, Stage.ENDED: frozenset({None, Stage.LANE})})
    with pytest.raises(ValueError, match="table of moves changed"):
        house.draw_stages()


def test_each_station_of_a_records_way_is_a_function_of_the_room_that_it_stands_in(house):
    for step in house.WAY:
        module, _, name = step.function.partition(":")
        found = attrgetter(name)(importlib.import_module(f"streamiter.{module}"))
        assert callable(found), step
        room = house.COLUMNS[step.column][0]
        assert room in ("a daemon thread", f"{module.partition('.')[0]}/"), step
