"""A micro-batch: what it takes longer than one of a source that has nothing to tell."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.canned.process import canned
from benchmarks.measure import Reading, Scale, start, versions
from benchmarks.results import Result, Row

TITLE = "Spark: a micro-batch of 4 open shards, beyond an empty Python source's, in units of 100 ms"
ALLOWED_MILLISECONDS = 100.0
SHARDS = 4


def run(scale: Scale) -> Result:
    """Both queries run in the same session, one after the other."""
    options = {"batches": scale.of(40, 3), "warm": scale.of(15, 1)}
    records = 100 * (options["batches"] + options["warm"] + 10)
    with ExitStack() as stack:
        server = stack.enter_context(canned(records, SHARDS, latency=0.02))
        sides = start(stack, "spark")
        reading = Reading(sides["spark"], "micro_batches", server, SHARDS, records, options)
        told = [reading.do().value[1:] for _ in range(scale.runs)]
        beyond = [max(0.001, (ours - empty) / ALLOWED_MILLISECONDS) for ours, empty in told]
        return Result(
            [Row(TITLE, "an empty Python source", beyond, 1.0, is_at_most=True)],
            {"milliseconds": [{"ours": ours, "empty": empty} for ours, empty in told]},
            {"streamiter": sides["spark"].versions, **versions(sides)},
        )
