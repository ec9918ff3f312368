"""Kinesis through Stream: records in order over splits and merges, and tokens taken while shards change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamiter.testing import KinesisHandle, Simulator
from tests.stream.helpers import drain, take
from tests.stream.kinesis.conftest import Open
from tests.stream.kinesis.history import assert_came, assert_lawful, in_order, write


@pytest.mark.parametrize("tells", [True, False], ids=["with ChildShards", "by listings alone"])
def test_records_come_in_order_over_splits_and_merges(sim: Simulator, orders: KinesisHandle, open_stream: Open, tells):
    sim.knobs.tells_children = tells
    write(sim, orders, "S0", "S1")
    orders.split("S0", "S2", "S3")
    write(sim, orders, "S2", "S3", "S1")
    orders.merge("S3", "S1", "S4")
    write(sim, orders, "S2", "S4")
    assert_came(drain(open_stream(), sim.clock), in_order(orders))


def test_the_end_of_a_shard_tells_of_its_children_without_a_listing(
    sim: Simulator, orders: KinesisHandle, open_stream: Open
):
    write(sim, orders, "S0", "S1")
    stream = open_stream()
    came = drain(stream, sim.clock, quiet=3)
    orders.split("S0", "S2", "S3")
    orders.hide("S2", "S3")
    write(sim, orders, "S2", "S3", "S1")
    came += take(stream, sim.clock, 12, within=5)
    assert_came(came, in_order(orders))


def test_a_child_waits_for_both_parents(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    write(sim, orders, "S0", "S1", every=0)
    orders.merge("S0", "S1", "S2")
    write(sim, orders, "S2", every=0)
    sim.fault("GetRecords", "S1", kind="500", times=None)
    stream = open_stream(patience=1000, lateness=None)
    assert_lawful(drain(stream, sim.clock, quiet=20), orders, once=False)
    assert not sim.calls.of("GetShardIterator", shard="S2")
    sim.heal()
    rest = drain(stream, sim.clock)
    assert len(rest) == 8
    assert {record.shard_id for record in rest[4:]} == {orders.shard_id("S2")}


def test_one_parent_is_long_gone(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    """S0 was trimmed and is listed no more: S2 names it, and waits for S1 alone."""
    write(sim, orders, "S0", "S1")
    orders.merge("S0", "S1", "S2")
    write(sim, orders, "S2")
    orders.remove("S0")
    assert_came(drain(open_stream(), sim.clock), in_order(orders, absent=["S0"]))


def test_a_parent_that_listings_lack_is_waited_for(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    """S0's end tells of S2, which names S1: as long as nobody lists S1, nothing of S2 comes out."""
    write(sim, orders, "S0", "S1")
    orders.merge("S0", "S1", "S2")
    write(sim, orders, "S2")
    orders.hide("S1", passes=2)
    assert_came(drain(open_stream(), sim.clock), in_order(orders))


@pytest.mark.parametrize("tells", [True, False], ids=["with ChildShards", "by listings alone"])
def test_splits_and_merges_while_a_token_is_out(sim: Simulator, orders: KinesisHandle, open_stream: Open, tells):
    sim.knobs.tells_children = tells
    write(sim, orders, "S0", "S1")
    first = open_stream()
    came = take(first, sim.clock, 5)
    token = json.loads(json.dumps(first.token))
    first.close()
    orders.split("S0", "S2", "S3")
    write(sim, orders, "S1", "S2", "S3")
    orders.merge("S2", "S3", "S4")
    orders.merge("S4", "S1", "S5")
    write(sim, orders, "S5")
    assert_came(came + drain(open_stream(token), sim.clock), in_order(orders))


def test_a_token_between_two_parents_of_a_merge(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    """S0 is finished, S1 is not: the token knows the floors of both when S2 begins."""
    orders.put("S0", "late", created=sim.clock.now() + 50)
    write(sim, orders, "S1", rounds=3)
    orders.merge("S0", "S1", "S2")
    write(sim, orders, "S2", rounds=2)
    sim.clock.advance(100)
    wanted = in_order(orders)
    for cut in range(len(wanted) + 1):
        first = open_stream()
        came = take(first, sim.clock, cut)
        assert_came(came + drain(open_stream(first.token), sim.clock), wanted)
        first.close()


def test_reshard_up_and_down_under_load(sim: Simulator, orders: KinesisHandle, open_stream: Open):
    sim.knobs.records_rate, sim.knobs.bytes_rate = 5, 2_000_000
    sim.create_stream("other")
    stream = open_stream()
    came: list[Any] = []
    for round_ in range(60):
        if round_ in (10, 30, 45):
            orders.reshard({10: 8, 30: 3, 45: 5}[round_])
        for number in range(10):
            orders.put_by_key(f"{round_}-{number}", f"{round_}-{number}")
        sim.clock.advance(0.2)
        while (record := next(stream)) is not None:
            came.append(record)
    came += drain(stream, sim.clock)
    assert_lawful(came, orders)
    assert stream.stats.throttles == 0
    assert stream.stats.late == 0
