"""Lanes: the same records, dealt out to ever more shards."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.canned.process import canned
from benchmarks.measure import Reading, Scale, check_same, rates, start, take_turns, versions
from benchmarks.results import Result, Row
from benchmarks.sides import Outcome

TITLE = "records/s at 1, 10, 100, 1,000 lanes, the same records"
# Enough for a full page of each of 1,000 lanes. With the default of 64 MiB a lane may hold 67 KB, so pages get small:
# that is measured too.
ROOM = {"prefetch_bytes": 2 * 1024**3}


def run(scale: Scale) -> Result:
    """Against one lane. It is cut off before the end of the backlog, since this is about catching up, not about tips."""
    counts = (1, 10, 100, 1_000) if not scale.is_smoke else (1, 2, 20)
    backlog = scale.of(1_000_000, 4_000)
    records = backlog * 9 // 10
    with ExitStack() as stack:
        server = stack.enter_context(canned(backlog, *counts))
        sides = start(stack, "streamiter")
        ours = sides["streamiter"]
        readings = {
            f"{count} {room}": Reading(ours, "envelopes", server, count, records, {"stream": options})
            for count in counts
            for room, options in (("roomy", ROOM), ("default", {}))
        }
        check_same([reading for name, reading in readings.items() if "roomy" in name], images=False)
        found = take_turns(readings, min(scale.runs, 3))
        rows = [
            Row(
                f"{TITLE}: {count:,}" if count == counts[1] else f"the same: {count:,}",
                f"1 lane{', with the default prefetch_bytes' if room == 'default' else ', with room for full pages'}",
                _ratios(found, f"{count} {room}", f"1 {room}", "seconds"),
                0.7 if room == "roomy" else None,
                by_cpu=_ratios(found, f"{count} {room}", f"1 {room}", "cpu_seconds"),
            )
            for room in ("roomy", "default")
            for count in counts[1:]
        ]
        return Result(
            rows,
            {
                "rates": {name: rates(outcomes, records) for name, outcomes in found.items()},
                "prefetch_bytes": ROOM["prefetch_bytes"],
            },
            versions(sides),
        )


def _ratios(found: dict[str, list[Outcome]], name: str, base: str, what: str) -> list[float]:
    pairs = zip(found[name], found[base], strict=True)
    return [getattr(single, what) / getattr(many, what) for many, single in pairs]
