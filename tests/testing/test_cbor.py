"""CBOR, as Kinesis' clients in Java speak it by default: bytes are bytes, times are milliseconds under tag 1."""

from __future__ import annotations

import http.client
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing import Simulator
from streamiter.testing.http import wires
from streamiter.testing.kinesis.pages import page_in_cbor, write_page
from streamiter.testing.kinesis.service import KinesisPage
from streamiter.testing.kinesis.truth import put_record

CBOR = "application/x-amz-cbor-1.1"


@pytest.fixture
def sim():
    with Simulator(table=None) as simulator:
        simulator.create_stream("s", "S0")
        yield simulator


def ask(sim: Simulator, operation: str, asked: Any, target: str = "Kinesis_20131202.") -> tuple[int, Any]:
    body = asked if isinstance(asked, bytes) else cbor2.dumps(asked)
    connection = http.client.HTTPConnection(sim.endpoint_url.removeprefix("http://"), timeout=60)
    connection.request("POST", "/", body, {"X-Amz-Target": target + operation, "Content-Type": CBOR})
    answer = connection.getresponse()
    told = answer.read()
    connection.close()
    assert answer.headers["Content-Type"] == CBOR
    return answer.status, read(told) if told else None


def read(told: bytes) -> Any:
    return cbor2.loads(told, semantic_decoders={1: lambda value, _: ("time", value)})


def test_records_go_in_and_out_as_bytes_and_times_as_milliseconds(sim: Simulator):
    put = {"StreamName": "s", "PartitionKey": "k", "Data": b"\x00\xff"}
    assert ask(sim, "PutRecord", put)[1]["ShardId"] == "shardId-000000000000"
    sim.clock.advance(1.5)
    assert ask(sim, "PutRecords", {"StreamName": "s", "Records": [{"PartitionKey": "l", "Data": b""}]})[0] == 200
    place = {"StreamName": "s", "ShardId": "shardId-000000000000", "ShardIteratorType": "AT_TIMESTAMP"}
    for moment, found in ((1_750_000_000_000, 2), (1_750_000_000_001, 1), (1_749_999_999_999.5, 2)):
        asked = place | {"Timestamp": cbor2.CBORTag(1, moment)}
        page = ask(sim, "GetRecords", ask(sim, "GetShardIterator", asked)[1])[1]
        assert [record["Data"] for record in page["Records"]] == [b"\x00\xff", b""][-found:]
    times = [record["ApproximateArrivalTimestamp"] for record in page["Records"]]
    assert times == [("time", 1_750_000_000_000), ("time", 1_750_000_001_500)]
    summary = ask(sim, "DescribeStreamSummary", {"StreamName": "s"})[1]["StreamDescriptionSummary"]
    assert summary["StreamCreationTimestamp"] == ("time", 1_750_000_000_000)


def test_an_answer_without_members_has_no_body(sim: Simulator):
    assert ask(sim, "CreateStream", {"StreamName": "t", "ShardCount": 1}) == (200, None)
    assert sim.kinesis("t").open_shards


def test_errors_are_cbor_too(sim: Simulator):
    status, answer = ask(sim, "DescribeStreamSummary", {"StreamName": "nobody"})
    assert (status, answer["__type"]) == (400, "ResourceNotFoundException")
    sim.fault(kind="500")
    assert ask(sim, "ListStreams", {})[1]["__type"] == "InternalFailureException"
    sim.fault(kind="no_body")
    assert ask(sim, "ListStreams", {}) == (200, {})
    assert ask(sim, "Explode", {})[1]["__type"] == "UnknownOperationException"


@pytest.mark.parametrize(
    "body",
    [
        b"\xff",
        b"\x81" * 100 + b"\x01",
        b"\x9f" * 500_000,
        b"\xbb" + b"\xff" * 8,
        b"\x5b\x00\x00\x00\x7f\xff\xff\xff\xff",
        cbor2.dumps(["not", "a", "map"]),
        b"\xd8\x1c\xa1\x64Data\xd8\x1d\x00",  # a map that holds itself
        cbor2.dumps({"StreamName": cbor2.CBORTag(35, "(a+)+$")}),
        cbor2.dumps({"StreamName": 1 << 100}),
        cbor2.dumps({"StreamName": "s", "Limit": float("nan")}),
        cbor2.dumps({"StreamName": b"s"}),
        cbor2.dumps({"StreamName": cbor2.undefined}),
    ],
)
def test_what_cannot_be_read_is_refused(sim: Simulator, body: bytes):
    status, answer = ask(sim, "DescribeStream", body)
    assert (status, answer["__type"]) == (400, "SerializationException")


def test_a_time_that_is_none_is_refused(sim: Simulator):
    place = {"StreamName": "s", "ShardId": "shardId-000000000000", "ShardIteratorType": "AT_TIMESTAMP"}
    for time in (float("nan"), float("inf"), "now", b"now"):
        status, answer = ask(sim, "GetShardIterator", place | {"Timestamp": time})
        assert (status, answer["__type"]) == (400, "SerializationException")


def test_without_the_package_it_says_how_to_get_it(sim: Simulator, monkeypatch):
    monkeypatch.setattr(wires.importlib.util, "find_spec", lambda name: None)
    connection = http.client.HTTPConnection(sim.endpoint_url.removeprefix("http://"), timeout=60)
    connection.request("POST", "/", b"", {"X-Amz-Target": "Kinesis_20131202.ListStreams", "Content-Type": CBOR})
    answer = connection.getresponse()
    assert answer.headers["Content-Type"] == "application/x-amz-json-1.1"
    assert b"cbor2 is not installed; to get it:" in answer.read()
    connection.close()


moments = st.integers(-(10**12), 10**16)
keys = st.text(min_size=1, max_size=300) | st.none()
payloads = st.binary(max_size=70_000) | st.integers(0, 300).map(bytes)


@given(st.lists(st.tuples(keys, payloads, moments, st.booleans()), max_size=5), st.booleans())
def test_a_page_written_out_says_what_its_json_says(rows: list[tuple[str | None, bytes, int, bool]], has_next: bool):
    records = [
        put_record("shardId-000000000000", 10**55 + place, key, payload, created_us, 0, is_encrypted=is_encrypted)
        for place, (key, payload, created_us, is_encrypted) in enumerate(rows)
    ]
    page = KinesisPage(records, "next" if has_next else None, 1_500_000, [])
    slowly = cbor2.dumps(wires.turned("kinesis", "GetRecordsOutput", write_page(page)))
    assert read(page_in_cbor(page)()) == read(slowly)
