"""Rates and the life of Kinesis iterators: what is paced, what is called again, what is renewed."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from streamiter.testing import KinesisHandle, Simulator
from tests.stream.helpers import drain
from tests.stream.kinesis.conftest import Open
from tests.stream.kinesis.history import assert_came, in_order, write


def rests(sim: Simulator) -> dict[str | None, float]:
    """The shortest time between two reads of each shard."""
    times: dict[str | None, list[float]] = defaultdict(list)
    for call in sim.calls.of("GetRecords"):
        times[call.shard].append(call.time)
    return {shard: min(b - a for a, b in zip(at, at[1:], strict=False)) for shard, at in times.items() if len(at) > 1}


def test_a_shard_is_never_read_more_than_five_times_a_second(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    sim.knobs.records_rate = 5
    sim.knobs.page_size = 1
    write(sim, orders, "S0", "S1", rounds=20)
    stream = open_stream()
    assert_came(drain(stream, sim.clock, step=0.05), in_order(orders))
    assert stream.stats.throttles == 0
    assert min(rests(sim).values()) >= 0.2 - 1e-5  # as floats tell seconds since 1970


def test_two_megabytes_a_second_are_paced(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    sim.knobs.bytes_rate = 2_000_000
    for _ in range(12):
        orders.put("S0", b"x" * 500_000)
    began = sim.clock.monotonic()
    stream = open_stream()
    assert_came(drain(stream, sim.clock, step=0.05, quiet=5), in_order(orders))
    assert stream.stats.throttles == 0
    assert sim.clock.monotonic() - began >= 2.5


def test_readers_that_share_a_shard_take_less(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    sim.knobs.page_size = 1
    write(sim, orders, "S0", "S1", rounds=10)
    assert_came(drain(open_stream(source={"reads_per_second": 2}), sim.clock), in_order(orders))
    assert min(rests(sim).values()) >= 0.5 - 1e-5


@pytest.mark.parametrize(
    "kind", ["throttle", "limit", "500", "503", "cut", "reset", "bad_json", "no_body", "html", "expired"]
)
@pytest.mark.parametrize("operation", ["GetRecords", "GetShardIterator", "ListShards"])
def test_faults_pass(sim: Simulator, orders: KinesisHandle, open_stream: Open, operation: str, kind: Any):
    if kind == "expired" and operation != "GetRecords":
        return
    write(sim, orders, "S0", "S1")
    sim.fault(operation, kind=kind, times=3)
    stream = open_stream()
    assert_came(drain(stream, sim.clock), in_order(orders))
    if operation == "GetRecords" and kind in ("throttle", "limit"):
        assert stream.stats.throttles == 3


def test_a_heartbeat_renews_what_lives_five_minutes(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0", "S1")
    stream = open_stream()
    came = drain(stream, sim.clock, quiet=5)
    for _ in range(20):
        sim.clock.advance(60)
        stream.heartbeat()
    write(sim, orders, "S0", "S1")
    assert_came(came + drain(stream, sim.clock), in_order(orders))
    assert sim.calls.total("GetRecords", outcome="ExpiredIteratorException") == 0


def test_a_listing_whose_token_expires_begins_anew(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    orders.reshard(8)
    sim.knobs.shards_per_page = 1
    sim.fault("ListShards", kind="expired", times=2, after=1)
    orders.put_by_key("a")
    assert_came(drain(open_stream(), sim.clock), in_order(orders))


def test_a_long_listing_does_not_wait_between_its_pages(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    orders.reshard(64)
    sim.knobs.shards_per_page = 1  # of DynamoDB's; Kinesis' are ten times as large
    orders.put_by_key("a")
    began = sim.clock.monotonic()
    assert open_stream().to_arrow(until="caught_up").num_rows == 1
    assert sim.calls.total("ListShards") > 25
    assert (
        sim.clock.monotonic() - began < 3
    )  # 2 s for the tip; pauses as between pages of DynamoDB's would take as long again
