"""A backlog as a table."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.canned.process import canned
from benchmarks.measure import Reading, Scale, check_same, compare, start, versions
from benchmarks.results import Result

TITLE = "to_arrow of 100k records"


def run(scale: Scale) -> Result:
    """Against what pyarrow makes of boto3's records."""
    records = scale.of(100_000, 2_000)
    with ExitStack() as stack:
        server = stack.enter_context(canned(records, 1))
        sides = start(stack, "streamiter", "boto3")

        def reading(name: str) -> Reading:
            return Reading(sides[name], "arrow", server, 1, records, {})

        check_same([reading(name) for name in sides], images=False)
        (by_boto3,) = compare(reading("streamiter"), [reading("boto3")], scale.runs)
        return Result(
            [by_boto3.row(TITLE, "pyarrow.Table.from_pylist over a boto3 loop", 8)],
            {"boto3": by_boto3.told(records)},
            versions(sides),
        )
