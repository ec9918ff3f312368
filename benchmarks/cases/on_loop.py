"""AsyncStream against Stream, over the same bytes: what awaiting each record costs."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.canned.process import canned
from benchmarks.measure import Reading, Scale, check_same, compare, start, versions
from benchmarks.results import Result

TITLE = "AsyncStream, `async for record in stream`"


def run(scale: Scale) -> Result:
    """One shard and eight, record by record; then in batches, and by `take`."""
    records = scale.of(200_000, 2_000)
    with ExitStack() as stack:
        server = stack.enter_context(canned(records, 1, 8))
        sides = start(stack, "asyncio", "streamiter")

        def reading(name: str, action: str = "envelopes", shards: int = 1) -> Reading:
            return Reading(sides[name], action, server, shards, records, {})

        check_same([reading(name) for name in sides], images=True)
        (one,) = compare(reading("asyncio"), [reading("streamiter")], scale.runs)
        (eight,) = compare(reading("asyncio", shards=8), [reading("streamiter", shards=8)], scale.runs)
        (batches,) = compare(reading("asyncio", "batches"), [reading("streamiter", "batches")], scale.runs)
        (takes,) = compare(reading("asyncio", "takes"), [reading("streamiter", "batches")], scale.runs)
        return Result(
            [
                one.row(TITLE, "Stream, `next(stream)`", 0.8),
                eight.row("the same, over 8 shards", "Stream, `next(stream)`", 0.8),
                batches.row("AsyncStream, batches(10_000)", "Stream, the same", 0.8),
                takes.row("AsyncStream, take(100, within=1.0)", "Stream, batches(10_000)", 0.8),
            ],
            {
                "one": one.told(records),
                "eight": eight.told(records),
                "batches": batches.told(records),
                "takes": takes.told(records),
            },
            versions(sides),
        )
