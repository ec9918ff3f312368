"""What a client indoors gives is what boto3 gives over the wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import pytest
from botocore.exceptions import ClientError

from streamiter import DynamoDBStreams, KinesisStreams, Stream, TransientError
from streamiter.position import Horizon
from streamiter.testing import Simulator
from streamiter.testing.trouble.injected import REFUSALS
from tests.indoors import IndoorClient, IndoorSimulator, taking_turns
from tests.stream.helpers import assert_all_came, drain, write


class Both(NamedTuple):
    """A simulator's clients of one service, over the wire and indoors."""

    outdoors: Any
    indoors: IndoorClient

    def ask(self, operation: str, **asked: Any) -> list[dict[str, Any]]:
        """What each of them gives, or how it is refused; what tells the calls apart is left out."""
        return [told(partial(getattr(client, operation), **asked)) for client in self]


def told(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        answer = call()
    except ClientError as error:
        answer = dict(error.response)
        answer.pop("message", None)  # botocore tells it twice
    metadata = answer.pop("ResponseMetadata")
    names = ("date", "content-type", "content-length", "x-amz-crc32")
    return answer | {
        "status": metadata["HTTPStatusCode"],
        "headers": {name: metadata["HTTPHeaders"].get(name) for name in names if name != "content-length"},
    }


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator("S0 => {S1, S2}") as simulator:
        write(simulator, "S0", "S1", "S2")
        yield simulator


def both(sim: Simulator, service: str) -> Both:
    return Both(sim.client(service), IndoorClient(service, sim._reception))


def assert_same(answers: list[dict[str, Any]]) -> dict[str, Any]:
    first, second = answers
    assert first == second
    return first


def test_a_tables_stream_is_told_alike(sim: Simulator):
    streams, arn = both(sim, "dynamodbstreams"), sim.stream_arn
    assert_same(streams.ask("list_streams", TableName="users"))
    assert len(assert_same(streams.ask("describe_stream", StreamArn=arn))["StreamDescription"]["Shards"]) == 3
    assert_same(streams.ask("describe_stream", StreamArn=arn, Limit=1, ExclusiveStartShardId="S0"))
    opened = assert_same(
        streams.ask("get_shard_iterator", StreamArn=arn, ShardId="S0", ShardIteratorType="TRIM_HORIZON")
    )
    assert len(assert_same(streams.ask("get_records", ShardIterator=opened["ShardIterator"], Limit=2))["Records"]) == 2


def test_a_time_goes_over_alike(sim: Simulator):
    streams, now = both(sim, "dynamodbstreams"), sim.clock.now() - 2
    asked = {"StreamArn": sim.stream_arn, "ShardId": "S0", "ShardIteratorType": "AT_TIMESTAMP"}
    assert_same(streams.ask("get_shard_iterator", **asked, Timestamp=datetime.fromtimestamp(now, UTC)))
    assert [call.timestamp for call in sim.calls] == [now, now]


@pytest.mark.parametrize("kind", REFUSALS)
def test_refusals_are_told_alike(sim: Simulator, kind: str):
    sim.fault("DescribeStream", kind=kind, times=2)
    refused = assert_same(both(sim, "dynamodbstreams").ask("describe_stream", StreamArn=sim.stream_arn))
    assert refused["Error"]["Code"]
    assert refused["status"] >= 400


def test_a_page_of_a_proxys_is_told_alike(sim: Simulator):
    sim.fault("DescribeStream", kind="html", times=2)
    assert assert_same(both(sim, "dynamodbstreams").ask("describe_stream", StreamArn=sim.stream_arn))["status"] == 502


def test_tables_are_written_to_alike(sim: Simulator):
    tables = both(sim, "dynamodb")
    assert_same(tables.ask("put_item", TableName="users", Item={"id": {"S": "a"}, "n": {"B": b"\x00\xff"}}))
    assert_same(tables.ask("describe_table", TableName="users"))
    assert_same(tables.ask("describe_table", TableName="nothing"))


def test_a_kinesis_stream_is_told_alike(sim: Simulator):
    orders, kinesis = sim.create_stream("orders", "S0 ~ S1"), both(sim, "kinesis")
    orders.put("S0", b"\x00\xff", key="a")
    assert_same(kinesis.ask("describe_stream_summary", StreamName="orders"))
    assert len(assert_same(kinesis.ask("list_shards", StreamName="orders"))["Shards"]) == 2
    shard = {"StreamName": "orders", "ShardId": orders.shard_id("S0")}
    opened = assert_same(kinesis.ask("get_shard_iterator", **shard, ShardIteratorType="TRIM_HORIZON"))
    page = assert_same(kinesis.ask("get_records", ShardIterator=opened["ShardIterator"]))
    assert page["Records"][0]["Data"] == b"\x00\xff"
    assert_same(kinesis.ask("put_record", StreamName="nothing", PartitionKey="a", Data=b"1"))


@pytest.mark.parametrize("kind", ["cut", "reset", "bad_crc", "bad_json", "no_body", "html"])
def test_what_is_lost_on_its_way_may_be_asked_for_again(sim: Simulator, kind: str):
    for client in both(sim, "dynamodbstreams"):
        source = DynamoDBStreams(sim.stream_arn, client=client)
        opened = source.open_iterator("S0", Horizon())
        sim.fault("GetRecords", kind=kind)
        with pytest.raises(TransientError):
            source.fetch(opened, 1000)
        assert len(source.fetch(opened, 1000).records) == 3


def test_nothing_hangs_indoors():
    with IndoorSimulator("S1") as sim:
        sim.fault("DescribeStream", kind="hang")
        with pytest.raises(NotImplementedError, match="outdoors"):
            sim.client().describe_stream(StreamArn=sim.stream_arn)
        with pytest.raises(NotImplementedError, match="outdoors"):
            _ = sim.endpoint_url


# -- whole streams


WAYS = ((Simulator, nullcontext), (IndoorSimulator, taking_turns))


def test_a_stream_makes_the_same_calls_and_gives_the_same_records():
    keys, calls = [], []
    for kind, where in WAYS:
        with where(), kind("S0 => {S1, S2}") as sim:
            write(sim, "S0", "S1", "S2", rounds=5)
            sim.clock.advance(100)
            source = DynamoDBStreams(sim.stream_arn, client=sim.client())
            with Stream(source, clock=sim.clock, concurrency=1) as stream:
                records = drain(stream, sim.clock)
                assert_all_came(records, sim)
            keys.append([record.order_key for record in records])
            calls.append([(call.operation, call.shard, call.limit) for call in sim.calls])
    assert keys[0] == keys[1]
    assert calls[0] == calls[1]


def test_so_does_one_of_kinesis():
    told = []
    for kind, where in WAYS:
        with where(), kind(table=None) as sim:
            orders = sim.create_stream("orders", "S0")
            for number in range(5):
                orders.put("S0", b"%d" % number)
            with Stream(
                KinesisStreams("orders", client=sim.client("kinesis")), clock=sim.clock, concurrency=1
            ) as stream:
                records = drain(stream, sim.clock)
            told.append(([record.payload for record in records], [(call.operation, call.limit) for call in sim.calls]))
    assert told[0] == told[1]
