"""The table: each comparison with its ratio, its spread over the runs, and its target."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks import machine
from benchmarks.results import Report, Row

HEADINGS = ("benchmark", "work", "peer", "target", "ratio", "spread", "in CPU time", "")


def text(reports: Mapping[str, Report]) -> str:
    """For a terminal."""
    lines = [HEADINGS, *cells(reports)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    shown = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    shown.insert(1, "-+-".join("-" * width for width in widths))
    for name, report in reports.items():
        if not report.result.rows:
            shown.append(f"{name}: {report.title}; no ratio, see its JSON")
    shown.append(f"measured on {machine.describe(*(report.machine for report in reports.values()))}")
    return "\n".join(shown)


def markdown(reports: Mapping[str, Report]) -> str:
    """For a page of the docs."""
    lines = [HEADINGS[1:], ["---"] * (len(HEADINGS) - 1), *[line[1:] for line in cells(reports)]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(reports: Mapping[str, Report]) -> list[tuple[str, ...]]:
    """The rows of all reports."""
    return [
        (
            name if index == 0 else "",
            row.work,
            row.peer,
            target(row),
            times(row.median),
            "a count" if row.is_count else spread(row.ratios),
            spread(row.by_cpu),
            {None: "", True: "met", False: "MISSED"}[row.is_met],
        )
        for name, report in reports.items()
        for index, row in enumerate(report.result.rows)
    ]


def target(row: Row) -> str:
    """The target, as one reads it."""
    if row.target is None:
        return ""
    if row.is_at_most and row.target < 1:
        return f"≤ 1/{1 / row.target:.0f}"
    return f"{'≤' if row.is_at_most else '≥'} {times(row.target)}"


def times(ratio: float) -> str:
    """A ratio to two or three figures."""
    if ratio < 0.1:
        return f"1/{1 / ratio:.0f}"
    return f"{ratio:.2f}x" if ratio < 2 else f"{ratio:.1f}x"


def spread(ratios: list[float]) -> str:
    """From the least to the greatest of the runs."""
    if not ratios:
        return ""
    least, greatest = times(min(ratios)), times(max(ratios))
    return least if least == greatest else f"{least} – {greatest}"
