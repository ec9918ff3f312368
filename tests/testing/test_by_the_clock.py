"""By the clock: rolls, splits under load, deletes by time to live, each at its own moment, whoever looks when."""

from __future__ import annotations

import itertools

import pytest

from streamiter.testing import RunningClock, Simulator
from streamiter.testing.clock import START
from streamiter.testing.truth.streams import SimulatedStream
from tests.testing.readers import refused
from tests.testing.tables import Orders

HOUR = 3600


@pytest.fixture
def sim():
    with Simulator(table=None, ids="service") as simulator:
        yield simulator


def test_a_shard_rolls_every_four_hours(sim, orders):
    sim.clock.advance(hours=4 - 1 / 3600)
    assert len(orders.shards()) == 1
    sim.clock.advance(1)
    assert len(orders.shards()) == 2
    sim.clock.advance(hours=13)
    shards = orders.shards()
    assert len(shards) == 5
    assert [child["ParentShardId"] for child in shards[1:]] == [parent["ShardId"] for parent in shards[:-1]]
    assert [shard["ShardId"][8:28] for shard in shards] == [
        f"{int((START + 4 * HOUR * number) * 1000) + number:020d}" for number in range(5)
    ], "each at its time, though nobody looked"


def test_how_often_it_rolls_is_a_knob(sim, orders):
    sim.knobs.roll_after = None
    sim.clock.advance(hours=20)
    assert len(orders.shards()) == 1
    sim.knobs.roll_after = 24 * HOUR
    sim.clock.advance(hours=4)
    assert len(orders.shards()) == 2


def test_a_call_takes_no_longer_for_the_tables_that_there_are(sim, orders, monkeypatch):
    looks: list[int] = []
    theirs = SimulatedStream.oldest_open_us.fget
    assert theirs is not None
    monkeypatch.setattr(SimulatedStream, "oldest_open_us", property(lambda own: looks.append(1) or theirs(own)))
    sim.clock.advance(hours=4)
    assert len(orders.shards()) == 2
    looked = len(looks)
    for number in range(10):
        sim.clock.advance(minutes=20)
        orders.put(str(number))
    assert len(looks) == looked, "nothing was due"
    sim.clock.advance(hours=1)
    assert len(orders.shards()) == 3


def test_a_shard_that_was_opened_while_the_clock_was_set_back_rolls_in_time(sim, orders):
    table = sim.table("orders")
    sim.clock.set(START - 10 * HOUR)
    [child] = table.roll()
    sim.clock.set(START - 6 * HOUR)
    assert len(table.open_shards) == 1
    assert table.open_shards != [child]


def test_what_a_test_laid_out_stays_as_it_is():
    with Simulator("S0") as sim:
        sim.clock.advance(hours=20)
        assert sim.open_shards == ["S0"]


def test_a_disabled_stream_does_not_roll(sim, orders):
    orders.specify(StreamEnabled=False)
    sim.clock.advance(hours=20)
    assert len(orders.shards()) == 1


def test_old_shards_leave_and_open_ones_stay(sim, orders):
    sim.clock.advance(hours=48)
    assert len(orders.shards()) == 7, "of the last day, and the one that is open"


def test_keys_stay_within_their_lineage(sim, orders):
    sim.knobs.roll_after = HOUR
    for turn in range(4):
        for number in range(10):
            orders.put(str(number), turn={"N": str(turn)})
        sim.clock.advance(hours=1)
        if turn < 2:
            sim.table("orders").split(sim.table("orders").open_shards[0])
    parents = {shard["ShardId"]: shard.get("ParentShardId") for shard in orders.shards()}

    def lineage(shard: str | None) -> list[str]:
        return [] if shard is None else [shard, *lineage(parents.get(shard))]

    for number in range(10):
        ways = [record.shard_id for record in sim.table("orders").history if record.key == {"id": str(number)}]
        assert len(ways) == 4
        assert all(earlier in lineage(later) for earlier, later in itertools.pairwise(ways))
    assert len({record.shard_id for record in sim.table("orders").history[-10:]}) > 1


