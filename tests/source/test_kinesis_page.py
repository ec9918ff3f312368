"""Pages of Kinesis: the fast path gives what boto3's own parsing gives, and changes of DynamoDB have their shape."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import boto3
import msgspec
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from hypothesis import given
from hypothesis import strategies as st

from streamiter import KinesisChange, KinesisRecord, KinesisStreams, Shard, ShardIterator, TransientError
from streamiter.record import SpoiledRecord
from streamiter.source.kinesis_page import Row, read_changes
from streamiter.source.kinesis_place import KinesisPlace

ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
SHARD = "shardId-000000000000"
ITERATOR = ShardIterator(SHARD, KinesisPlace("iterator"))


class Wire:
    """A boto3 client whose answers are canned: all of botocore, but for the network."""

    def __init__(self) -> None:
        session = boto3.session.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")
        self.client = session.client("kinesis", config=Config(retries={"max_attempts": 0}))
        self.client.meta.events.register("before-send.kinesis.GetRecords", self._answer)
        self.body = b"{}"

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        raw = io.BytesIO(self.body)
        raw.stream = lambda *a, **k: iter([raw.read()])
        return AWSResponse(request.url, 200, {"Date": "Sun, 15 Jun 2025 15:06:40 GMT"}, raw)


WIRE = Wire()


class NoEvents:
    """The same client to a source, but one on which no hook can be set: the records come as boto3 parsed them."""

    def get_records(self, **options: Any) -> Any:
        return WIRE.client.get_records(**options)

    def get_shard_iterator(self) -> None: ...


FAST, SLOW = KinesisStreams("orders", client=WIRE.client), KinesisStreams("orders", client=NoEvents())

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)
rows = st.fixed_dictionaries(
    {
        "SequenceNumber": st.integers(10**20, 10**56).map(str),
        "Data": st.binary(max_size=40).map(lambda data: b64encode(data).decode()),
        "ApproximateArrivalTimestamp": st.integers(0, 2**32 * 1000).map(lambda ms: ms / 1000),
    },
    # A stream that distributes records by itself (AUTO) has producers that give no partition key.
    optional={"PartitionKey": texts, "EncryptionType": st.sampled_from(["NONE", "KMS"])},
)
children = st.lists(
    st.fixed_dictionaries(
        {
            "ShardId": st.sampled_from(["S1", "S2"]),
            "ParentShards": st.sampled_from([[SHARD], [SHARD, "S9"]]),
            "HashKeyRange": st.just({"StartingHashKey": "0", "EndingHashKey": "9"}),
        }
    ),
    max_size=2,
)
pages = st.fixed_dictionaries(
    {"Records": st.lists(rows, max_size=4), "MillisBehindLatest": st.sampled_from([0, 1, 86400000])},
    optional={"NextShardIterator": st.text("abc/+=", min_size=1), "ChildShards": children},
)


@given(pages, st.booleans())
def test_any_page_reads_as_boto3_reads_it(page: dict[str, Any], spaced: bool):
    WIRE.body = json.dumps(page, indent=1 if spaced else None).encode()
    wanted = WIRE.client.get_records(ShardIterator="iterator")
    for source in (FAST, SLOW):
        got = source.fetch(ITERATOR, 1000)
        assert [
            (r.sequence_number, r.payload, r.partition_key, r.created_at, r.shard_id, r.sub_sequence_number)
            for r in got.records
        ] == [
            (
                row["SequenceNumber"],
                row["Data"],
                row.get("PartitionKey"),
                row["ApproximateArrivalTimestamp"].astimezone(UTC),
                SHARD,
                0,
            )
            for row in wanted["Records"]
        ]
        assert (got.next and got.next.value.text) == wanted.get("NextShardIterator")
        assert got.caught_up == (wanted["MillisBehindLatest"] == 0 and not wanted["Records"])
        assert got.children == tuple(
            Shard(child["ShardId"], tuple(child["ParentShards"])) for child in wanted.get("ChildShards", ())
        )
        assert got.service_us == 1_750_000_000 * 1_000_000


@given(st.binary(max_size=60))
def test_bytes_that_are_no_answer_are_a_fault_that_may_pass(body: bytes):
    WIRE.body = body
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    if (
        not isinstance(parsed, dict) and b'"Records"' not in body
    ):  # Of a page with broken rows, each is a poison record.
        with pytest.raises(TransientError, match="GetRecords"):
            FAST.fetch(ITERATOR, 1)


def test_a_payload_that_is_no_base64_is_a_fault_that_may_pass_and_spoiled_when_it_comes_again():
    WIRE.body = json.dumps({"Records": [{"SequenceNumber": "1", "Data": "!", "PartitionKey": "k"}]}).encode()
    source = KinesisStreams(ARN, client=WIRE.client)
    with pytest.raises(TransientError, match="GetRecords"):
        source.fetch(ITERATOR, 1)
    (record,) = source.fetch(ITERATOR, 1).records
    assert isinstance(record, SpoiledRecord) and record.sequence_number == "1"


@pytest.mark.parametrize("source", [FAST, SLOW], ids=["fast", "slow"])
@pytest.mark.parametrize("body", [b"{}", b'{"NextShardIterator": "next"}', b'{"Records": null}'])
def test_an_answer_without_records_lost_its_body_and_is_not_the_end_of_the_shard(body: bytes, source: KinesisStreams):
    WIRE.body = body
    with pytest.raises(TransientError, match="Records"):
        source.fetch(ITERATOR, 1)


def test_a_limit_is_at_most_ten_thousand():
    asked: list[dict[str, Any]] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        asked.append(json.loads(params["body"]))

    WIRE.body = b'{"Records": []}'
    WIRE.client.meta.events.register("before-call.kinesis.GetRecords", note)
    FAST.fetch(ITERATOR, 50_000)
    FAST.fetch(ITERATOR, 7)
    KinesisStreams(ARN, client=WIRE.client).fetch(ITERATOR, 7)
    WIRE.client.meta.events.unregister("before-call.kinesis.GetRecords", note)
    assert [request["Limit"] for request in asked] == [10_000, 7, 7]
    assert [request.get("StreamARN") for request in asked] == [None, None, ARN]


@pytest.mark.parametrize(
    "rates, size, rest",
    [
        ({}, 0, 0.2),
        ({}, 300_000, 0.2),
        ({}, 3_000_000, 1.5),
        ({"reads_per_second": 2}, 0, 0.5),
        ({"bytes_per_second": 500_000}, 1_000_000, 2.0),
        ({"reads_per_second": None, "bytes_per_second": None}, 3_000_000, 0),
    ],
)
def test_a_page_says_how_long_the_shard_is_to_rest(rates: dict[str, Any], size: int, rest: float):
    data = b64encode(b"x" * size).decode()
    WIRE.body = json.dumps({"Records": [{"SequenceNumber": "1", "Data": data, "PartitionKey": "k"}]}).encode()
    page = KinesisStreams("orders", client=WIRE.client, **rates).fetch(ITERATOR, 10)
    assert page.rest_us / 1e6 == pytest.approx(rest, rel=0.01)


# -- the shape of a record


def test_a_record_is_told_by_attributes_and_by_names():
    record = KinesisRecord(SHARD, "17", 1_750_000_000_123_000, partition_key="ann", raw_payload=b"hello")
    assert dict(record) == {
        "partition_key": "ann",
        "payload": b"hello",
        "meta": {
            "created_at": record.created_at,
            "shard_id": SHARD,
            "sequence_number": "17",
            "sub_sequence_number": 0,
            "explicit_hash_key": None,
            "order_key": None,
            "clock": 0,
            "late": False,
        },
    }
    assert record.payload == record["payload"] == b"hello"
    assert record.created_at.datetime == datetime(2025, 6, 15, 15, 6, 40, 123000, UTC)
    with pytest.raises(KeyError):
        record["new"]
    assert "ann" not in repr(record)
    assert "hello" not in repr(record)


# -- DynamoDB's changes


def event(created: Any = None, precision: str | None = None, **more: Any) -> bytes:
    change: dict[str, Any] = {
        "Keys": {"id": {"S": "a"}},
        "NewImage": {"id": {"S": "a"}, "n": {"N": "1"}},
        "SizeBytes": 7,
    }
    if created is not None:
        change["ApproximateCreationDateTime"] = created
    if precision is not None:
        change["ApproximateCreationDateTimePrecision"] = precision
    told = {
        "awsRegion": "us-east-1",
        "eventID": "b015b5f0",
        "eventName": "INSERT",
        "userIdentity": None,
        "recordFormat": "application/json",
        "tableName": "users",
        "dynamodb": change,
        "eventSource": "aws:dynamodb",
    }
    return msgspec.json.encode(told | more)


def change_of(data: bytes) -> Any:
    [record] = read_changes(SHARD, [Row("17", data, "key", 1_750_000_001.5)])
    return record


def test_a_change_comes_in_dynamodbs_shape():
    record = change_of(event(1_750_000_000_123_456, "MICROSECOND"))
    assert isinstance(record, KinesisChange)
    assert (record.key, record.new, record.old) == ({"id": "a"}, {"id": "a", "n": Decimal(1)}, None)
    assert record["meta"]["event"] == {"id": "b015b5f0", "type": "insert", "version": None}
    assert (record.event_name, record.table_name, record.partition_key) == ("INSERT", "users", "key")
    assert (record.sequence_number, record.shard_id, record.size_bytes) == ("17", SHARD, 7)
    assert record.created_us == 1_750_000_000_123_456
    assert record.arrived_at.timestamp() == 1_750_000_001.5


@pytest.mark.parametrize(
    "created, precision, us",
    [
        (1_750_000_000_123_456, "MICROSECOND", 1_750_000_000_123_456),
        (1_750_000_000_123, "MILLISECOND", 1_750_000_000_123_000),
        (1_750_000_000_123_456, None, 1_750_000_000_123_456),
        (1_750_000_000_123, None, 1_750_000_000_123_000),
        (1_750_000_001_600_000, "MICROSECOND", 1_750_000_001_600_000),  # clocks differ a little
        (None, None, 1_750_000_001_500_000),  # nothing better than when it arrived
        *((never, None, 1_750_000_001_500_000) for never in (1_750_000_100_000, 10**30, 1.7e308, -1)),  # it cannot be
        (1_750_000_000_123_456, "MILLISECOND", 1_750_000_001_500_000),
    ],
)
def test_creation_times_are_told_in_two_precisions(created: float | None, precision: str | None, us: int):
    assert change_of(event(created, precision)).created_us == us


def test_a_delete_by_time_to_live_says_so():
    identity = {"principalId": "dynamodb.amazonaws.com", "type": "Service"}
    assert change_of(event(1, userIdentity=identity)).user_identity == identity


@pytest.mark.parametrize(
    "data",
    [b"", b"hello", b"\xff\x00", b"{}", b'{"dynamodb": 1}', event(1, eventSource="mine"), b"[1]", event("soon")],
    ids=repr,
)
def test_what_dynamodb_did_not_write_is_passed_on_as_it_is(data: bytes):
    record = change_of(data)
    assert isinstance(record, KinesisRecord)
    assert record.payload == data
