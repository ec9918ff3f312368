from __future__ import annotations

import pytest

from streamiter import DynamoDBStreams, Stream
from streamiter.demo.law import lawful_order
from streamiter.testing import Simulator
from tests.oracle import expected


class Truth:
    def __init__(self, record):
        self.number, self.created_us = record.number, record.created_us


class Shard:
    def __init__(self, parents, records):
        self.parents, self.records = parents, records


@pytest.fixture
def sim():
    with Simulator() as sim:
        yield sim


def parents_of(sim, shards):
    return {shard: sim.shard(shard).parent_id for shard in shards}


def test_time_first_then_rank_and_never_before_a_parent(sim):
    sim.shape("S1 ~ S2")
    second = sim.put("S2", created=100)
    first = sim.put("S1", created=100)
    sim.split("S2", "S0", "S3")
    child = sim.put("S0", created=50)  # its parent's time is its floor, its parent's rank its least
    last = sim.put("S3", created=101)
    order = lawful_order(sim.history, parents_of(sim, ["S0", "S1", "S2", "S3"]))
    assert order == [(record.shard_id, record.sequence_number) for record in (first, second, child, last)]


def test_a_shard_is_never_sorted_again(sim):
    sim.shape("S1")
    records = [sim.put("S1", created=created) for created in (30, 10, None, 20, 40)]
    assert lawful_order(sim.history, {"S1": None}) == [("S1", record.sequence_number) for record in records]


def test_a_floor_comes_down_past_an_empty_shard(sim):
    sim.shape("S9 => S2 => S3 ~ S1")
    above = sim.put("S9", created=100)
    between = sim.put("S1", created=99)
    below = sim.put("S3", created=1)
    order = lawful_order(sim.history, parents_of(sim, ["S1", "S2", "S3", "S9"]))
    assert order == [(record.shard_id, record.sequence_number) for record in (between, above, below)]


def test_it_says_what_the_oracle_and_a_stream_say(sim):
    sim.shape("S2 => {S3, S1}; S3 => S5; S4")
    for place in range(40):
        for shard in ("S2", "S4", "S3", "S1", "S5"):
            if shard == "S4" or place // 10 == {"S2": 0, "S3": 1, "S1": 1, "S5": 2}[shard]:
                sim.put(shard, created=1000 + place * 7 % 11 + place // 3)
    shards = {name: sim.shard(name) for name in ("S1", "S2", "S3", "S4", "S5")}
    truth = {
        name: Shard((shard.parent_id,) if shard.parent_id else (), [Truth(record) for record in shard.records])
        for name, shard in shards.items()
    }
    history = sorted(sim.history, key=lambda record: ["S2", "S3", "S5", "S1", "S4"].index(record.shard_id))
    order = lawful_order(history, parents_of(sim, shards))
    assert order == [
        (found.shard, shards[found.shard].records[found.index].sequence_number) for found in expected(truth)
    ]
    client = sim.client()
    with Stream(DynamoDBStreams(sim.stream_arn, client=client), clock=sim.clock) as stream:
        read = [record for batch in stream.batches(100, until="caught_up") for record in batch]
    client.close()
    assert order == [(record.shard_id, record.sequence_number) for record in read]