def test_a_shard_splits_under_load(sim, orders):
    sim.knobs.split_rate = 10
    for number in range(10):
        orders.put(str(number))
    assert len(orders.shards()) == 1
    sim.clock.advance(1)
    for number in range(11):
        orders.put(f"again {number}")
    first, *children = orders.shards()
    assert [child["ParentShardId"] for child in children] == [first["ShardId"]] * 2
    assert "EndingSequenceNumber" in first["SequenceNumberRange"]
    sim.clock.advance(1)
    orders.put("calm")
    assert len(orders.shards()) == 3


# -- time to live


def enable(orders: Orders, is_on: bool = True, name: str = "end") -> None:
    orders.tables.update_time_to_live(
        TableName="orders", TimeToLiveSpecification={"Enabled": is_on, "AttributeName": name}
    )


def test_an_item_is_deleted_when_its_time_ends(sim, orders):
    enable(orders)
    orders.live_until(START + 100.0)
    sim.clock.advance(99)
    assert orders.events() == [("INSERT", "ends")]
    sim.clock.advance(1)
    assert orders.tables.scan(TableName="orders")["Count"] == 0
    remove = orders.records()[1]
    assert remove["eventName"] == "REMOVE"
    assert remove["userIdentity"] == {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    assert remove["dynamodb"]["OldImage"]["end"] == {"N": str(int(START + 100))}
    assert sim.table("orders").history[-1].user_identity is not None


def test_a_delete_by_hand_has_no_identity(sim, orders):
    enable(orders)
    orders.live_until(START + 100.0)
    orders.delete("ends")
    sim.clock.advance(200)
    assert [record.get("userIdentity") for record in orders.records()] == [None, None]


def test_only_the_last_end_counts(sim, orders):
    enable(orders)
    orders.live_until(START + 100.0)
    orders.live_until(START + 500.0)
    orders.live_until(START + 100.0, "other")
    orders.put("other")
    sim.clock.advance(499)
    assert orders.tables.scan(TableName="orders")["Count"] == 2
    sim.clock.advance(1)
    assert orders.events()[-1] == ("REMOVE", "ends")


def test_ends_come_in_their_order_between_rolls(sim, orders):
    enable(orders)
    for hours in (9, 1, 5):
        orders.live_until(START + hours * 3600.0, f"{hours} h")
    sim.clock.advance(hours=10)
    removals = [record for record in orders.sim.table("orders").history if record.event_name == "REMOVE"]
    assert [record.key["id"] for record in removals] == ["1 h", "5 h", "9 h"]
    assert [record.created for record in removals] == [START + hours * 3600 for hours in (1, 5, 9)]
    shards = [shard["ShardId"] for shard in orders.shards()]
    assert [shards.index(record.shard_id) for record in removals] == [0, 1, 2]


def test_items_that_were_there_before_end_too_but_not_those_of_long_ago(sim, orders):
    orders.live_until(START - 10.0, "past")
    orders.live_until(START - 6 * 365 * 86400.0, "long ago")
    orders.live_until("1750000000000", "in milliseconds")
    orders.put("text", end={"S": "1"})
    enable(orders)
    assert [key for event, key in orders.events() if event == "REMOVE"] == ["past"]


def test_deletes_may_come_late(sim, orders):
    sim.knobs.ttl_delay = 48 * HOUR
    enable(orders)
    orders.live_until(START + 100.0)
    sim.clock.advance(hours=48)
    assert orders.tables.scan(TableName="orders")["Count"] == 1
    sim.clock.advance(100)
    assert orders.tables.scan(TableName="orders")["Count"] == 0


def test_it_is_enabled_once_by_one_attribute(orders):
    assert describe(orders) == {"TimeToLiveStatus": "DISABLED"}
    with refused("ValidationException", match="already disabled"):
        enable(orders, is_on=False)
    enable(orders)
    assert describe(orders) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "end"}
    with refused("ValidationException", match="already enabled"):
        enable(orders)
    with refused("ValidationException", match="different AttributeName"):
        enable(orders, name="other")
    enable(orders, is_on=False)
    orders.live_until(START - 10.0)
    assert orders.events() == [("INSERT", "ends")]


def describe(orders: Orders) -> dict:
    return orders.tables.describe_time_to_live(TableName="orders")["TimeToLiveDescription"]


def test_time_can_fly():
    with Simulator(table=None, ids="service", clock=RunningClock(speed=1e6)) as sim:
        orders = Orders(sim)
        while len(orders.shards()) == 1:
            pass
        with pytest.raises(ValueError, match="speed"):
            RunningClock(speed=0)
