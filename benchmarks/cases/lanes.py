"""Lanes: the same records, dealt out to ever more shards."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.canned.backlog import PER_SECOND
from benchmarks.canned.process import Canned, canned
from benchmarks.measure import Reading, Scale, check_same, rates, start, take_turns, versions
from benchmarks.results import Result, Row
from benchmarks.sides import Outcome

TITLE = "records/s at 1, 10, 100, 1,000 lanes, the same records"
DEFAULT = 64 * 1024**2
# Enough for a full page of each of 1,000 lanes. With the default a lane may hold 67 KB, so pages are small, and a call takes as
# long as ever: that is measured too, but without a target.
ROOM = 1536 * 1024**2


def run(scale: Scale) -> Result:
    """Against one lane. The shards are closed, as most of a backlog's are: that an open one's tip takes eight empty pages to
    be sure of is a cost of each shard, and not of its records. What follows the last records, children being looked for, is
    cut off for the same reason.
    """
    counts = (1, 10, 100, 1_000) if not scale.is_smoke else (1, 2, 20)
    backlog = scale.of(2_000_000, 4_000)  # two full pages of each of 1,000 lanes
    records = backlog * 99 // 100 // PER_SECOND * PER_SECOND  # within a second, ties come out by shard
    with ExitStack() as stack:
        server = stack.enter_context(canned(backlog, *counts, closed=True))
        sides = start(stack, "streamiter")
        ours = sides["streamiter"]
        rooms = {"roomy": {"prefetch_bytes": ROOM}, "default": {"prefetch_bytes": DEFAULT}}
        readings = {
            (room, count): Reading(ours, "envelopes", server, count, records, {"stream": options})
            for room, options in rooms.items()
            for count in counts
        }
        check_same([readings["roomy", count] for count in counts], images=False)
        calls = {room: {str(count): _calls(server, readings[room, count]) for count in counts} for room in rooms}
        found = take_turns(readings, min(scale.runs, 3))
        return Result(
            [_row(found, room, count, counts) for room in rooms for count in counts[1:]],
            {
                "rates": {room: {str(count): rates(found[room, count], records) for count in counts} for room in rooms},
                "calls": calls,
                "prefetch_bytes": {"roomy": ROOM, "default": DEFAULT},
                "lane_bytes": DEFAULT // counts[-1],
            },
            versions(sides),
        )


def _calls(server: Canned, reading: Reading) -> dict[str, int]:
    server.control(reset=True)
    reading.do()
    calls: dict[str, int] = server.control(reset=True)["calls"]
    return calls


Found = dict[tuple[str, int], list[Outcome]]


def _row(found: Found, room: str, count: int, counts: Sequence[int]) -> Row:
    one, many = found[room, counts[0]], found[room, count]
    is_first = room == "roomy" and count == counts[1]
    return Row(
        f"{TITLE if is_first else 'the same'}: {count:,}",
        "1 lane, with room for full pages" if room == "roomy" else "1 lane, with the default prefetch_bytes",
        [single.seconds / several.seconds for single, several in zip(one, many, strict=True)],
        0.7 if room == "roomy" else None,
        by_cpu=[single.cpu_seconds / several.cpu_seconds for single, several in zip(one, many, strict=True)],
    )
