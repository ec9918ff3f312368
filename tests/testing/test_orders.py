from __future__ import annotations

import pytest

from streamiter.testing import Simulator
from streamiter.testing.shop.orders import Orders


@pytest.fixture(params=range(20))
def shop(request):
    """A table as the demo has it, at each of some seeds."""
    with Simulator(table="orders") as sim:
        orders = Orders(sim, request.param)
        orders.begin("S1", "S2")
        orders.write(5)
        orders.split("S2", "S3", "S4")
        orders.write(5)
        orders.split("S1", "S5")
        orders.write(4)
        yield sim


def test_every_shard_that_is_open_gets_something(shop):
    assert {record.shard_id for record in shop.history} == {"S1", "S2", "S3", "S4", "S5"}


def test_an_order_stays_in_one_line_of_shards(shop):
    lines = [("S1", "S5"), ("S2", "S3"), ("S2", "S4")]
    orders = {record.key["id"] for record in shop.history}
    for order in orders:
        shards = {record.shard_id for record in shop.history if record.key["id"] == order}
        assert any(shards <= set(line) for line in lines), order


def test_each_change_begins_where_the_one_before_ended(shop):
    rows: dict = {}
    for record in shop.history:
        order = record.key["id"]
        assert record.old == rows.get(order)
        assert record.event_name == ("REMOVE" if record.new is None else "INSERT" if record.old is None else "MODIFY")
        rows[order] = record.new


def test_the_third_order_is_mallorys(shop):
    customers = [record.new["customer"] for record in shop.history if record.event_name == "INSERT"]
    assert [place for place, customer in enumerate(customers) if "mallory" in customer] == [2]


def test_a_seed_says_it_all():
    told = []
    for seed in (3, 3, 4):
        with Simulator(table="orders") as sim:
            orders = Orders(sim, seed)
            orders.begin("S1", "S2")
            orders.write(20)
            told.append([(record.shard_id, record.created_us, record.key, record.new) for record in sim.history])
    assert told[0] == told[1] != told[2]
