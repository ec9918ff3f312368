"""The wire over a simulator: the caller's client stays as it was, also for others who use it meanwhile."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from botocore.config import Config

from streamiter import DynamoDBStreams, Stream
from streamiter.testing import Simulator
from tests.stream.helpers import assert_all_came, drain, write


@pytest.fixture
def users() -> Any:
    with Simulator("S1 ~ S2") as sim:
        write(sim, "S1", "S2", rounds=10)
        yield sim


@pytest.mark.parametrize("operation", ["GetRecords", "GetShardIterator", "DescribeStream"])
def test_a_wrong_checksum_is_retried(users: Simulator, operation: str):
    users.fault(operation, kind="bad_crc", times=3)
    with Stream(DynamoDBStreams(users.stream_arn, client=users.client()), clock=users.clock) as stream:
        assert_all_came(drain(stream, users.clock, quiet=20), users)
        assert stream.stats.retries == 3


def own_reading(sim: Simulator, client: Any) -> list[dict[str, Any]]:
    """What a user of the client reads with it."""
    iterator = client.get_shard_iterator(StreamArn=sim.stream_arn, ShardId="S1", ShardIteratorType="TRIM_HORIZON")
    return client.get_records(ShardIterator=iterator["ShardIterator"])["Records"]


def test_other_users_of_the_client_see_no_change(users: Simulator):
    client = users.client()
    untouched = own_reading(users, client)
    with Stream(DynamoDBStreams(users.stream_arn, client=client), clock=users.clock) as stream:
        next(stream)
        assert own_reading(users, client) == untouched
    assert own_reading(users, client) == untouched
    assert untouched[0]["dynamodb"]["NewImage"] == {"id": {"S": "1"}}


def test_nor_while_calls_of_ours_are_under_way_in_other_threads(users: Simulator):
    client = users.client(config=Config(max_pool_connections=20))
    untouched = own_reading(users, client)
    users.knobs.latency = 0.01
    seen: list[bool] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            seen.append(own_reading(users, client) == untouched)

    others = [threading.Thread(target=look) for _ in range(3)]
    for other in others:
        other.start()
    with Stream(DynamoDBStreams(users.stream_arn, client=client), clock=users.clock) as stream:
        assert_all_came(drain(stream, users.clock, quiet=8), users)
    over.set()
    for other in others:
        other.join()
    assert len(seen) > 3
    assert all(seen)


def test_two_streams_may_share_a_client(users: Simulator):
    client = users.client()
    with (
        Stream(DynamoDBStreams(users.stream_arn, client=client), clock=users.clock) as one,
        Stream(DynamoDBStreams(users.stream_arn, client=client), clock=users.clock) as other,
    ):
        assert_all_came(drain(one, users.clock, quiet=8), users)
        assert_all_came(drain(other, users.clock, quiet=8), users)


def test_an_image_is_decoded_when_it_is_read_and_once(users: Simulator):
    with Stream(DynamoDBStreams(users.stream_arn, client=users.client()), clock=users.clock) as stream:
        record = next(stream)
        assert record.new is record.new
        assert record["new"] is record.new
