"""Weather: bad days from a seed, which a correct reader survives, and which come again."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

import botocore.session
import pytest

from streamiter import DynamoDBStreams, Stream
from streamiter.testing import Simulator
from streamiter.testing.clock import START
from streamiter.testing.http.refusal import Refusal
from streamiter.testing.trouble.weather import MOST_EMPTIES, MOST_FAILURES, Weather
from tests.testing.readers import list_rows, listed, read_pages
from tests.testing.tables import Orders


def outcomes(weather: Weather, shard: str, count: int = 200) -> list[Any]:
    faults = [weather.fault("GetRecords", (shard,)) for _ in range(count)]
    return [fault and fault.kind for fault in faults]


def test_the_same_seed_gives_the_same_days_however_calls_interleave():
    one, other = Weather(7), Weather(7)
    first = outcomes(one, "S1"), outcomes(one, "S2")
    second = [other.fault("GetRecords", (shard,)) for _ in range(200) for shard in ("S2", "S1")]
    kinds = [fault and fault.kind for fault in second]
    assert (kinds[1::2], kinds[::2]) == first
    assert outcomes(Weather(8), "S1") != first[0]


def test_trouble_is_as_likely_as_it_is_said():
    seen = Counter(outcomes(Weather(1, throttles=0.5, errors=0, cuts=0, slow=0, expired=0), "S1", 2000))
    assert 800 < seen["limit"] < 1100
    assert set(seen) == {None, "limit"}, "GetRecords knows no ThrottlingException"
    assert set(outcomes(Weather(1, throttles=0, errors=0, cuts=0, slow=0, expired=0), "S1")) == {None}


def test_whoever_asks_on_gets_an_answer():
    longest = run = 0
    for kind in outcomes(Weather(1, throttles=0.9), "S1", 1000):
        run = 0 if kind in (None, "slow") else run + 1
        longest = max(longest, run)
    assert longest == MOST_FAILURES


def test_pages_are_short_and_empty_alike_for_all_readers():
    with Simulator("S0 => S1") as sim:
        sim.misbehave(3, throttles=0, errors=0, cuts=0, slow=0, expired=0, empty_pages=0.5, short_pages=0.5)
        for _ in range(40):
            sim.put("S0")
        place = {"StreamArn": sim.stream_arn, "ShardId": "S0", "ShardIteratorType": "TRIM_HORIZON"}
        first, second = (
            read_pages(sim, sim.client().get_shard_iterator(**place)["ShardIterator"], most=500) for _ in range(2)
        )
        assert first == second
        assert [key for page in first for key in page] == [record.key["id"] for record in sim.history]
        empties = "".join("." if page else "0" for page in first).split(".")
        assert 1 <= max(map(len, empties)) <= MOST_EMPTIES


def test_listings_lag_double_and_go_blank():
    with Simulator(" ~ ".join(f"S{number}" for number in range(20))) as sim:
        calm = listed(sim)
        sim.misbehave(5, throttles=0, errors=0, cuts=0, slow=0, lag=0.5, doubled=0.2, lists_nothing=0.3, looks_open=0.5)
        children = sim.roll()
        passes = [list_rows(sim) for _ in range(8)]
        assert any(not rows for rows in passes)
        shown = [[row["ShardId"] for row in rows] for rows in passes if rows]
        assert len(set(shown[0]) & set(children)) < 20, "some children are late"
        assert set(shown[-1]) == {*calm, *children}, "and come in the end"
        assert any(len(ids) > len(set(ids)) for ids in shown)
        ends = [row["SequenceNumberRange"] for rows in passes for row in rows if row["ShardId"] in calm]
        assert any("EndingSequenceNumber" not in end for end in ends)
        sim.heal()
        assert listed(sim) == [*calm, *children]


def test_clocks_differ_and_times_run_backwards():
    with Simulator("S0 ~ S1") as sim:
        sim.misbehave(2, skew=100, jitter=10)
        for _ in range(20):
            sim.put("S0")
            sim.put("S1")
        times = {
            name: [record.created or 0.0 for record in sim.history if record.shard_id == name] for name in ("S0", "S1")
        }
        assert all(created != sorted(created) for created in times.values())
        assert abs(max(times["S0"]) - max(times["S1"])) > 2
        sim.heal()
        sim.knobs.shard_skews["S1"] = 30
        assert [sim.put(shard).created for shard in ("S0", "S1")] == [START, START + 30]


@pytest.mark.parametrize("seed", range(4))
def test_a_stream_survives_it(seed):
    with Simulator("S0") as sim:
        sim.misbehave(seed)
        for number in range(30):
            for shard in sim.open_shards:
                sim.put(shard)
            if number % 10 == 9:
                sim.split(sim.open_shards[0])
            sim.clock.advance(1)
        with Stream(DynamoDBStreams(sim.stream_arn, client=sim.client()), clock=sim.clock, patience=1000) as stream:
            found = []
            while len(found) < len(sim.history):
                record = next(stream)
                if record is None:
                    sim.clock.advance(0.5)
                else:
                    found.append(record.sequence_number)
        assert sorted(found) == sorted(record.sequence_number for record in sim.history)


@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams", "kinesis"])
def test_an_operation_gives_the_errors_of_its_description_alone(service):
    model = botocore.session.get_session().get_service_model(service)
    seen = set()
    for operation in model.operation_names:
        known = {shape.name for shape in model.operation_model(operation).error_shapes}
        weather = Weather(3, throttles=0.5, errors=0.5, cuts=0, slow=0, expired=0.5, gone=0.5, trimmed=0.5)
        for _ in range(60):
            fault = weather.fault(operation, (), service)
            if fault is not None:
                with pytest.raises(Refusal) as told:
                    fault.refuse()
                assert told.value.name in known, operation
                seen.add(told.value.name)
    assert len(seen) >= 4
    assert ("ProvisionedThroughputExceededException" in seen) == (service != "dynamodbstreams")


def put_all(orders: Orders, numbers: range) -> int:
    """Writes items in one batch, and what was left of it again until nothing is; how often something was left."""
    requests: dict[str, Any] = {"orders": [{"PutRequest": {"Item": {"id": {"S": str(number)}}}} for number in numbers]}
    tries = 0
    while requests:
        with contextlib.suppress(orders.tables.exceptions.ProvisionedThroughputExceededException):
            requests = orders.tables.batch_write_item(RequestItems=requests)["UnprocessedItems"]
        tries += 1
        assert tries < 50
    return tries - 1


def test_batches_are_done_in_part_and_what_is_left_is_told(sim):
    orders = Orders(sim)
    sim.misbehave(1, throttles=0, errors=0, cuts=0, slow=0, partial=0.3)
    assert sum(put_all(orders, range(start, start + 25)) for start in (0, 25, 50)) > 0
    assert [record.key["id"] for record in sim.table("orders").history].count("7") == 1
    assert len(sim.table("orders").history) == 75, "nothing is lost, and nothing written twice"
    wanted = {"orders": {"Keys": [{"id": {"S": str(number)}} for number in range(75)], "ProjectionExpression": "id"}}
    found, pages = set(), 0
    while wanted:
        page = orders.tables.batch_get_item(RequestItems=wanted)
        found |= {item["id"]["S"] for item in page["Responses"].get("orders", [])}
        wanted, pages = page["UnprocessedKeys"], pages + 1
        assert all(part["ProjectionExpression"] == "id" for part in wanted.values())
    assert len(found) == 75
    assert pages > 1


def test_statements_of_a_batch_fail_one_by_one(sim):
    orders = Orders(sim)
    sim.misbehave(1, throttles=0, errors=0, cuts=0, slow=0, partial=0.3)
    left, failed = [f"INSERT INTO orders VALUE {{'id': '{number}'}}" for number in range(25)], 0
    while left:
        answer = orders.tables.batch_execute_statement(Statements=[{"Statement": text} for text in left])["Responses"]
        assert {one["Error"]["Code"] for one in answer if "Error" in one} <= {"ProvisionedThroughputExceeded"}
        left = [text for text, one in zip(left, answer, strict=True) if "Error" in one]
        failed += len(left)
    assert failed > 0
    assert len(sim.table("orders").history) == 25, "nothing is lost, and nothing written twice"


def test_records_of_a_put_fail_one_by_one(sim):
    stream = sim.create_stream("numbers", "S0")
    sim.misbehave(1, throttles=0, errors=0, cuts=0, slow=0, partial=0.3)
    client = sim.client("kinesis")
    left = [{"Data": str(number).encode(), "PartitionKey": "k"} for number in range(100)]
    failed = 0
    while left:
        answer = client.put_records(StreamName="numbers", Records=left)
        told = [row.get("ErrorCode") for row in answer["Records"]]
        assert answer["FailedRecordCount"] == sum(code is not None for code in told)
        assert set(told) <= {None, "ProvisionedThroughputExceededException"}
        failed += answer["FailedRecordCount"]
        left = [record for record, code in zip(left, told, strict=True) if code is not None]
    assert failed > 0
    assert sorted(int(record.payload) for record in stream.history) == list(range(100))
