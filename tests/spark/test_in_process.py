"""Queries without Spark: the readers called as Spark calls them, each task a fresh worker, each micro-batch read twice."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator

import pytest

from streamiter.spark import worker
from streamiter.spark.batch import BatchReader
from streamiter.spark.columns import standard_schema
from streamiter.spark.options import parse_options
from streamiter.spark.streaming import StreamReader
from streamiter.testing import RunningClock, Simulator
from tests.spark.conftest import CREDENTIALS
from tests.spark.random_worlds import RandomWorld


@pytest.fixture
def served(monkeypatch) -> Iterator[Simulator]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with Simulator(ids="service", clock=RunningClock()) as simulator:
        yield simulator


def options_of(sim: Simulator, **told: str):
    told |= {"streamArn": sim.stream_arn, "endpointUrl": sim.endpoint_url}
    return parse_options("dynamodb_streams", ("table", "streamArn"), told)


def keys_of(reader, partitions) -> list[str]:
    keys: list[str] = []
    for partition in pickle.loads(pickle.dumps(partitions)):
        worker._source_of.cache_clear()
        for batch in pickle.loads(pickle.dumps(reader)).read(partition):
            keys += batch.column("order_key").to_pylist()
    return keys


class Query:
    """A query on a checkpoint in memory."""

    def __init__(self, sim: Simulator) -> None:
        self._sim = sim
        self._at = None
        self.keys: list[str] = []
        self.batches = 0

    def run(self, **told: str) -> None:
        """Reads all that is there, and stops."""
        reader = StreamReader(options_of(self._sim, **told), standard_schema())
        reader.prepareForTriggerAvailableNow()
        start = self._at or reader.initialOffset()
        assert reader.initialOffset() == reader.initialOffset()
        while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
            assert json.dumps(end) == json.dumps(end, sort_keys=True)
            keys = keys_of(reader, reader.partitions(start, end))
            self._read_again(start, end, keys, told)
            reader.commit(end)
            self.keys += keys
            self.batches += 1
            start = end
        self._at = start
        reader.stop()

    def _read_again(self, start, end, keys, told) -> None:
        """As after a crash: another process, which knows nothing but the offsets."""
        reader = StreamReader(options_of(self._sim, **told), standard_schema())
        assert sorted(keys_of(reader, reader.partitions(start, end))) == sorted(keys)
        reader.stop()


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_world_by_chance_in_three_runs(served, seed):
    world = RandomWorld(served, seed)
    world.live()
    world.trim()
    reader = BatchReader(options_of(served), standard_schema())
    assert sorted(keys_of(reader, reader.partitions())) == world.keys
    query = Query(served)
    query.run()
    world.live()
    query.run(maxRecordsPerTrigger="15")
    world.live()
    query.run()
    assert sorted(query.keys) == world.keys
    before = query.batches
    query.run()
    assert query.batches == before


def test_faults_and_lagging_listings_change_nothing(served):
    world = RandomWorld(served, 7)
    served.misbehave(seed=5)
    query = Query(served)
    for _ in range(3):
        world.live(20)
        query.run()
    assert sorted(query.keys) == world.keys


def test_closed_shards_are_never_read_on_the_driver(served):
    served.shape("S0 => S1 => {S2, S3}; T0 => T1")
    for shard in ("S0", "S1", "S2", "S3", "T0", "T1"):
        for _ in range(3):
            served.put(shard)
    reader = StreamReader(options_of(served, lateness="none"), standard_schema())
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    planned = []
    while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
        planned.append(reader.partitions(start, end))
        start = end
    driver = {call.shard for call in served.calls.of("GetRecords")}
    assert driver == {"S2", "S3", "T1"}
    served.calls.clear()
    assert sum(len(keys_of(reader, partitions)) for partitions in planned) == 18
    tasks = {call.shard for call in served.calls.of("GetRecords")}
    assert tasks == {"S0", "S1", "T0"}
    reader.stop()


def test_an_idle_reader_answers_from_memory(served):
    served.shape("S0")
    served.put("S0")
    reader = StreamReader(options_of(served, lateness="none"), standard_schema())
    start = reader.initialOffset()
    limit = reader.getDefaultReadLimit()
    while (end := reader.latestOffset(start, limit)) == start:
        pass
    reader.partitions(start, end)
    before = len(served.calls)
    for _ in range(200):
        assert reader.latestOffset(end, limit) == end
    assert len(served.calls) - before <= 3, "what polls the shard is a thread"
    reader.stop()
