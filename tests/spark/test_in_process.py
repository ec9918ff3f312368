"""Queries without Spark: the readers called as Spark calls them, each task a fresh worker, each micro-batch read twice."""

from __future__ import annotations

import json
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial

import pytest
from pyspark.sql.types import StructType

from streamiter import DynamoDBStreams, InvalidPosition, InvalidToken, KinesisRecord, RecordsExpired, Stream
from streamiter.spark.batch import BatchReader
from streamiter.spark.columns.columns import standard_schema
from streamiter.spark.options import Options, parse_options
from streamiter.spark.streaming import StreamReader
from streamiter.spark.tasks import worker
from streamiter.testing import RunningClock, Simulator
from streamiter.token import load_token
from tests.spark.conftest import CREDENTIALS
from tests.spark.random_worlds import RandomWorld
from tests.stream.helpers import soon
from tests.stream.kinesis import in_order

MOST_PASSES_HIDDEN = 3  # as the weather has it


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
        task = pickle.loads(pickle.dumps(reader))
        worker._source_of(task._options, partition.stream)[1].forget()
        for batch in task.read(partition):
            keys += batch.column("order_key").to_pylist()
    return keys


class Query:
    """A query on a checkpoint in memory."""

    def __init__(self, options_of: Callable[..., Options], schema: StructType) -> None:
        self._options_of = options_of
        self._schema = schema
        self._at = None
        self.keys: list[str] = []
        self.batches = 0

    def run(self, **told: str) -> None:
        """Reads all that is there, and stops, as Spark does also where the query fails."""
        reader = StreamReader(self._options_of(**told), self._schema)
        try:
            self._read(reader, told)
        finally:
            reader.stop()

    def _read(self, reader: StreamReader, told: dict[str, str]) -> None:
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

    def _read_again(self, start, end, keys, told) -> None:
        """As after a crash: another process, which knows nothing but the offsets."""
        reader = StreamReader(self._options_of(**told), self._schema)
        assert sorted(keys_of(reader, reader.partitions(start, end))) == sorted(keys)
        reader.stop()


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_world_by_chance_in_three_runs(served, seed):
    world = RandomWorld(served, seed)
    world.live()
    world.trim()
    reader = BatchReader(options_of(served), standard_schema())
    assert sorted(keys_of(reader, reader.partitions())) == world.keys
    grouped = BatchReader(options_of(served, maxPartitions="2"), standard_schema())
    assert sorted(keys_of(grouped, grouped.partitions())) == world.keys
    query = Query(partial(options_of, served), standard_schema())
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
    query = Query(partial(options_of, served), standard_schema())
    for _ in range(2):
        world.live(15)
        query.run()
    # A run ends at what the listings have shown by then; the shards that they lacked come in a later one.
    for _ in range(MOST_PASSES_HIDDEN):
        if len(query.keys) < len(world.keys):
            query.run()
    assert sorted(query.keys) == world.keys


def test_a_task_reads_many_shards_side_by_side_in_an_order_that_is_always_the_same(served):
    roots = [f"S{number}" for number in range(12)]
    served.shape("; ".join(f"{root} => {root}a => {root}b" for root in roots))
    for shard in [shard for root in roots for shard in (root, f"{root}a")]:
        for _ in range(3):
            served.put(shard)
    reader = BatchReader(options_of(served, maxPartitions="1"), standard_schema())
    partitions = reader.partitions()
    assert len(partitions) == 1
    before = set(threading.enumerate())
    keys = keys_of(reader, partitions)
    alone = BatchReader(options_of(served), standard_schema())
    assert sorted(keys) == sorted(keys_of(alone, alone.partitions()))
    assert len(set(keys)) == 12 * 2 * 3
    for _ in range(3):
        assert keys_of(reader, partitions) == keys
    soon(lambda: not {t for t in set(threading.enumerate()) - before if t.name.startswith("streamiter")})


