"""Results: what a case found, as rows of the table and as a file of JSON."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.canned.process import ROOT

PLACE = ROOT / "benchmarks" / "results"


@dataclass
class Row:
    """One comparison: a ratio for each run, beside the target."""

    work: str
    peer: str
    ratios: list[float]
    target: float | None = None  # None: it is told because it explains another row
    is_at_most: bool = False  # else at least
    is_count: bool = False  # it does not vary
    by_cpu: list[float] = field(default_factory=list)  # the same in CPU time, which other processes disturb less

    @property
    def median(self) -> float:
        """The run in the middle."""
        return statistics.median(self.ratios)

    @property
    def cpu_median(self) -> float | None:
        """The same in CPU time; None where it was not taken."""
        return statistics.median(self.by_cpu) if self.by_cpu else None

    @property
    def is_met(self) -> bool | None:
        """Whether the median reaches the target; None where there is none."""
        if self.target is None:
            return None
        return self.median <= self.target if self.is_at_most else self.median >= self.target


@dataclass
class Result:
    """What a case found."""

    rows: list[Row]
    measured: dict[str, Any] = field(default_factory=dict)  # absolute numbers: they belong to the machine
    versions: dict[str, dict[str, str]] = field(default_factory=dict)  # of each side


@dataclass
class Report:
    """A case's file: what was found, when and on what."""

    case: str
    title: str
    made: str
    runs: int
    is_smoke: bool
    machine: dict[str, Any]
    result: Result

    def save(self, place: Path) -> None:
        """Writes the file beside, and renames it."""
        told = asdict(self)
        for row, told_row in zip(self.result.rows, told["result"]["rows"], strict=True):
            told_row |= {"median": row.median, "is_met": row.is_met}
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{self.case}.json"
        beside = path.with_suffix(".json.new")
        beside.write_text(json.dumps(_rounded(told), indent=1, ensure_ascii=False) + "\n", "utf-8")
        beside.rename(path)


def load(place: Path, cases: Iterable[str]) -> dict[str, Report]:
    """The reports that are there, by case."""
    reports = {}
    for case in cases:
        path = place / f"{case}.json"
        if path.exists():
            told = json.loads(path.read_text("utf-8"))
            result = told.pop("result")
            # Results that are kept may be older than a field: it then has its default.
            rows = [
                Row(**{name: row[name] for name in Row.__dataclass_fields__ if name in row})
                for row in result.pop("rows")
            ]
            reports[case] = Report(**told, result=Result(rows, **result))
    return reports


def _rounded(value: Any) -> Any:
    """Numbers to six figures: more of them would only be noise in the file's history."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return value
