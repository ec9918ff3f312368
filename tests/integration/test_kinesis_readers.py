"""Other readers of Kinesis see the same records: async-kinesis and the AWS CLI, each in an environment of its own.

Both pin what clashes with ours. `./dev test --real tests/integration/test_kinesis_readers.py` makes the environments.
"""

from __future__ import annotations

import json
import os
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from benchmarks.environment import async_kinesis_python
from streamiter import KinesisStreams, Stream
from streamiter.source.kinesis_aggregate import Part, take_apart
from streamiter.testing import KinesisHandle, RunningClock, Simulator
from tests.integration.node import serving
from tests.testing.test_other_clients import aws_cli

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


@pytest.fixture
def sim():
    with Simulator(table=None, clock=RunningClock()) as simulator:
        yield simulator


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return kept | {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "NO_PROXY": "127.0.0.1"}


def by_async_kinesis(url: str, name: str, count: int) -> list[str]:
    return async_kinesis("read", url, name, str(count))


def async_kinesis(*arguments: str) -> Any:
    reader = Path(__file__).with_name("async_kinesis_reader.py")
    command = [str(async_kinesis_python()), "-W", "ignore", str(reader), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=250)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def aws(url: str, *arguments: str) -> Any:
    options = ["--endpoint-url", url, "--region", "us-east-1", "--output", "json"]
    command = [str(aws_cli()), "kinesis", *arguments, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout.strip() else None


def by_aws_cli(url: str, name: str) -> dict[str, list[tuple[str, bytes]]]:
    """The records of each shard: their numbers and payloads."""
    found: dict[str, list[tuple[str, bytes]]] = {}
    for shard in aws(url, "list-shards", "--stream-name", name)["Shards"]:
        place = ("--stream-name", name, "--shard-id", shard["ShardId"], "--shard-iterator-type", "TRIM_HORIZON")
        iterator = aws(url, "get-shard-iterator", *place)["ShardIterator"]
        rows = aws(url, "get-records", "--shard-iterator", iterator)["Records"]
        found[shard["ShardId"]] = [(row["SequenceNumber"], b64decode(row["Data"])) for row in rows]
    return found


def by_us(source: KinesisStreams) -> list[Any]:
    with Stream(source) as stream:
        return [record for batch in stream.batches(100, until="caught_up") for record in batch]


def filled(sim: Simulator) -> KinesisHandle:
    orders = sim.create_stream("orders", "S0 ~ S1")
    for number in range(10):
        orders.put(f"S{number % 2}", str(number))
    orders.put_packed("S1", [("k", b"a"), ("k", b"b"), ("k", b"c")])
    orders.split("S0", "S2", "S3")
    orders.put("S2", "10")
    orders.put("S3", "11")
    return orders


def test_async_kinesis_reads_the_same_of_the_simulator(sim: Simulator):
    filled(sim)
    ours = [record.payload.decode() for record in by_us(KinesisStreams("orders", client=sim.client("kinesis")))]
    assert sorted(by_async_kinesis(sim.endpoint_url, "orders", len(ours))) == sorted(ours)


def test_what_others_packed_comes_apart():
    for payload, records in async_kinesis("pack"):
        parts = take_apart(b64decode(payload))
        assert parts == [Part(key, hashed, told.encode()) for key, told, hashed in records]


def test_the_aws_cli_reads_the_same_of_the_simulator(sim: Simulator):
    orders = filled(sim)
    theirs = by_aws_cli(sim.endpoint_url, "orders")
    assert theirs == {
        shard.id: [(record.sequence_number, record.payload) for record in orders.history if record.shard_id == shard.id]
        for shard in map(orders.shard, ("S0", "S1", "S2", "S3"))
    }
    ours = by_us(KinesisStreams("orders", client=sim.client("kinesis")))
    for shard_id, rows in theirs.items():
        mine = dict.fromkeys(record.sequence_number for record in ours if record.shard_id == shard_id)
        assert list(mine) == [number for number, _ in rows]


def test_the_aws_cli_makes_and_reshards_a_stream_of_the_simulator(sim: Simulator):
    url = sim.endpoint_url
    aws(url, "create-stream", "--stream-name", "made", "--shard-count", "2")
    aws(url, "put-record", "--stream-name", "made", "--partition-key", "a", "--data", "hello")
    aws(
        url,
        "update-shard-count",
        "--stream-name",
        "made",
        "--target-shard-count",
        "4",
        "--scaling-type",
        "UNIFORM_SCALING",
    )
    aws(url, "increase-stream-retention-period", "--stream-name", "made", "--retention-period-hours", "48")
    summary = aws(url, "describe-stream-summary", "--stream-name", "made")["StreamDescriptionSummary"]
    assert (summary["OpenShardCount"], summary["RetentionPeriodHours"], summary["StreamStatus"]) == (4, 48, "ACTIVE")
    assert [record.payload for record in by_us(KinesisStreams("made", client=sim.client("kinesis")))] == [b"hello"]


@pytest.mark.parametrize("package", ["kinesis-local", "kinesalite"])
def test_all_three_read_the_same_of_an_emulator(package: str, tmp_path: Path):
    with serving(package, tmp_path) as service:
        client = service.client()
        client.create_stream(StreamName="same", ShardCount=2)
        while client.describe_stream_summary(StreamName="same")["StreamDescriptionSummary"]["StreamStatus"] != "ACTIVE":
            pass
        for number in range(20):
            client.put_record(StreamName="same", PartitionKey=str(number), Data=b"%d" % number)
        ours = [record.payload.decode() for record in by_us(service.source("same"))]
        by_cli = [data.decode() for rows in by_aws_cli(service.endpoint_url, "same").values() for _, data in rows]
        assert sorted(ours, key=int) == [str(number) for number in range(20)]
        assert sorted(by_cli, key=int) == sorted(ours, key=int)
        assert sorted(by_async_kinesis(service.endpoint_url, "same", 20), key=int) == sorted(ours, key=int)
