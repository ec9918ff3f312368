"""The figures in the docs are those of the results."""

from __future__ import annotations

import re

import pytest
from PIL import Image

from benchmarks import figures, picture, table
from benchmarks.__main__ import CASES
from benchmarks.canned.process import ROOT
from benchmarks.price import price
from benchmarks.results import PLACE, Report, Result, Row, load


@pytest.fixture
def reports():
    rows = [
        Row("work", "peer", [12.0, 13.0, 14.0], 12.5),
        Row("idle", "calls", [1 / 44], 1 / 10, is_at_most=True, is_count=True),
    ]
    measured = {"rates": {"roomy": {"1000": {"per_second": 123_456.0}}}}
    return {"lanes": Report("lanes", "title", "2026-01-15T12:00:00", 3, False, {}, Result(rows, measured))}


def test_a_figure_is_put_in(reports):
    page = "so <!--= lanes/measured/rates/roomy/1000/per_second about -->7<!--/--> records"
    filled = figures.fill(page, reports)
    assert filled == "so <!--= lanes/measured/rates/roomy/1000/per_second about -->120,000<!--/--> records"
    assert figures.fill(filled, reports) == filled


def test_a_table_is_put_in(reports):
    filled = figures.fill("<!--= table lanes --><!--/-->", reports)
    assert "| work | peer | ≥ 12.5x | 13.0x | 12.0x – 14.0x |  | met |" in filled
    assert "| idle | calls | ≤ 1/10 | 1/44 | a count |  | met |" in filled


def test_a_ratio_in_cpu_time_is_put_in(reports):
    reports["lanes"].result.rows[0].by_cpu = [0.5, 0.75, 0.8]
    assert figures.fill("<!--= lanes/rows/0/cpu_median ratio --><!--/-->", reports).endswith(">0.75x<!--/-->")


def test_a_case_that_was_never_measured_leaves_the_page_as_it_is(reports):
    page = "<!--= idle/rows/0/median ratio -->3x<!--/-->"
    assert figures.fill(page, reports) == page


def test_a_figure_that_is_not_there_is_an_error(reports):
    with pytest.raises(KeyError):
        figures.fill("<!--= lanes/measured/rats count --><!--/-->", reports)


@pytest.mark.parametrize("name", figures.PAGES)
def test_the_pages_show_the_results_that_are_kept(name):
    page = ROOT / name
    text = page.read_text("utf-8") if page.exists() else ""
    assert figures.fill(text, load(PLACE, CASES)) == text, "./dev bench fills the figures in"


def test_the_table_shows_each_case_that_has_a_target():
    [asked] = re.findall(r"<!--= table (.*?) -->", (ROOT / "docs/performance.md").read_text("utf-8"))
    kept = load(PLACE, CASES)
    aimed = {name for name, report in kept.items() if any(row.target is not None for row in report.result.rows)}
    assert aimed <= set(asked.split())


def test_the_picture_was_drawn_from_the_results_that_are_kept():
    with Image.open(PLACE / "performance.png") as drawn:
        assert drawn.info["Description"] == picture.digest(load(PLACE, CASES)), "./dev bench --draw draws it anew"


def test_nothing_of_the_picture_is_cut_off():
    figure = picture.figure_of(load(PLACE, CASES))
    figure.draw_without_rendering()
    assert figure.axes
    for axes in figure.axes:
        shown = axes.get_tightbbox()
        assert shown.x0 >= 0 and shown.x1 <= figure.bbox.width, axes.get_title(loc="left")


@pytest.mark.parametrize("name", figures.PAGES)
def test_no_line_begins_with_a_figure(name):
    """It would begin a block of HTML, and end the paragraph."""
    lines = (ROOT / name).read_text("utf-8").splitlines()
    assert not [line for line in lines if line.startswith("<!--=") and not line.startswith("<!--= table")]


@pytest.mark.parametrize("name", figures.PAGES)
def test_no_figure_is_lacking(name):
    """A mark whose case was never measured leaves an empty place."""
    assert "--><!--/-->" not in (ROOT / name).read_text("utf-8")


def test_no_figure_of_the_performance_page_stands_outside_its_marks():
    text = (ROOT / "docs/performance.md").read_text("utf-8")
    bare = re.sub(r"<!--=.*?<!--/-->|`[^`]*`|```.*?```", "", text, flags=re.DOTALL)
    assert not re.findall(r"\d[\d,.]*(?:x|k/s| records/s)\b", bare)


def test_ratios_read_like_ratios():
    assert [table.times(ratio) for ratio in (0.023, 0.25, 1.5, 13.14, 123.4)] == [
        "1/43",
        "0.25x",
        "1.50x",
        "13.1x",
        "123.4x",
    ]


def test_the_price_of_polling_once_a_second():
    told = price(6_000, 100, 60)
    assert told["calls"] == 86_400
    assert round(told["dollars"], 5) == 0.01728
    assert round(told["free_shards"], 2) == 0.96
