"""Streams that distribute records by themselves (AUTO): what was put without a partition key has none when it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from streamiter import KinesisStreams, Stream
from streamiter.testing import Simulator, change_payload
from tests.indoors import IndoorSimulator
from tests.stream.helpers import drain
from tests.testing.readers import refused

AUTO = {"StreamModeDetails": {"StreamMode": "ON_DEMAND"}, "RecordDistributionStrategy": "AUTO"}


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with IndoorSimulator(table=None) as simulator:
        yield simulator


@pytest.fixture
def client(sim: Simulator) -> Any:
    client = sim.client("kinesis")
    client.create_stream(StreamName="orders", **AUTO)
    return client


def opened(sim: Simulator, **options: Any) -> Stream[Any]:
    return Stream(KinesisStreams("orders", client=sim.client("kinesis"), **options), clock=sim.clock)


def test_records_without_a_key_come_with_those_that_have_one(sim: Simulator, client: Any):
    client.put_record(StreamName="orders", Data=b"1")
    client.put_records(StreamName="orders", Records=[{"Data": b"2"}, {"Data": b"3", "PartitionKey": "ann"}])
    with opened(sim) as stream:
        records = sorted(drain(stream, sim.clock), key=lambda record: record.payload)
    assert [(record.payload, record.partition_key) for record in records] == [(b"1", None), (b"2", None), (b"3", "ann")]
    assert records[0]["partition_key"] is None
    with opened(sim) as stream:
        table = stream.to_arrow(until="caught_up")
    assert sorted(table["partition_key"].to_pylist(), key=str) == [None, None, "ann"]


def test_they_are_spread_over_the_shards(sim: Simulator, client: Any):
    shards = {client.put_record(StreamName="orders", Data=b"x", PartitionKey="ann")["ShardId"] for _ in range(8)}
    assert len(shards) == 4


def test_changes_without_a_key_are_changes(sim: Simulator, client: Any):
    change = change_payload({"id": "a"}, {"id": "a"}, created_us=round(sim.clock.now() * 1e6), event_id=1)
    client.put_record(StreamName="orders", Data=change)
    with opened(sim, records="dynamodb") as stream:
        [record] = drain(stream, sim.clock)
    assert (record.key, record.partition_key) == ({"id": "a"}, None)


def test_elsewhere_a_key_is_required(sim: Simulator):
    client = sim.client("kinesis")
    client.create_stream(StreamName="orders", ShardCount=1)
    with refused("ValidationException", "partitionKey"):
        client.put_record(StreamName="orders", Data=b"1")
    with refused("ValidationException", "partitionKey"):
        client.put_records(StreamName="orders", Records=[{"Data": b"1", "PartitionKey": "a"}, {"Data": b"2"}])
    with refused("InvalidArgumentException", "ON_DEMAND"):
        client.create_stream(StreamName="others", ShardCount=1, RecordDistributionStrategy="AUTO")
    with opened(sim) as stream:
        assert drain(stream, sim.clock) == [], "a batch is refused whole"


def test_a_description_tells_the_mode_and_the_strategy(sim: Simulator, client: Any):
    told = client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]
    assert told["StreamModeDetails"] == {"StreamMode": "ON_DEMAND"}
    assert told["RecordDistributionStrategy"] == "AUTO"
    client.create_stream(StreamName="plain", ShardCount=1)
    told = client.describe_stream_summary(StreamName="plain")["StreamDescriptionSummary"]
    assert told["StreamModeDetails"] == {"StreamMode": "PROVISIONED"}
    assert "RecordDistributionStrategy" not in told
