"""Catching up on one shard: a backlog of full pages, of which the envelopes and the order are used."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.canned.process import canned
from benchmarks.measure import Reading, Scale, check_same, compare, start, versions
from benchmarks.results import Result

TITLE = "catch up on 1 shard; envelope and order used, images not read"


def run(scale: Scale) -> Result:
    """Against a plain boto3 loop and Bloop."""
    records = scale.of(200_000, 2_000)
    with ExitStack() as stack:
        server = stack.enter_context(canned(records, 1))
        sides = start(stack, "streamiter", "boto3", "bloop")

        def reading(name: str, action: str = "envelopes") -> Reading:
            return Reading(sides[name], action, server, 1, records, {})

        check_same([reading(name) for name in sides], images=True)
        by_boto3, by_bloop = compare(reading("streamiter"), [reading("boto3"), reading("bloop")], scale.runs)
        (batches,) = compare(reading("streamiter", "batches"), [reading("boto3")], scale.runs)
        (everything,) = compare(reading("streamiter", "everything"), [reading("boto3")], scale.runs)
        return Result(
            [
                by_boto3.row(TITLE, "boto3 get_records loop", 12),
                by_bloop.row("the same", "Bloop next(stream)", 15),
                batches.row("the same, in batches(10_000)", "boto3 get_records loop"),
                everything.row("the same, and created_at and order_key read too", "boto3 get_records loop"),
            ],
            {
                "boto3": by_boto3.told(records),
                "bloop": by_bloop.told(records),
                "batches": batches.told(records),
                "everything": everything.told(records),
            },
            versions(sides),
        )
