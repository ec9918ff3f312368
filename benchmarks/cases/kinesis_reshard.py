"""A Kinesis stream that is resharded while it is written and read: nothing lost, nothing twice, no parent after its child."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from benchmarks.measure import Scale
from benchmarks.results import Result, Row
from streamiter import KinesisStreams, Stream
from streamiter.testing import KinesisHandle, Simulator

TITLE = "Kinesis: 8 shards to 16 to 4 under load, at the service's rates"
TICK_SECONDS = 0.05
RECORDS_A_TICK = 50


def run(scale: Scale) -> Result:
    """By the simulator's clock, with its rates of five reads and 2 MB a second for each shard: counts, not times."""
    ticks = scale.of(1_200, 60)
    with Simulator(table=None) as sim:
        sim.knobs.records_rate, sim.knobs.bytes_rate = 5, 2_000_000
        orders = sim.create_stream("orders")
        orders.shape(" ~ ".join(f"S{number}" for number in range(8)))
        came: list[Any] = []
        with Stream(KinesisStreams("orders", client=sim.client("kinesis")), clock=sim.clock) as stream:
            for tick in range(ticks):
                if tick in (ticks // 3, 2 * ticks // 3):
                    orders.reshard(16 if tick == ticks // 3 else 4)
                for number in range(RECORDS_A_TICK):
                    orders.put_by_key(f"{tick}-{number}", b"x" * 100)
                came += _take(stream)
                sim.clock.advance(TICK_SECONDS)
            while len(came) < len(orders.history) and sim.clock.monotonic() < ticks * TICK_SECONDS + 300:
                came += _take(stream)
                sim.clock.advance(TICK_SECONDS)
            stats = stream.stats
        wrong = _wrong(came, orders)
        written = len(orders.history)
        lawful = 1 - wrong / written
        unthrottled = 1 - stats.throttles / sum(stats.calls.values())
        return Result(
            [
                Row(TITLE, "records written: those that came once, and in order", [lawful], 1, is_count=True),
                Row("the same", "its calls: those that were not throttled", [unthrottled], 1, is_count=True),
            ],
            {"written": written, "came": len(came), "wrong": wrong, "late": stats.late, "calls": stats.calls},
            {"streamiter": {"streamiter": version("streamiter")}},
        )


def _take(stream: Stream[Any]) -> list[Any]:
    came = []
    while (record := next(stream)) is not None:
        came.append(record)
    return came


def _wrong(came: list[Any], orders: KinesisHandle) -> int:
    """Records that are lost, came twice, out of their shard's order, or before one of a parent's."""
    places: dict[tuple[str, str], int] = {}
    wrong = 0
    for place, record in enumerate(came):
        wrong += (record.shard_id, record.sequence_number) in places
        places.setdefault((record.shard_id, record.sequence_number), place)
    last: dict[str, int] = {}  # of each shard
    first: dict[str, int] = {}
    for written in orders.history:
        place_of = places.get((written.shard_id, written.sequence_number))
        if place_of is None or place_of < last.get(written.shard_id, 0):
            wrong += 1
            continue
        last[written.shard_id] = place_of
        first.setdefault(written.shard_id, place_of)
    ancestors = {shard_id: orders.shard(shard_id).parents for shard_id in first}
    for shard_id, parents in ancestors.items():
        wrong += sum(last.get(parent, -1) > first[shard_id] for parent in parents)
    return wrong
