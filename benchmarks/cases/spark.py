"""A backlog into Spark: closed shards read by tasks, against a list, a single core, and tuples."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from benchmarks.canned.process import canned
from benchmarks.measure import Comparison, Reading, Scale, check_same, compare, start, versions
from benchmarks.results import Result, Row

TITLE = "Spark: a backlog of 8 closed shards into a noop sink, 20 ms a call"
LATENCY = 0.02
SHARDS = 8


def run(scale: Scale) -> Result:
    """CPU time is left out: most of it is spent in the JVM and in its workers."""
    records = scale.of(200_000, 2_000)
    with ExitStack() as stack:
        server = stack.enter_context(canned(records, SHARDS, latency=LATENCY, rolled=True))
        sides = start(stack, "spark", "spark, 1 core", "boto3")

        def reading(action: str, side: str = "spark") -> Reading:
            return Reading(sides[side], action, server, SHARDS, records, {})

        tuples = reading("tuples")._replace(options={"format": "as_tuples"})
        check_same([reading("noop"), reading("check", "boto3")], images=True)
        ours, alone, by_hand = reading("noop"), reading("noop", "spark, 1 core"), reading("list_of_rows")
        grouped = ours._replace(options={"maxPartitions": "2"})
        check_same([grouped, reading("check", "boto3")], images=True)
        check_same([tuples, reading("check", "boto3")], images=False)
        for warmed in (ours, tuples, alone, grouped) if not scale.is_smoke else ():
            warmed.do()  # A JVM gets faster as it goes.
        by_list, by_one, by_tuples = compare(ours, [by_hand, alone, tuples], scale.runs)
        [by_groups] = compare(grouped, [by_hand], scale.runs)
        return Result(
            [
                _row(by_list, TITLE, "createDataFrame over a list from a boto3 loop", 8),
                _row(by_groups, "the same, with maxPartitions=2", "createDataFrame over a list from a boto3 loop"),
                _row(by_one, "the same, on local[2]", "the same, on local[1]", 1.6),
                _row(by_tuples, "the same, as RecordBatch", "the same, as tuples", 1.3),
            ],
            {
                "list": by_list.told(records),
                "groups": by_groups.told(records),
                "one": by_one.told(records),
                "tuples": by_tuples.told(records),
                "latency_seconds": LATENCY,
            },
            {"streamiter": sides["spark"].versions, **versions(sides)},
        )


def _row(found: Comparison, work: str, peer: str, target: float | None = None) -> Row:
    return replace(found.row(work, peer, target), by_cpu=[])
