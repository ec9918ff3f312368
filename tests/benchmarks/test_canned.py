"""The canned server speaks the service's protocol: boto3 reads it, and its bytes are what the benchmarks say they are."""

from __future__ import annotations

import zlib
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.config import Config

from benchmarks.canned.backlog import BASE, PER_SECOND, Backlog, deal
from benchmarks.canned.process import Canned, canned
from benchmarks.readers.worker import CREDENTIALS


@pytest.fixture(scope="module")
def server():
    with canned(2_500, 1, 3) as running:
        yield running


@pytest.fixture
def client(server):
    with closing(make_client(server)) as client:
        yield client


def make_client(server: Canned):
    session: Any = boto3.session.Session(**CREDENTIALS)
    client = session.client("dynamodbstreams", endpoint_url=server.endpoint_url, config=Config(proxies={}))
    heard: list[tuple[bytes, dict]] = []
    client.meta.events.register("before-parse", lambda response_dict, **_: heard.append(response_dict))
    client.heard = heard
    return client


def open_shard(client, server: Canned, shards: int, number: int = 0) -> str:
    described = client.describe_stream(StreamArn=server.arn(shards))["StreamDescription"]
    return client.get_shard_iterator(
        StreamArn=server.arn(shards),
        ShardId=described["Shards"][number]["ShardId"],
        ShardIteratorType="TRIM_HORIZON",
    )["ShardIterator"]


def test_pages_are_full_and_an_open_shard_goes_on(client, server):
    iterator = open_shard(client, server, 1)
    sizes = []
    for _ in range(4):
        page = client.get_records(ShardIterator=iterator)
        sizes.append(len(page["Records"]))
        iterator = page["NextShardIterator"]
    assert sizes == [1000, 1000, 500, 0]


def test_a_limit_is_kept(client, server):
    page = client.get_records(ShardIterator=open_shard(client, server, 1), Limit=7)
    again = client.get_records(ShardIterator=page["NextShardIterator"], Limit=3)
    places = [int(row["dynamodb"]["SequenceNumber"]) for row in page["Records"] + again["Records"]]
    assert len(places) == 10
    assert places == sorted(set(places))


def test_an_answer_has_its_checksum_and_its_date(client, server):
    server.control(now=BASE + 5000)
    client.get_records(ShardIterator=open_shard(client, server, 1))
    answer = client.heard[-1]
    assert answer["headers"]["x-amz-crc32"] == str(zlib.crc32(answer["body"]))
    assert answer["headers"]["date"] == datetime.fromtimestamp(BASE + 5000, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")


def test_a_record_is_a_change_as_the_service_tells_it(client, server):
    row = client.get_records(ShardIterator=open_shard(client, server, 1))["Records"][1]
    assert (row["eventName"], row["eventSource"], row["eventVersion"]) == ("MODIFY", "aws:dynamodb", "1.1")
    change = row["dynamodb"]
    assert change["ApproximateCreationDateTime"] == datetime.fromtimestamp(BASE, UTC)
    assert change["Keys"] == {"id": {"S": "user-00000001"}}
    assert change["NewImage"]["visits"] == {"N": "102"}
    assert change["OldImage"]["visits"] == {"N": "101"}
    assert change["StreamViewType"] == "NEW_AND_OLD_IMAGES"


@pytest.mark.parametrize("size", [575, 1_150, 9_200])
def test_each_record_has_the_size_that_was_asked_for(size):
    backlog = Backlog(PER_SECOND + 60, size)
    for place in range(len(backlog)):
        assert len(backlog.page(range(place, place + 1))) == size - 1  # and a comma


def test_lanes_share_the_backlog_evenly():
    hands = deal(1_000, 8)
    assert sorted(place for hand in hands for place in hand) == list(range(1_000))
    assert {len(hand) for hand in hands} == {125}
    assert all(list(hand) == sorted(hand) for hand in hands)
    assert len({hand[1] % 8 for hand in hands}) > 1


def test_a_page_of_scattered_records_is_the_records(client, server):
    whole = client.get_records(ShardIterator=open_shard(client, server, 1))["Records"]
    scattered = client.get_records(ShardIterator=open_shard(client, server, 3))["Records"]
    told = {row["eventID"]: row for row in whole}
    shared = [row for row in scattered if row["eventID"] in told]
    assert len(shared) > 300
    assert all(told[row["eventID"]] == row for row in shared)


def test_calls_are_counted(client, server):
    server.control(reset=True)
    open_shard(client, server, 3)
    assert server.control(reset=True)["calls"] == {"DescribeStream": 1, "GetShardIterator": 1}
    assert server.control()["calls"] == {}


def test_shards_roll_at_a_word():
    with ExitStack() as stack:
        server = stack.enter_context(canned(4, 2, rolls=True))
        client = stack.enter_context(closing(make_client(server)))
        before = client.describe_stream(StreamArn=server.arn(2))["StreamDescription"]["Shards"]
        iterator = open_shard(client, server, 2)
        iterator = client.get_records(ShardIterator=iterator)["NextShardIterator"]
        server.control(roll=True)
        assert "NextShardIterator" not in client.get_records(ShardIterator=iterator)
        after = client.describe_stream(StreamArn=server.arn(2))["StreamDescription"]["Shards"]
        assert [row.get("ParentShardId") for row in after] == [None, None, *(row["ShardId"] for row in before)]
        assert ["EndingSequenceNumber" in row["SequenceNumberRange"] for row in after] == [True, True, False, False]


def test_listings_come_in_pages_of_a_hundred():
    with ExitStack() as stack:
        server = stack.enter_context(canned(0, 230))
        client = stack.enter_context(closing(make_client(server)))
        sizes: list[int] = []
        after: dict[str, str] = {}
        while True:
            told = client.describe_stream(StreamArn=server.arn(230), **after)["StreamDescription"]
            sizes.append(len(told["Shards"]))
            if "LastEvaluatedShardId" not in told:
                break
            after = {"ExclusiveStartShardId": told["LastEvaluatedShardId"]}
        assert sizes == [100, 100, 30]
