"""Figures: every number in a page of the docs comes from the results; here they are put in.

Pages hold nothing but their text. `pages.toml` says which numbers in it are figures: for each page, excerpts in the
page's order, in which `{WHERE FORMAT}` stands for a number: `it is {catch_up/rows/0/median ratio} as fast`. WHERE is the path
in the results: the case, then names and places, with slashes. A page may have one `table` of cases: the one that begins with
the headings of `table.HEADINGS`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import machine, table
from benchmarks.canned.process import ROOT
from benchmarks.results import Report

WHERE = Path(__file__).with_name("pages.toml")
PAGES: dict[str, dict[str, list[str]]] = tomllib.loads(WHERE.read_text("utf-8"))

FORMATS: dict[str, Callable[[Any], str]] = {
    "ratio": table.times,
    "count": lambda number: f"{number:,.0f}",
    "about": lambda number: f"{float(f'{number:.2g}'):,.0f}",  # two figures: more would not be the same tomorrow
    "dollars": lambda number: f"${number:.2f}" if number >= 0.1 else f"${number:.4f}",
    "cents": lambda number: f"${number:.2f}",
    "tenths": lambda number: f"{number:.1f}",
    "plain": lambda number: f"{number:.2f}",
    "mib": lambda number: f"{number / 2**20:,.0f} MiB",
    "text": str,
    "day": lambda moment: str(moment)[:10],
    "machine": machine.describe,
}

_FIGURE = re.compile(r"\{(?P<where>[\w/]+) (?P<how>\w+)\}")
_SHOWN = r"(\S(?:[^|]{0,120}?[^\s|])?)"  # what stands where a figure goes


class NoSuchPlace(LookupError):
    """A page has changed, so that a figure's place is not found."""


def fill(text: str, reports: Mapping[str, Report], excerpts: list[str], tables: list[str] | None = None) -> str:
    """The page with each figure as the results have it now; one whose case was never measured stays."""
    told = _told(reports)
    place = 0
    for excerpt in excerpts:
        found = _pattern(excerpt).search(text, place)
        if found is None:
            raise NoSuchPlace(
                f"after line {text.count(chr(10), 0, place) + 1} nothing fits {excerpt!r}; mend pages.toml"
            )
        shown = _shown(excerpt, found, told)
        text = text[: found.start()] + shown + text[found.end() :]
        place = found.start() + len(shown)
    return _with_table(text, reports, tables) if tables else text


def fill_pages(reports: Mapping[str, Report]) -> None:
    """Fills the pages that hold figures."""
    for name in PAGES:
        page = ROOT / name
        before = page.read_text("utf-8")
        after = fill_page(name, before, reports)
        if after != before:
            page.write_text(after, "utf-8")


def fill_page(name: str, text: str, reports: Mapping[str, Report]) -> str:
    """The text of a page of `pages.toml`, with its figures."""
    return fill(text, reports, PAGES[name]["figures"], PAGES[name].get("table"))


def look_up(told: Mapping[str, Any], where: str) -> Any:
    """What stands at a path: `catch_up/rows/0/median`; what is not the case's own member is looked for in its result."""
    case, *steps = where.split("/")
    found = told[case]
    if steps[0] not in found:
        found = found["result"]
    for step in steps:
        found = found[int(step) if isinstance(found, list) else step]
    return found


def _told(reports: Mapping[str, Report]) -> dict[str, Any]:
    """The reports as plain values, with the medians that they work out."""
    told = {name: asdict(report) for name, report in reports.items()}
    for name, report in reports.items():
        for row, told_row in zip(report.result.rows, told[name]["result"]["rows"], strict=True):
            told_row |= {"median": row.median, "cpu_median": row.cpu_median}
    return told


def _pattern(excerpt: str) -> re.Pattern[str]:
    """What finds an excerpt, wherever its lines break; each figure is a group."""
    texts = _FIGURE.split(excerpt)[::3]  # between them stand a path and a format each
    return re.compile(_SHOWN.join(r"\s+".join(map(re.escape, re.split(r"\s+", text))) for text in texts))


def _shown(excerpt: str, found: re.Match[str], told: Mapping[str, Any]) -> str:
    """The place as it was found, with the figures as they are now."""
    parts: list[str] = []
    place = found.start()
    for group, figure in enumerate(_FIGURE.finditer(excerpt), start=1):
        where, how = figure["where"], figure["how"]
        is_known = where.partition("/")[0] in told
        parts.append(found.string[place : found.start(group)])
        parts.append(FORMATS[how](look_up(told, where)) if is_known else found[group])
        place = found.end(group)
    return "".join(parts) + found.string[place : found.end()]


def _with_table(text: str, reports: Mapping[str, Report], cases: list[str]) -> str:
    """The page with the table of these cases in the place of the one that it has."""
    shown = table.markdown({name: reports[name] for name in cases if name in reports})
    headings = shown.partition("\n")[0]
    if f"\n{headings}\n" not in text:
        raise NoSuchPlace(f"no table begins with {headings!r}")
    before, _, rest = text.partition(f"\n{headings}\n")
    _, end, after = rest.partition("\n\n")
    return f"{before}\n{shown}\n" + (f"\n{after}" if end else "")
