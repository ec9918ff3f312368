"""Catching up on many shards over a network: calls side by side and ahead, against one after the other."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.canned.process import canned
from benchmarks.measure import Reading, Scale, check_same, compare, start, versions
from benchmarks.results import Result

TITLE = "catch up on 100 shards of 2 pages, 20 ms a call"
LATENCY = 0.02


def run(scale: Scale) -> Result:
    """Against Bloop, until the last record is out."""
    shards = scale.of(100, 4)
    records = shards * scale.of(2_000, 200)
    with ExitStack() as stack:
        server = stack.enter_context(canned(records, shards, latency=LATENCY))
        sides = start(stack, "streamiter", "bloop")

        def reading(name: str) -> Reading:
            return Reading(sides[name], "envelopes", server, shards, records, {})

        check_same([reading(name) for name in sides], images=False)
        (by_bloop,) = compare(reading("streamiter"), [reading("bloop")], scale.runs)
        server.control(reset=True)
        reading("streamiter").do()
        calls = server.control(reset=True)["calls"]
        return Result(
            [by_bloop.row(TITLE, "Bloop next(stream)", 15)],
            {"bloop": by_bloop.told(records), "calls": calls, "latency_seconds": LATENCY},
            versions(sides),
        )
