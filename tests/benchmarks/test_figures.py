"""The figures in the docs are those of the results."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from PIL import Image

from benchmarks import bars, figures, picture, table
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


def test_a_figure_is_put_in_wherever_the_lines_break(reports):
    excerpt = "so {lanes/measured/rates/roomy/1000/per_second about} records a second"
    filled = figures.fill("and so\n7 records a second,", reports, [excerpt])
    assert filled == "and so\n120,000 records a second,"
    assert figures.fill(filled, reports, [excerpt]) == filled


def test_figures_are_found_in_the_order_of_the_page(reports):
    excerpt = "| {lanes/rows/0/median ratio} | {lanes/rows/1/median ratio} |"
    page = "| 1 | 2 |\n| 3 | 4 |"
    assert figures.fill(page, reports, [excerpt]) == "| 13.0x | 1/44 |\n| 3 | 4 |"
    assert figures.fill(page, reports, [excerpt] * 2) == "| 13.0x | 1/44 |\n| 13.0x | 1/44 |"


def test_a_table_is_put_in(reports):
    headings = f"| {' | '.join(table.HEADINGS[1:])} |"
    page = f"# Before\n\n{headings}\n| old |\n\nAfter.\n"
    filled = figures.fill(page, reports, [], ["lanes", "never measured"])
    assert "| work | peer | ≥ 12.5x | 13.0x | 12.0x – 14.0x |  | met |\n" in filled
    assert "| idle | calls | ≤ 1/10 | 1/44 | a count |  | met |\n\nAfter.\n" in filled
    assert "| old |" not in filled
    assert figures.fill(filled, reports, [], ["lanes"]) == filled


def test_a_ratio_in_cpu_time_is_put_in(reports):
    reports["lanes"].result.rows[0].by_cpu = [0.5, 0.75, 0.8]
    assert figures.fill("it is 7.", reports, ["is {lanes/rows/0/cpu_median ratio}."]) == "it is 0.75x."


def test_a_case_that_was_never_measured_leaves_the_page_as_it_is(reports):
    assert figures.fill("it is 3x.", reports, ["is {idle/rows/0/median ratio}."]) == "it is 3x."


def test_a_figure_that_is_not_there_is_an_error(reports):
    with pytest.raises(KeyError):
        figures.fill("it is 3.", reports, ["is {lanes/measured/rats count}."])


def test_a_text_that_is_not_there_names_what_to_mend(reports):
    with pytest.raises(figures.NoSuchPlace, match=r"after line 2 nothing fits 'was .*mend pages\.toml"):
        figures.fill(
            "a line\nit is 3.", reports, ["is {lanes/rows/0/median ratio}.", "was {lanes/rows/0/median ratio}."]
        )
    with pytest.raises(figures.NoSuchPlace, match="no table begins with"):
        figures.fill("no table", reports, [], ["lanes"])


@pytest.mark.parametrize("name", figures.PAGES)
def test_the_pages_show_the_results_that_are_kept(name):
    text = (ROOT / name).read_text("utf-8")
    assert figures.fill_page(name, text, load(PLACE, CASES)) == text, "./dev bench --draw puts the figures in"


@pytest.mark.parametrize("name", figures.PAGES)
def test_each_figure_is_found_whatever_it_was(name, monkeypatch):
    """A later run finds other numbers, and machines with other names."""
    text, kept = (ROOT / name).read_text("utf-8"), load(PLACE, CASES)
    with monkeypatch.context() as patch:
        patch.setattr(figures, "FORMATS", dict.fromkeys(figures.FORMATS, lambda _: "9 of a, b 1.5 c"))
        other = figures.fill_page(name, text, kept)
    assert other.count("9 of a, b 1.5 c") == sum(excerpt.count("{") for excerpt in figures.PAGES[name]["figures"]) > 0
    assert figures.fill_page(name, other, kept) == text


def test_pages_hold_no_marks():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        assert "<!--=" not in page.read_text("utf-8"), page


def test_the_table_shows_each_case_that_has_a_target():
    kept = load(PLACE, CASES)
    aimed = {name for name, report in kept.items() if any(row.target is not None for row in report.result.rows)}
    assert aimed <= set(figures.PAGES["docs/performance.md"]["table"])


def test_the_bars_were_drawn_from_the_results_that_are_kept():
    drawn = (PLACE / bars.NAME).read_text("utf-8")
    assert drawn == bars.draw(load(PLACE, CASES)), "./dev bench --draw draws it anew"
    ElementTree.fromstring(drawn)


def test_the_bars_show_who_reads_how_fast():
    kept = load(PLACE, CASES)
    shown = ElementTree.fromstring(bars.draw(kept))
    widths = [float(bar.get("width") or 0) for bar in list(shown.iter("{http://www.w3.org/2000/svg}rect"))[1:]]
    ours, peer = (kept["images"].result.measured["boto3"][side]["records_per_second"] for side in ("ours", "peer"))
    assert len(widths) == 3
    assert widths[0] / widths[1] == pytest.approx(ours / peer, rel=0.02)
    assert [text.text for text in shown.iter("{http://www.w3.org/2000/svg}text")][1::2] == [
        "streamiter",
        "boto3 loop",
        "Bloop",
    ]


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


def test_no_figure_of_the_performance_page_is_typed_by_hand(monkeypatch):
    text = (ROOT / "docs/performance.md").read_text("utf-8").partition("## All targets")[0]
    with monkeypatch.context() as patch:
        patch.setattr(figures, "FORMATS", dict.fromkeys(figures.FORMATS, lambda _: "so many"))
        left = figures.fill(text, load(PLACE, CASES), figures.PAGES["docs/performance.md"]["figures"])
    assert "so many as fast" in left
    assert not re.findall(r"\d[\d,.]*(?:x|k/s| records/s)\b", re.sub(r"`[^`]*`|```.*?```", "", left, flags=re.DOTALL))


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
