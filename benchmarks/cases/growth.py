"""Growth: how the speed of catching up follows the size of a record and the latency of a call; there is no target."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from benchmarks.canned.process import canned
from benchmarks.measure import Reading, Scale, compare, start, versions
from benchmarks.results import Result

TITLE = "how speed follows record size and latency"
SIZES = (575, 1_150, 2_300, 4_600, 9_200)  # bytes a record
LATENCIES = (0.0, 0.005, 0.02, 0.05)  # seconds a call
SHARDS = (1, 16)


def run(scale: Scale) -> Result:
    """Against a plain boto3 loop, which reads one shard after the other."""
    with ExitStack() as stack:
        sides = start(stack, "streamiter", "boto3")
        runs = min(scale.runs, 3)
        sizes = {
            str(size): _compared(sides, 1, scale.of(11_500_000 // size, 300), runs, {"record_bytes": size})
            for size in (SIZES if not scale.is_smoke else SIZES[:1])
        }
        latencies = {
            str(shards): {
                f"{1000 * latency:.0f}": _compared(sides, shards, scale.of(16_000, 320), runs, {"latency": latency})
                for latency in (LATENCIES if not scale.is_smoke else LATENCIES[:1])
            }
            for shards in SHARDS
        }
        return Result([], {"record_bytes": sizes, "shards_and_milliseconds": latencies}, versions(sides))


def _compared(sides: Any, shards: int, records: int, runs: int, options: dict[str, Any]) -> dict[str, Any]:
    # The backlog goes on beyond what is read: with many shards the end would only show how long tips take to be sure of.
    with canned(records * 5 // 4 if shards > 1 else records, shards, **options) as server:
        ours, peer = (Reading(sides[name], "envelopes", server, shards, records, {}) for name in sides)
        for reading in (ours, peer):
            reading.do()  # so that connections are open and pages assembled
        (found,) = compare(ours, [peer], runs)
    ratios = found.row("", "").ratios
    return {**found.told(records), "ratios": ratios}
