"""Consumers of a Kinesis stream, as boto3 registers them, and the events that they are sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from streamiter.testing import KinesisHandle, Simulator
from tests.testing.readers import refused

IN_USE = "ResourceInUseException"
MISSING = "ResourceNotFoundException"


@pytest.fixture
def consumer(client: Any, orders: KinesisHandle) -> str:
    return register(client, orders, "reports")


def register(client: Any, orders: KinesisHandle, name: str) -> str:
    arn: str = client.register_stream_consumer(StreamARN=orders.arn, ConsumerName=name)["Consumer"]["ConsumerARN"]
    return arn


def subscribe(client: Any, consumer: str, shard_id: str, type_: str = "TRIM_HORIZON", **more: Any) -> Iterator[Any]:
    position = {"Type": type_, **more}
    answer = client.subscribe_to_shard(ConsumerARN=consumer, ShardId=shard_id, StartingPosition=position)
    with closing(answer["EventStream"]) as events:
        for event in events:
            yield event["SubscribeToShardEvent"]


def payloads(event: Any) -> list[bytes]:
    return [record["Data"] for record in event["Records"]]


def test_they_are_registered_described_listed_and_deregistered(sim: Simulator, client: Any, orders: KinesisHandle):
    made = client.register_stream_consumer(StreamARN=orders.arn, ConsumerName="b", Tags={"a": "1"})["Consumer"]
    assert made["ConsumerStatus"] == "CREATING"
    assert made["ConsumerARN"] == f"{orders.arn}/consumer/b:1750000000"
    told = client.describe_stream_consumer(StreamARN=orders.arn, ConsumerName="b")["ConsumerDescription"]
    assert (told["ConsumerStatus"], told["StreamARN"]) == ("ACTIVE", orders.arn)
    assert client.list_tags_for_resource(ResourceARN=made["ConsumerARN"])["Tags"] == [{"Key": "a", "Value": "1"}]
    register(client, orders, "a")
    first = client.list_stream_consumers(StreamARN=orders.arn, MaxResults=1)
    rest = client.list_stream_consumers(StreamARN=orders.arn, NextToken=first["NextToken"])
    assert [row["ConsumerName"] for row in first["Consumers"] + rest["Consumers"]] == ["a", "b"]
    assert client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["ConsumerCount"] == 2
    with refused(IN_USE):
        register(client, orders, "b")
    with refused(IN_USE):
        client.delete_stream(StreamName="orders")
    client.deregister_stream_consumer(ConsumerARN=made["ConsumerARN"])
    client.deregister_stream_consumer(StreamARN=orders.arn, ConsumerName="a")
    for missing in ({"ConsumerARN": made["ConsumerARN"]}, {"StreamARN": orders.arn, "ConsumerName": "a"}):
        with refused(MISSING):
            client.describe_stream_consumer(**missing)
    with refused("InvalidArgumentException"):
        client.describe_stream_consumer(ConsumerName="a")


def test_a_stream_has_twenty_at_most_five_of_them_creating(sim: Simulator, client: Any, orders: KinesisHandle):
    sim.knobs.enabling = 10
    for number in range(5):
        register(client, orders, f"{number}")
    with refused("LimitExceededException"):
        register(client, orders, "5")
    sim.knobs.enabling = 0
    sim.clock.advance(10)
    for number in range(5, 20):
        register(client, orders, f"{number}")
    with refused("LimitExceededException"):
        register(client, orders, "20")
    client.delete_stream(StreamName="orders", EnforceConsumerDeletion=True)
    assert client.list_streams()["StreamNames"] == []


def test_events_come_as_records_are_written_up_to_the_end(client: Any, orders: KinesisHandle, consumer: str):
    orders.put("S0", "a")
    events = subscribe(client, consumer, orders.shard_id("S0"))
    first = next(events)
    assert (payloads(first), first["MillisBehindLatest"]) == ([b"a"], 0)
    assert first["ContinuationSequenceNumber"] == orders.history[-1].sequence_number
    quiet = next(events)
    assert (payloads(quiet), quiet["ContinuationSequenceNumber"]) == ([], orders.history[-1].sequence_number)
    orders.put("S0", "b")
    children = orders.split("S0")
    rest = list(events)
    assert [payload for event in rest for payload in payloads(event)] == [b"b"]
    assert [child["ShardId"] for child in rest[-1]["ChildShards"]] == children
    assert "ContinuationSequenceNumber" not in rest[-1]


@pytest.mark.parametrize(
    "type_,found", [("AT_SEQUENCE_NUMBER", b"b"), ("AFTER_SEQUENCE_NUMBER", b"c"), ("AT_TIMESTAMP", b"b")]
)
def test_they_begin_where_they_are_told(
    sim: Simulator, client: Any, orders: KinesisHandle, consumer: str, type_: str, found: bytes
):
    for text in "abc":
        orders.put("S0", text)
        sim.clock.advance(1)
    record = orders.history[1]
    place = (
        {"Timestamp": record.written_us / 1e6}
        if type_ == "AT_TIMESTAMP"
        else {"SequenceNumber": record.sequence_number}
    )
    assert payloads(next(subscribe(client, consumer, orders.shard_id("S0"), type_, **place)))[0] == found


def test_a_quiet_shard_is_gone_on_with_at_its_own_number(
    sim: Simulator, client: Any, orders: KinesisHandle, consumer: str
):
    events = subscribe(client, consumer, orders.shard_id("S0"))
    number = next(events)["ContinuationSequenceNumber"]
    orders.put("S0", "a")
    sim.clock.advance(5)
    again = subscribe(client, consumer, orders.shard_id("S0"), "AFTER_SEQUENCE_NUMBER", SequenceNumber=number)
    assert payloads(next(again)) == [b"a"]


def test_it_ends_after_five_minutes(sim: Simulator, client: Any, orders: KinesisHandle, consumer: str):
    events = subscribe(client, consumer, orders.shard_id("S0"))
    next(events)
    sim.clock.advance(minutes=5)
    assert [payloads(event) for event in events] == []


def test_another_one_takes_its_place_after_five_seconds(
    sim: Simulator, client: Any, orders: KinesisHandle, consumer: str
):
    events = subscribe(client, consumer, orders.shard_id("S0"))
    next(events)
    with refused(IN_USE):
        next(subscribe(client, consumer, orders.shard_id("S0")))
    next(subscribe(client, consumer, orders.shard_id("S1")))
    next(subscribe(client, register(client, orders, "other"), orders.shard_id("S0")))
    sim.clock.advance(5)
    next(subscribe(client, consumer, orders.shard_id("S0")))
    with pytest.raises(Exception, match=IN_USE):
        list(events)


def test_it_ends_with_its_stream_and_with_its_consumer(client: Any, orders: KinesisHandle, consumer: str):
    events = subscribe(client, consumer, orders.shard_id("S0"))
    next(events)
    client.deregister_stream_consumer(ConsumerARN=consumer)
    with pytest.raises(Exception, match=MISSING):
        list(events)
    for wrong in (consumer, f"{orders.arn}/consumer/none:1"):
        with refused(MISSING):
            next(subscribe(client, wrong, orders.shard_id("S0")))


def test_what_cannot_be_subscribed_to_is_refused(sim: Simulator, client: Any, orders: KinesisHandle, consumer: str):
    with refused(MISSING):
        next(subscribe(client, consumer, "shardId-000000000009"))
    with refused("InvalidArgumentException"):
        next(subscribe(client, consumer, orders.shard_id("S0"), "AT_SEQUENCE_NUMBER"))
    sim.knobs.enabling = 10
    young = register(client, orders, "young")
    with refused(IN_USE):
        next(subscribe(client, young, orders.shard_id("S0")))
