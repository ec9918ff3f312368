"""Figures: every number in a page of the docs comes from the results; here they are put in.

In a page, `<!--= WHERE FORMAT -->so many<!--/-->` holds one number, and `<!--= table NAME ... -->` to `<!--/-->` a table
of cases. WHERE is the path in the results: case, then names and places, with slashes. Readers see none of the marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import machine, table
from benchmarks.canned.process import ROOT
from benchmarks.results import Report

PAGES = ("docs/performance.md", "docs/comparison.md", "docs/spark.md", "README.md")
_MARK = re.compile(r"<!--= (?P<asked>[^>]*?) -->(?P<said>.*?)<!--/-->", re.DOTALL)

FORMATS: dict[str, Callable[[Any], str]] = {
    "ratio": table.times,
    "count": lambda number: f"{number:,.0f}",
    "about": lambda number: f"{float(f'{number:.2g}'):,.0f}",  # two figures: more would not be the same tomorrow
    "dollars": lambda number: f"${number:.2f}" if number >= 0.1 else f"${number:.4f}",
    "cents": lambda number: f"${number:.2f}",
    "tenths": lambda number: f"{number:.1f}",
    "mib": lambda number: f"{number / 2**20:,.0f} MiB",
    "text": str,
    "day": lambda moment: str(moment)[:10],
    "machine": machine.describe,
}


def fill(page: str, reports: Mapping[str, Report]) -> str:
    """The page with each figure as the results have it now; one whose case was never measured stays."""
    told = {name: asdict(report) for name, report in reports.items()}
    for name, report in reports.items():
        for row, told_row in zip(report.result.rows, told[name]["result"]["rows"], strict=True):
            told_row |= {"median": row.median, "cpu_median": row.cpu_median}

    def replace(mark: re.Match[str]) -> str:
        words = mark["asked"].split()
        if words[0] == "table":
            chosen = {name: reports[name] for name in words[1:] if name in reports}
            said = f"\n\n{table.markdown(chosen)}\n\n"
        else:
            where, how = words
            if where.partition("/")[0] not in told:
                return mark[0]
            said = FORMATS[how](look_up(told, where))
        return f"<!--= {mark['asked']} -->{said}<!--/-->"

    return _MARK.sub(replace, page)


def fill_pages(reports: Mapping[str, Report]) -> None:
    """Fills the pages that hold figures."""
    for name in PAGES:
        page = ROOT / name
        if page.exists():
            _rewrite(page, fill(page.read_text("utf-8"), reports))


def look_up(told: Mapping[str, Any], where: str) -> Any:
    """What stands at a path: `catch_up/rows/0/median`; what is not the case's own member is looked for in its result."""
    case, *steps = where.split("/")
    found = told[case]
    if steps[0] not in found:
        found = found["result"]
    for step in steps:
        found = found[int(step) if isinstance(found, list) else step]
    return found


def _rewrite(page: Path, text: str) -> None:
    if text != page.read_text("utf-8"):
        page.write_text(text, "utf-8")
