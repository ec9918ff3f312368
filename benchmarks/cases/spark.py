"""A backlog into Spark: closed shards read by tasks, against a list, a single core, and tuples."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from benchmarks.canned.process import canned
from benchmarks.measure import Comparison, Reading, Scale, check_same, compare, start, versions
from benchmarks.results import Result, Row

TITLE = "Spark: a backlog of 8 closed shards into a noop sink, 20 ms a call, on local[8]: a slot for each"
LATENCY = 0.02
SHARDS = 8


def run(scale: Scale) -> Result:
    """CPU time is left out: most of it is spent in the JVM and in its workers."""
    records = scale.of(200_000, 2_000)
    with ExitStack() as stack:
        server = stack.enter_context(canned(records, SHARDS, latency=LATENCY, rolled=True))
        sides = start(stack, "spark", "spark, 8 slots", "spark, 1 core", "boto3")

        def reading(action: str, side: str, **options: str) -> Reading:
            return Reading(sides[side], action, server, SHARDS, records, options)

        ours, by_hand = reading("noop", "spark, 8 slots"), reading("list_of_rows", "spark, 8 slots")
        tuples = reading("tuples", "spark, 8 slots")
        two, two_by_hand, two_tuples = (reading(action, "spark") for action in ("noop", "list_of_rows", "tuples"))
        apart, alone = (reading("noop", side, maxPartitions=str(SHARDS)) for side in ("spark", "spark, 1 core"))
        by_boto3 = reading("check", "boto3")
        for read in (ours, two, apart):
            check_same([read, by_boto3], images=True)
        check_same([tuples._replace(options={"format": "as_tuples"}), by_boto3], images=False)
        for warmed in (ours, tuples, two, two_tuples, apart, alone) if not scale.is_smoke else ():
            warmed.do()  # A JVM gets faster as it goes.
        by_list, by_tuples = compare(ours, [by_hand, tuples], scale.runs)
        two_by_list, two_by_tuples = compare(two, [two_by_hand, two_tuples], scale.runs)
        apart_by_list, by_one = compare(apart, [two_by_hand, alone], scale.runs)
        by_a_list = "createDataFrame over a list from a boto3 loop"
        return Result(
            [
                _row(by_list, TITLE, by_a_list, 8),
                # Waiting alone, 4 rounds of 27 calls one after another, takes 2.2 s of about 3; the list takes 15 s or more.
                _row(apart_by_list, "the same, on local[2] with maxPartitions=8: four after each other", by_a_list),
                _row(two_by_list, "the same, on local[2]: four shards side by side in each slot", by_a_list, 12),
                _row(by_one, "the same, on local[2] with maxPartitions=8", "the same, on local[1]", 1.6),
                _row(by_tuples, "the same, on local[8], as RecordBatch", "the same, as tuples", 1.3),
                _row(two_by_tuples, "the same, on local[2], as RecordBatch", "the same, as tuples"),
            ],
            {
                "list": by_list.told(records),
                "two": two_by_list.told(records),
                "apart": apart_by_list.told(records),
                "one": by_one.told(records),
                "tuples": by_tuples.told(records),
                "two_tuples": two_by_tuples.told(records),
                "latency_seconds": LATENCY,
            },
            {"streamiter": sides["spark"].versions, **versions(sides)},
        )


def _row(found: Comparison, work: str, peer: str, target: float | None = None) -> Row:
    return replace(found.row(work, peer, target), by_cpu=[])
