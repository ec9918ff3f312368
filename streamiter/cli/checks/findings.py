"""Findings: the result of each check, and what the user should do about it; pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from streamiter.terminal import Span

Mark = Literal["good", "note", "bad", "skipped"]

_SIGNS: dict[Mark, tuple[str, str]] = {
    "good": ("✓", "good"),
    "note": ("!", "note"),
    "bad": ("✗", "bad"),
    "skipped": ("·", "dim"),
}
TITLE_CELLS = 13
NARROW_CELLS = 60


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    mark: Mark
    title: str
    told: str
    remedy: str = ""

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def finding_lines(finding: Finding, width: int) -> list[list[Span]]:
    """Its lines: the sign, the title, what was found, on a narrow screen below it; then the remedy."""
    sign, look = _SIGNS[finding.mark]
    is_narrow = width < NARROW_CELLS
    room = max(20, width - 4 - (0 if is_narrow else TITLE_CELLS))
    told = textwrap.wrap(finding.told, room, break_on_hyphens=False) or [""]
    remedy = textwrap.wrap(finding.remedy, room - 2, break_on_hyphens=False)
    margin = Span("  " if is_narrow else " " * (TITLE_CELLS + 3))
    title = [Span(f"{sign} ", look), Span(f"{finding.title:{TITLE_CELLS}} ", "bold")]
    lines = [title, [margin, Span(told[0])]] if is_narrow else [[*title, Span(told[0])]]
    lines += [[margin, Span(line)] for line in told[1:]]
    lines += [[margin, Span("→ " if place == 0 else "  ", look), Span(line, look)] for place, line in enumerate(remedy)]
    return lines


def verdict(findings: Iterable[Finding]) -> str:
    """Sums all findings up in a sentence."""
    marks = [finding.mark for finding in findings]
    bad, notes = marks.count("bad"), marks.count("note")
    if bad:
        rest = " The rest could not be checked." if "skipped" in marks else ""
        return f"{bad} problem{'s' if bad > 1 else ''} to fix.{rest}"
    return "All is well." if not notes else f"It works; {notes} thing{'s' if notes > 1 else ''} to know."
