"""The recordings in docs/pictures show what the programs show today; `python docs/pictures/record.py` makes them anew."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

PICTURES = Path(__file__).parent.parent / "docs/pictures"
# A token may grow by a field, and the recording says no less true things.
NUMBERS_THAT_MOVE = re.compile(r"\d+bytesofJSON")


@pytest.fixture(scope="module")
def record() -> ModuleType:
    found = importlib.util.spec_from_file_location("record", PICTURES / "record.py")
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
    assert kept[0] == "Atableoforders,andthestreamofitschanges"
    assert kept[-1].startswith("✓37records:nothinglost,nothingtwice")


def test_a_picture_with_another_text_is_another(record):
    one, other = record.picture_of("a \x1b[1mbold\x1b[0m line\nmore", "t"), record.picture_of("a line\nmore", "t")
    assert record.text_in(one) == ["aboldline", "more"]
    assert record.text_in(other) == ["aline", "more"]


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_is_whole_and_fetches_nothing(path):
    text = path.read_text("utf-8")
    ElementTree.fromstring(text)
    assert not re.search(r"url\(\s*[\"']?https?:|@import|href=|<script|<image", text)
