"""Beside the real Kinesis Client Library, on one table: it reads, we go on, and it goes on after us (`--real`)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from streamiter import KinesisStreams
from streamiter.store.kcl import KCLStore
from streamiter.testing import RunningClock, Simulator
from tests.integration.java import compiled
from tests.integration.kcl_fleet import Driver

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

FAILOVER_SECONDS = 2  # the Java program has the same


class Starting(RunningClock):
    """It stands still until the stream is made: the KCL asks for the shards that were open when the stream began."""

    runs = False

    @property
    def _passed(self) -> float:
        return super()._passed if self.runs else 0.0


@pytest.fixture(scope="session")
def classes() -> str:
    return compiled("kcl", "Fleet")


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(table=None, ids="service", clock=Starting(), region="us-east-1") as made:
        yield made


def java(sim: Simulator, classes: str, wanted: int, way: str = "polling") -> list[list[str]]:
    """Runs a KCL worker until it saw so many records, and gives what it printed. It speaks HTTP/2 and CBOR, its defaults."""
    options = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    command = ["java", *options, "-cp", classes, "Fleet", sim.endpoint_url, "shop", "orders", str(wanted), "150", way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return [line.split() for line in done.stdout.splitlines()]


def records(lines: list[list[str]]) -> list[str]:
    return sorted(line[2] for line in lines if line[0] == "record")


def test_the_kcl_reads_we_go_on_and_it_goes_on_after_us(sim: Simulator, classes: str):
    stream = sim.create_stream("orders", "S1 ~ S2")
    sim.clock.runs = True

    def put(shard: str, *numbers: int) -> list[str]:
        for number in numbers:
            stream.put(shard, f"{shard}-{number}", key=f"{shard}-{number}")
        return [f"{shard}-{number}" for number in numbers]

    first = put("S1", 0, 1, 2) + put("S2", 0, 1, 2)
    assert records(java(sim, classes, len(first))) == first

    second = put("S1", 3, 4) + put("S2", 3)
    stream.shape("S1 => {S3, S4}")
    second += put("S3", 0, 1) + put("S4", 0)
    client = sim.client("dynamodb")
    with KCLStore("shop", client=client) as store:
        source = KinesisStreams("orders", client=sim.client("kinesis"))
        ours = Driver("ours", store, source, "shop", failover_seconds=FAILOVER_SECONDS)
        ours.run(lambda: len(ours.records) >= len(second), seconds=60)
        ours.leave()
        assert sorted(key for _, key in ours.records) == sorted(second)
        rows = {item["leaseKey"]["S"]: item for item in client.scan(TableName="shop")["Items"]}
        parent = rows[stream.shard_id("S1")]
        assert parent["checkpoint"] == {"S": "SHARD_END"}
        assert set(parent["childShardIds"]["SS"]) == {stream.shard_id("S3"), stream.shard_id("S4")}
        assert not [key for key, item in rows.items() if "leaseOwner" in item]
        listed = {shard.id: shard for shard in source.list_shards(None).shards}
        for key, item in rows.items():  # also of the leases that we made
            assert (item["startingHashKey"]["S"], item["endingHashKey"]["S"]) == listed[key].hash_keys

    third = put("S2", 4) + put("S3", 2) + put("S4", 1, 2)
    lines = java(sim, classes, len(third))
    assert records(lines) == sorted(third)
    rows = {item["leaseKey"]["S"]: item for item in client.scan(TableName="shop")["Items"]}
    assert "streamiterFence" in rows[stream.shard_id("S3")]
    assert {"startingHashKey", "endingHashKey", "throughputKBps"} <= rows[stream.shard_id("S2")].keys()


def test_the_kcl_reads_by_enhanced_fan_out_over_a_split(sim: Simulator, classes: str):
    stream = sim.create_stream("orders", "S1 ~ S2")
    sim.clock.runs = True
    for number in range(20):
        stream.put("S1" if number % 2 else "S2", f"{number:02}", key=f"{number}")
    stream.split("S1", "S3", "S4")
    for number in range(20, 30):
        stream.put("S3" if number % 2 else "S4", f"{number:02}", key=f"{number}")
    lines = java(sim, classes, 30, "fan-out")
    assert records(lines) == [f"{number:02}" for number in range(30)]
    assert sim.calls.total("SubscribeToShard", outcome="ok") >= 4
    assert not sim.calls.total("GetRecords")
