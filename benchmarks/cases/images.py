"""Catching up on one shard, with every image read as Python values."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.canned.process import canned
from benchmarks.measure import Reading, Scale, check_same, compare, start, versions
from benchmarks.results import Result

TITLE = "catch up on 1 shard; every image read as Python values"


def run(scale: Scale) -> Result:
    """Against boto3 with its TypeDeserializer, and msgspec alone on bytes that are in memory already."""
    records = scale.of(50_000, 2_000)
    with ExitStack() as stack:
        server = stack.enter_context(canned(records, 1))
        sides = start(stack, "streamiter", "boto3", "msgspec")

        def reading(name: str) -> Reading:
            return Reading(sides[name], "images", server, 1, records, {})

        check_same([reading(name) for name in sides], images=True)
        by_boto3, by_msgspec = compare(reading("streamiter"), [reading("boto3"), reading("msgspec")], scale.runs)
        return Result(
            [
                by_boto3.row(TITLE, "boto3 loop + TypeDeserializer", 4),
                by_msgspec.row("the same", "msgspec.json.decode of the same bytes, untyped", 0.25),
            ],
            {"boto3": by_boto3.told(records), "msgspec": by_msgspec.told(records)},
            versions(sides),
        )
