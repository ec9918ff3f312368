"""All shards roll at once: each closes and gets a child, and the children are found by listing."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from benchmarks.canned.process import canned
from benchmarks.measure import Scale, start, versions
from benchmarks.results import Result, Row

TITLE = "500 shards rolling at once"
TICK_SECONDS = 0.02
MOST_TICKS = 6_000


def run(scale: Scale) -> Result:
    """Against Bloop's DescribeStream calls, from the roll until a record of each child is out."""
    shards = scale.of(500, 10)
    with ExitStack() as stack:
        sides = start(stack, "streamiter", "bloop")
        calls: dict[str, Any] = {}
        numbers = {}
        for name, side in sides.items():
            with canned(2 * shards, shards, rolls=True) as server:

                def poll(records: int, server: Any = server, side: Any = side, ticks: int = MOST_TICKS) -> Any:
                    return side.do("poll", server, shards, records, ticks=ticks, tick_seconds=TICK_SECONDS).value

                side.do("open", server, shards)
                parents = poll(shards)
                poll(0, ticks=100)  # so that all have settled
                server.control(reset=True, roll=True)
                children = poll(shards)
                calls[name] = {**server.control()["calls"], "ticks": children["ticks"]}
                numbers[name] = [parents["numbers"], children["numbers"]]
        assert numbers["streamiter"] == numbers["bloop"], "the sides did not read the same records"
        assert [len(part) for part in numbers["bloop"]] == [shards, shards]
        ratio = calls["streamiter"]["DescribeStream"] / calls["bloop"]["DescribeStream"]
        return Result(
            [Row(TITLE, "Bloop's DescribeStream calls", [ratio], 1 / 50, is_at_most=True, is_count=True)],
            {"shards": shards, "calls": calls},
            versions(sides),
        )
