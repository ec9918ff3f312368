"""Catching up on a Kinesis stream: a backlog on 8 shards, of which payloads, keys and the order are used."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.canned.process import canned
from benchmarks.measure import Reading, Scale, check_same, compare, start
from benchmarks.results import Result

TITLE = "Kinesis: catch up on 8 shards, payload bytes"
SHARDS = 8
PAYLOAD_BYTES = 250


def run(scale: Scale) -> Result:
    """Against a plain boto3 loop and async-kinesis; none of them is slowed down to the service's rates."""
    records = scale.of(160_000, 4_000)
    with ExitStack() as stack:
        server = stack.enter_context(canned(records, SHARDS, record_bytes=PAYLOAD_BYTES, kinesis=True))
        sides = start(stack, "streamiter on Kinesis", "boto3 on Kinesis", "async-kinesis")

        def reading(name: str) -> Reading:
            return Reading(sides[name], "payloads", server, SHARDS, records, {})

        check_same([reading(name) for name in sides], images=False)
        peers = [reading("boto3 on Kinesis"), reading("async-kinesis")]
        by_boto3, by_async = compare(reading("streamiter on Kinesis"), peers, scale.runs)
        return Result(
            [
                by_boto3.row(TITLE, "boto3 get_records loop", 3),
                by_async.row("the same", "async-kinesis", 3),
            ],
            {"boto3": by_boto3.told(records), "async_kinesis": by_async.told(records), "payload_bytes": PAYLOAD_BYTES},
            {name.partition(" ")[0]: one.versions for name, one in sides.items()},
        )
