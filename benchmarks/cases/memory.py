"""Memory: what fetched, unread pages of many open lanes really take, against the budget for them."""

from __future__ import annotations

from typing import Any

from benchmarks.canned.process import canned
from benchmarks.measure import Scale
from benchmarks.results import Result, Row
from benchmarks.sides import side

TITLE = "memory held by fetched, unread pages at 1,000 open lanes"
PREFETCH_BYTES = 64 * 1024 * 1024
MEASURES = {
    "resident_bytes": "what the process has in memory (VmRSS), more than before",
    "traced_bytes": "what Python allocated (tracemalloc), more than before",
}


def run(scale: Scale) -> Result:
    """By two measures, each in a process that does nothing else."""
    lanes = scale.of(1_000, 20)
    budget = PREFETCH_BYTES if not scale.is_smoke else 1024 * 1024
    held: dict[str, list[dict[str, Any]]] = {name: [] for name in MEASURES}
    with canned(lanes * scale.of(250, 200), lanes) as server:
        told = {}
        for _ in range(min(scale.runs, 3)):
            for name, found in held.items():
                with side("streamiter") as ours:
                    stream = {"prefetch_bytes": budget}
                    held_now = ours.do("hold", server, lanes, traced=name == "traced_bytes", stream=stream).value
                    found.append(held_now)
                    told["streamiter"] = ours.versions
    rows = [
        Row(
            TITLE if index == 0 else "the same",
            f"prefetch_bytes, by {measure}",
            [one[name] / budget for one in held[name]],
            1.5,
            is_at_most=True,
        )
        for index, (name, measure) in enumerate(MEASURES.items())
    ]
    return Result(rows, {"lanes": lanes, "prefetch_bytes": budget, "held": held}, told)
