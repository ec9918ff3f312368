"""Records that cannot be decoded, in Spark: they end the query, or are left out, as failOnDataLoss says."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from streamiter import ChangeRecord, DynamoDBStreams, Page, PoisonRecord, ShardIterator
from streamiter.spark.batch import BatchReader
from streamiter.spark.columns.columns import standard_schema
from streamiter.spark.streaming import StreamReader
from streamiter.testing import RunningClock, Simulator
from tests.spark.conftest import CREDENTIALS
from tests.spark.test_in_process import Query, keys_of, options_of


def spoil(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service gives words for sequence numbers, where the key says so."""
    fetch = DynamoDBStreams.fetch

    def spoiled(source: DynamoDBStreams, iterator: ShardIterator, limit: int) -> Page:
        page = fetch(source, iterator, limit)
        for record in page.records:
            assert isinstance(record, ChangeRecord)
            if record.key == {"id": "bad"}:
                record.sequence_number = "word"
        return page

    monkeypatch.setattr(DynamoDBStreams, "fetch", spoiled)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulator]:
    """A closed shard, which an executor reads, and an open one, which the planner reads; each has a spoiled record."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    spoil(monkeypatch)
    with Simulator(ids="service", clock=RunningClock()) as simulator:
        simulator.shape("S0 ~ S1")
        for shard in ("S0", "S1"):
            simulator.put(shard)
            simulator.put(shard, key="bad")
        simulator.roll("S0", "S2")
        simulator.put("S2")
        yield simulator


def test_a_batch_query_ends_with_it(served: Simulator):
    reader = BatchReader(options_of(served), standard_schema())
    with pytest.raises(PoisonRecord, match="cannot be decoded"):
        keys_of(reader, reader.partitions())


@pytest.mark.parametrize("limit", [{}, {"maxRecordsPerTrigger": "2"}, {"maxBytesPerTrigger": "1k"}])
def test_a_streaming_query_ends_with_it_and_what_came_before_is_not_lost(served: Simulator, limit: dict[str, str]):
    query = Query(partial(options_of, served), standard_schema())
    with pytest.raises(PoisonRecord, match="cannot be decoded"):
        query.run(**limit)
    leaves_out = Query(partial(options_of, served), standard_schema())
    leaves_out.run(failOnDataLoss="false", **limit)
    assert len(leaves_out.keys) == len(set(leaves_out.keys)) == 3


def test_with_fail_on_data_loss_false_it_is_left_out(served: Simulator):
    reader = BatchReader(options_of(served, failOnDataLoss="false"), standard_schema())
    assert len(keys_of(reader, reader.partitions())) == 3


def test_an_offset_of_an_older_version_is_gone_on_from(served: Simulator):
    told = {"failOnDataLoss": "false"}
    old = {"streamiter": 1, "stream": served.stream_arn, "lanes": [], "fresh": True}
    reader = StreamReader(options_of(served, **told), standard_schema())
    end = reader.latestOffset(old, reader.getDefaultReadLimit())
    assert end["streamiter"] == 2
    reader.stop()
