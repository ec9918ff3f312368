"""Control: what tests in other languages do to the simulator, over HTTP."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from streamiter.testing import Simulator
from tests.testing.readers import get, iterator, refused
from tests.testing.tables import Orders


@pytest.fixture
def sim():
    with Simulator(table=None, ids="service") as simulator:
        yield simulator


def ask(sim: Simulator, operation: str, **body: Any) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(sim.endpoint_url.removeprefix("http://"), timeout=60)
    connection.request("POST", "/", json.dumps(body), {"X-Amz-Target": f"Simulator.{operation}"})
    answer = connection.getresponse()
    try:
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_time_is_advanced(sim):
    before = sim.clock.now()
    assert ask(sim, "Advance", Seconds=18000) == (200, {"Now": before + 18000})
    assert ask(sim, "Advance", Seconds=-1)[0] == 400


@pytest.mark.parametrize("seconds", [1e300, 10**30, 11 * 366 * 86400])
def test_time_is_not_advanced_further_than_shards_can_roll(sim, seconds):
    Orders(sim)
    assert ask(sim, "Advance", Seconds=seconds)[0] == 400
    assert ask(sim, "Advance", Seconds=366 * 86400)[0] == 200
    assert len(sim.table("orders").open_shards) == 1


def test_shards_split_roll_and_are_trimmed(sim):
    orders = Orders(sim)
    orders.put("a")
    status, answer = ask(sim, "Split", TableName="orders")
    assert (status, len(answer["ShardIds"])) == (200, 2)
    assert ask(sim, "Roll", TableName="orders", ShardId=answer["ShardIds"][0])[0] == 200
    assert len(orders.shards()) == 4
    assert ask(sim, "Roll", TableName="orders")[1]["ShardIds"]
    assert ask(sim, "Trim", TableName="orders") == (200, {})
    assert orders.records() == []


def test_faults_and_weather_come_and_go(sim):
    orders = Orders(sim)
    assert ask(sim, "Fault", Kind="throttle", Operation="DescribeStream", Times=None) == (200, {})
    with refused("ThrottlingException"):
        orders.shards()
    assert ask(sim, "Heal") == (200, {})
    assert ask(sim, "Misbehave", Seed=3, Chances={"throttles": 1.0}) == (200, {})
    assert sim.knobs.weather is not None
    with pytest.raises(ClientError, match=r"Rate exceeded|hroughput"):
        orders.tables.scan(TableName="orders")
    ask(sim, "Heal")
    assert orders.shards()


@pytest.mark.parametrize(
    "operation,body,words",
    [
        ("Advance", {}, "Seconds"),
        ("Advance", {"Seconds": "many"}, "Seconds"),
        ("Advance", {"Hours": 1, "Seconds": 1}, "Hours"),
        ("Fault", {"Kind": "thunder"}, "thunder"),
        ("Split", {"TableName": "nobody"}, "nobody"),
        ("Explode", {}, "Advance, Roll"),
    ],
)
def test_what_cannot_be_done_is_refused(sim, operation, body, words):
    status, answer = ask(sim, operation, **body)
    assert status == 400
    assert words in answer["message"]


def test_a_fault_does_not_meet_it(sim):
    sim.fault(kind="500", times=None)
    assert ask(sim, "Heal") == (200, {})


def test_a_shard_may_be_named_as_the_test_names_it():
    with Simulator("S0") as sim:
        sim.put("S0", key="a")
        ask(sim, "Trim", TableName="users", ShardId="S0")
        assert get(sim, iterator(sim, "S0"))["Records"] == []
