"""An idle stream: many open shards without a record, where calls are all that it costs."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from benchmarks.canned.process import canned
from benchmarks.measure import Scale, start, versions
from benchmarks.price import DOLLARS_PER_CALL, FREE_CALLS_A_MONTH, price
from benchmarks.results import Result, Row

TITLE = "idle: 100 open shards, next every 20 ms of clock for 60 s"
TICK_SECONDS = 0.02
BUSY_POLLS = 1 / 0.25  # GetRecords calls a second where records come all the time: Stream's poll_interval


def run(scale: Scale) -> Result:
    """Against Bloop's calls for the same sequence of `next`. Counts do not vary: one run is all it takes."""
    shards = scale.of(100, 5)
    ticks = scale.of(3_000, 100)
    with ExitStack() as stack:
        server = stack.enter_context(canned(0, shards))
        sides = start(stack, "streamiter", "bloop")
        calls: dict[str, Any] = {}
        for name, side in sides.items():
            server.control(reset=True)
            side.do("open", server, shards)
            polled = side.do("poll", server, shards, ticks=ticks, tick_seconds=TICK_SECONDS).value
            assert polled == {"ticks": ticks, "numbers": []}
            calls[name] = server.control(reset=True)["calls"]
        # What it costs once it has settled: the same again.
        watched = sides["streamiter"].do("poll", server, shards, ticks=ticks, tick_seconds=TICK_SECONDS)
        settled = server.control(reset=True)["calls"]
        seconds = ticks * TICK_SECONDS
        a_day = {
            "streamiter": price(settled["GetRecords"], shards, seconds),
            "bloop": price(calls["bloop"]["GetRecords"], shards, seconds),
            "streamiter_busy": price(BUSY_POLLS, 1, 1),
        }
        ratio = sum(calls["streamiter"].values()) / sum(calls["bloop"].values())
        return Result(
            [Row(TITLE, "Bloop's calls", [ratio], 1 / 10, is_at_most=True, is_count=True)],
            {
                "shards": shards,
                "seconds": seconds,
                "calls": calls,
                "settled": settled,
                "cpu_milliseconds_per_call": 1000 * watched.cpu_seconds / sum(settled.values()),
                "per_shard_and_day": a_day,
                "price": {"dollars": 100_000 * DOLLARS_PER_CALL, "free_calls": FREE_CALLS_A_MONTH},
            },
            versions(sides),
        )