def test_a_window_that_ends_before_all_records_is_empty_and_one_from_there_has_all(served):
    served.shape("S0 => S1")
    for shard in ("S0", "S1"):
        served.put(shard)
    for told, rows in (({"endingPosition": "1960-01-01"}, 0), ({"startingPosition": "1960-01-01"}, 2)):
        reader = BatchReader(options_of(served, **told), standard_schema())
        assert len(keys_of(reader, reader.partitions())) == rows


def test_two_tokens_the_wrong_way_round_are_told(served):
    served.shape("S0 => S1")
    for shard in ("S0", "S1"):
        served.put(shard)
    with Stream(DynamoDBStreams(served.stream_arn, client=served.client())) as stream:
        tokens = [json.dumps(stream.token)]
        tokens += [json.dumps(batch.token) for batch in stream.batches(1, until="caught_up")]
    for start, end in ((1, 0), (2, 0), (2, 1)):
        told = {"startingPosition": tokens[start], "endingPosition": tokens[end]}
        with pytest.raises(InvalidPosition, match="wrong way round"):
            BatchReader(options_of(served, **told), standard_schema()).partitions()


def test_a_task_that_is_stopped_in_the_middle_leaves_nothing(served):
    served.shape("; ".join(f"S{number} => T{number}" for number in range(12)))
    for number in range(12):
        served.put(f"S{number}")
    reader = BatchReader(options_of(served, maxPartitions="1"), standard_schema())
    [partition] = reader.partitions()
    before = set(threading.enumerate())
    batches = reader.read(partition)
    assert next(batches).num_rows == 1
    batches.close()
    soon(lambda: not {t for t in set(threading.enumerate()) - before if t.name.startswith("streamiter")})


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
    reader.stop()
    served.calls.clear()
    assert sum(len(keys_of(reader, partitions)) for partitions in planned) == 18
    tasks = {call.shard for call in served.calls.of("GetRecords")}
    assert tasks == {"S0", "S1", "T0"}


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
    for _ in range(1000):
        assert reader.latestOffset(end, limit) == end
    assert len(served.calls) - before < 100, "what polls the shard is a thread, which does so by the clock"
    reader.stop()


def test_kinesis_streams_have_the_same_readers(served):
    """Shards with two parents, payloads of bytes, and several records in one."""
    clicks = served.create_stream("clicks", "S1 ~ S2")
    for number in range(6):
        clicks.put("S1" if number % 2 else "S2", b"%d" % number, key=f"user-{number}")
    clicks.merge("S1", "S2", "S3")
    for number in range(6, 9):
        clicks.put("S3", b"%d" % number, key=f"user-{number}")

    def of(**told: str) -> Options:
        told |= {"stream": "clicks", "endpointUrl": served.endpoint_url}
        return parse_options("kinesis_streams", ("stream", "streamArn"), told, ("records",))

    schema = standard_schema(KinesisRecord)
    assert {"partition_key", "payload", "order_key"} <= set(schema.fieldNames())
    reader = BatchReader(of(), schema)
    rows = []
    for partition in reader.partitions():
        worker._source_of.cache_clear()
        for batch in reader.read(partition):
            rows += batch.to_pylist()
    rows.sort(key=lambda row: row["order_key"])
    wanted = in_order(clicks)
    assert [(row["shard_id"], row["payload"]) for row in rows] == [(told.shard_id, told.payload) for told in wanted]
    query = Query(of, schema)
    query.run()
    clicks.put("S3", b"9", key="user-9")
    query.run(maxRecordsPerTrigger="2")
    assert len(set(query.keys)) == len(query.keys) == 10


def test_a_micro_batch_whose_end_is_held_no_more_fails_instead_of_waiting_for_it(served):
    served.shape("S0")
    written = [served.put("S0") for _ in range(3)]
    reader = StreamReader(options_of(served, lateness="none"), standard_schema())
    start = reader.initialOffset()
    while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) == start:
        pass
    reader.stop()
    served.trim("S0")
    again = StreamReader(options_of(served), standard_schema())
    with pytest.raises(RecordsExpired, match=f"record {written[-1].sequence_number}, up to which it was read before"):
        keys_of(again, again.partitions(start, end))
    again.stop()
    skipping = StreamReader(options_of(served, failOnDataLoss="false"), standard_schema())
    assert keys_of(skipping, skipping.partitions(start, end)) == []
    skipping.stop()


