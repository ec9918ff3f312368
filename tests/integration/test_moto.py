"""Against moto: one everlasting shard, no time in its listings; a smoke test, in this process."""

from __future__ import annotations

import boto3
import pytest

from streamiter import DynamoDBStreams, Stream
from streamiter.testing import ManualClock


def read(stream: Stream) -> list:
    return [record for batch in stream.batches(10, until="caught_up") for record in batch]


def fill(client) -> None:
    for number in range(25):
        client.put_item(TableName="users", Item={"id": {"S": str(number)}, "n": {"N": str(number)}})
    client.delete_item(TableName="users", Key={"id": {"S": "3"}})


def check(stream: Stream) -> None:
    records = read(stream)
    assert [record.event_name for record in records] == ["INSERT"] * 25 + ["REMOVE"]
    assert [record.new["n"] for record in records[:-1]] == list(range(25))
    assert records[-1].old == {"id": "3", "n": 3}
    assert read(stream) == []


@pytest.mark.parametrize("by", ["name", "arn"])
def test_a_mocked_table_is_read_and_resumed(by: str):
    from moto import mock_aws

    with mock_aws():
        tables = boto3.client("dynamodb", region_name="us-east-1")
        tables.create_table(
            TableName="users",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        fill(tables)
        name = "users" if by == "name" else tables.describe_table(TableName="users")["Table"]["LatestStreamArn"]
        with Stream(DynamoDBStreams(name, region="us-east-1"), clock=ManualClock()) as stream:
            check(stream)
            token = stream.token
        tables.put_item(TableName="users", Item={"id": {"S": "new"}})
        with Stream(DynamoDBStreams(name, region="us-east-1"), token, clock=ManualClock()) as stream:
            assert [record.key for record in read(stream)] == [{"id": "new"}]
