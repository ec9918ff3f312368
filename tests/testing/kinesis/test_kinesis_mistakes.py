"""Nonsense in each member of each Kinesis operation: it is refused by an error that the operation knows, and breaks nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamiter.testing.http.descriptions import description
from streamiter.testing.http.request import Request
from tests.indoors import IndoorSimulator

MODEL = description("kinesis")
ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/s"
GOOD: dict[str, Any] = {
    "StreamName": "s",
    "StreamARN": ARN,
    "ResourceARN": ARN,
    "ConsumerARN": f"{ARN}/consumer/c:1750000000",
    "ConsumerName": "d",
    "ShardId": "shardId-000000000000",
    "ShardToSplit": "shardId-000000000000",
    "NewStartingHashKey": "100",
    "ShardToMerge": "shardId-000000000000",
    "AdjacentShardToMerge": "shardId-000000000001",
    "ShardIteratorType": "LATEST",
    "ShardIterator": "x",
    "Data": "YQ==",
    "PartitionKey": "k",
    "Records": [{"Data": "YQ==", "PartitionKey": "k"}],
    "Tags": {"a": "b"},
    "TagKeys": ["a"],
    "RetentionPeriodHours": 24,
    "ShardLevelMetrics": ["ALL"],
    "EncryptionType": "KMS",
    "KeyId": "k",
    "Policy": "{}",
    "StartingPosition": {"Type": "TRIM_HORIZON"},
    "TargetShardCount": 2,
    "ScalingType": "UNIFORM_SCALING",
    "StreamModeDetails": {"StreamMode": "PROVISIONED"},
    "MaxRecordSizeInKiB": 1024,
    "RecordDistributionStrategy": "USER_PARTITION_KEY",
    "WarmThroughputMiBps": 5,
    "MinimumThroughputBillingCommitment": {"Status": "ENABLED"},
}
BAD: list[Any] = [
    *(None, "", " ", "x" * 3000, "\0", "é☃", "-1", "0", "9" * 40, f"{ARN}s"),
    *(0, -1, 1.5, 10**12, 10**30, 1e308, True, [], {}, [[]], ["a"], {"a": {}}),
]
ALWAYS = {"ValidationException", "SerializationException", "UnknownOperationException"}


def ask(sim: IndoorSimulator, operation: str, asked: Any) -> tuple[int, str]:
    headers = {"x-amz-target": f"Kinesis_20131202.{operation}"}
    answer = sim._reception.answer(Request("POST", headers, json.dumps(asked).encode()))
    name = "" if answer.status == 200 else json.loads(answer.body)["__type"]
    return answer.status, name


@pytest.mark.parametrize("operation", sorted(MODEL["operations"]))
def test_nonsense_is_refused_by_an_error_that_the_operation_knows(operation: str):
    described = MODEL["operations"][operation]
    shape = MODEL["shapes"][described["input"]["shape"]]
    known = ALWAYS | {error["shape"] for error in described.get("errors", [])}
    asked = {name: GOOD[name] for name in shape["members"] if name in GOOD and name in shape.get("required", ())}
    asked |= {"StreamARN": ARN} if "StreamARN" in shape["members"] else {}
    with IndoorSimulator(table=None, ids="service") as sim:
        for member in shape["members"]:
            for bad in BAD:
                sim._reception.kinesis.streams.clear()
                sim.create_stream("s", "S0 ~ S1")
                sim._reception.kinesis.streams["s"].consumers.register("c", 1_750_000_000_000_000, 0)
                status, name = ask(sim, operation, asked | {member: bad})
                assert status == 200 or (status == 400 and name in known), (member, bad)
