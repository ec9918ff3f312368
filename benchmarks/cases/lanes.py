"""Lanes: the same records, dealt out to ever more shards."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from benchmarks.canned.backlog import BASE, PER_SECOND
from benchmarks.canned.process import canned
from benchmarks.measure import Counted, Reading, Scale, check_same, rates, start, take_turns, versions
from benchmarks.results import Result, Row
from benchmarks.sides import Outcome

TITLE = "records/s at 1, 10, 100, 1,000 lanes, the same records"
DEFAULT = 64 * 1024**2
# Enough for a full page of each of 1,000 lanes. With the default a lane's share is 67 KB, so pages are small, and a call
# takes as long as ever: that is measured too, but without a target.
ROOM = 1536 * 1024**2
TARGET = 0.7


def run(scale: Scale) -> Result:
    """Against one lane of our own; and against a program that holds all pages of the same lanes, and sorts them once.

    What that one falls by, no order can give back: with hundreds of lanes it is what ours is measured against.

    The shards are closed, as most of a backlog's are: that an open one's tip takes eight empty pages to be sure of is a cost
    of each shard, and not of its records. What follows the last records, children being looked for, is cut off for the same
    reason.
    """
    counts = (1, 10, 100, 1_000) if not scale.is_smoke else (1, 2, 20)
    backlog = scale.of(2_000_000, 4_000)  # two full pages of each of 1,000 lanes
    records = backlog * 99 // 100 // PER_SECOND * PER_SECOND  # within a second, ties come out by shard
    with ExitStack() as stack:
        server = stack.enter_context(canned(backlog, *counts, closed=True))
        sides = start(stack, "streamiter", "unordered")
        ways: dict[str, tuple[str, dict[str, Any]]] = {
            "roomy": ("streamiter", {"stream": {"prefetch_bytes": ROOM}}),
            "held": ("unordered", {"before": BASE + records // PER_SECOND}),
            "unordered": ("unordered", {"before": BASE + records // PER_SECOND}),
            "default": ("streamiter", {"stream": {"prefetch_bytes": DEFAULT}}),
        }
        readings = {
            (way, count): Counted(
                Reading(sides[side], "held" if way == "held" else "envelopes", server, count, records, options), {}
            )
            for count in counts  # What is compared first of all are neighbours in time.
            for way, (side, options) in ways.items()
        }
        ends = (counts[0], counts[-1])
        check_same([readings[way, count].reading for way in ("roomy", "unordered") for count in ends], images=False)
        found = take_turns(readings, min(scale.runs, 3))
        return Result(
            _rows(found, counts),
            {
                "rates": {way: {str(count): rates(found[way, count], records) for count in counts} for way in ways},
                "calls": {way: {str(count): readings[way, count].calls for count in counts} for way in ways},
                "prefetch_bytes": {"roomy": ROOM, "default": DEFAULT},
                "lane_bytes": DEFAULT // counts[-1],
            },
            versions(sides),
        )


Found = dict[tuple[str, int], list[Outcome]]


def _rows(found: Found, counts: Sequence[int]) -> list[Row]:
    one, *more = counts
    roomy = [
        _row(found, ("roomy", one), ("roomy", count), "1 lane", TARGET if count <= 100 else None) for count in more
    ]
    beside = [
        _row(found, ("held", count), ("roomy", count), f"{_lanes(count)}, all held and sorted once", TARGET)
        for count in counts
    ]
    bare = [
        _row(found, (way, one), (way, count), f"1 lane, both {words}")
        for way, words in (
            ("held", "held and sorted once"),
            ("unordered", "in no order"),
            ("default", "with the default prefetch_bytes"),
        )
        for count in more
    ]
    roomy[0].work = f"{TITLE}: {more[0]}"
    return [*roomy, *beside, *bare]


def _lanes(count: int) -> str:
    return "1 lane" if count == 1 else f"{count:,} lanes"


def _row(found: Found, peer: tuple[str, int], ours: tuple[str, int], named: str, target: float | None = None) -> Row:
    pairs = list(zip(found[peer], found[ours], strict=True))
    return Row(
        f"the same: {ours[1]:,}",
        named,
        [theirs.seconds / own.seconds for theirs, own in pairs],
        target,
        by_cpu=[theirs.cpu_seconds / own.cpu_seconds for theirs, own in pairs],
    )