def test_a_token_of_another_stream_is_told(served):
    served.shape("S0")
    served.put("S0")
    reader = StreamReader(options_of(served), standard_schema())
    start = reader.initialOffset()
    old = served.stream_arn
    served.disable()
    served.enable("S0")
    told = parse_options("dynamodb_streams", ("table",), {"table": "users", "endpointUrl": served.endpoint_url})
    other = StreamReader(told, standard_schema())
    with pytest.raises(InvalidToken, match="disabled and enabled again") as raised:
        other.latestOffset(start, other.getDefaultReadLimit())
    other.stop()
    reader.stop()
    assert old in str(raised.value)
    assert len(traceback.extract_tb(raised.value.__traceback__)) <= 3, "without the calls that it came through"


@pytest.mark.parametrize("knows", [True, False])
def test_a_time_to_start_from_also_where_shards_cannot_be_opened_at_one(served, knows):
    served.shape("S0 => S1 => S2; T0 => T1")
    noon = int(served.clock.now()) - 3600
    for seconds, shard in enumerate(("S0", "S0", "S1", "S1", "S2", "T0", "T0", "T1")):
        served.put(shard, created=noon + seconds)
    served.knobs.knows_at_timestamp = knows
    time = datetime.fromtimestamp(noon + 3, UTC).isoformat()
    reader = BatchReader(options_of(served, startingPosition=time), standard_schema())
    keys = keys_of(reader, reader.partitions())
    assert [int(key[:20]) // 1_000_000 - noon for key in sorted(keys)] == [3, 4, 5, 6, 7]


def test_a_micro_batch_that_ends_before_the_time_asked_for_is_read_again(served):
    """Below a closed shard the planner reads an open one whole: only tasks find out what of it was asked for."""
    served.shape("S0 => S1")
    noon = int(served.clock.now()) - 3600
    for seconds, shard in enumerate(("S0", "S1", "S1")):
        served.put(shard, created=noon + seconds)
    time = datetime.fromtimestamp(noon + 1800, UTC).isoformat()
    told = {"startingPosition": time, "lateness": "none"}
    reader = StreamReader(options_of(served, **told), standard_schema())
    start = reader.initialOffset()
    while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) == start or "S1" not in places(served, end):
        pass
    assert keys_of(reader, reader.partitions(start, end)) == []
    reader.stop()
    again = StreamReader(options_of(served, **told), standard_schema())
    assert keys_of(again, again.partitions(start, end)) == []
    again.stop()
    served.trim("S1")
    again = StreamReader(options_of(served, **told), standard_schema())
    with pytest.raises(RecordsExpired, match="up to which it was read before, does not come"):
        keys_of(again, again.partitions(start, end))
    again.stop()


def has_news(reader: StreamReader) -> bool:
    return reader._pilot._planner.has_news


def places(sim: Simulator, offset) -> set[str]:
    """The shards of which an offset tells the last record."""
    names = {sim.shard_id(name): name for name in ("S0", "S1")}
    return {names[lane.shard] for lane in load_token(offset).lanes if lane.place is not None}


@pytest.mark.parametrize("limit", [{}, {"maxRecordsPerTrigger": "15"}, {"maxBytesPerTrigger": "8k"}])
def test_available_now_ends_while_the_table_is_written_to_all_the_time(served, limit):
    served.shape("S0 ~ S1")
    for _ in range(10):
        served.put("S0")
        served.put("S1")
    reader = StreamReader(options_of(served, lateness="none", **limit), standard_schema())
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    keys: list[str] = []
    batches = 0
    while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
        keys += keys_of(reader, reader.partitions(start, end))
        reader.commit(end)
        start = end
        batches += 1
        served.clock.advance(1)
        for _ in range(10):  # more than a micro-batch takes
            served.put("S0")
            served.put("S1")
        soon(partial(has_news, reader))
        assert batches < 60, "it never ends"
    reader.stop()
    assert len(keys) == len(set(keys)) >= 20, "all that was there as it began"
