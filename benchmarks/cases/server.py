"""The canned server itself: how fast it gives its pages to a client that does nothing with them; the ceiling of all else."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.canned.process import canned
from benchmarks.measure import Reading, Scale, rates, start, take_turns, versions
from benchmarks.results import Result

TITLE = "the canned server alone: bytes received, and nothing done with them"


def run(scale: Scale) -> Result:
    """Pages of 1,000 records on one connection, one after the other."""
    records = scale.of(50_000, 2_000)
    with ExitStack() as stack:
        server = stack.enter_context(canned(records, 1))
        sides = start(stack, "msgspec")
        reading = Reading(sides["msgspec"], "receive", server, 1, records, {})
        reading.do()
        found = take_turns({"receive": reading}, scale.runs)
        return Result([], {"receive": rates(found["receive"], records)}, versions(sides))
