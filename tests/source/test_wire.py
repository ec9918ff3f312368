"""The wire: the fast path gives what boto3's own parsing gives, for any record, and nobody else notices it."""

from __future__ import annotations

import copy
import gc
import io
import json
import math
import pickle
import zlib
from base64 import b64encode
from decimal import Decimal
from typing import Any

import boto3
import pytest
from boto3.dynamodb.types import Binary, TypeDeserializer
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from hypothesis import given
from hypothesis import strategies as st

from streamiter import ChangeRecord, DynamoDBStreams, ShardIterator, TransientError

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/users/stream/2025-06-15T15:06:40.000"
ITERATOR = ShardIterator("shardId-00000001750000000000-0123456789", f"{ARN}|1|iterator")


class Wire:
    """A boto3 client whose answers are canned: all of botocore, but for the network."""

    def __init__(self) -> None:
        session = boto3.session.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")
        self.client = session.client("dynamodbstreams", config=Config(retries={"max_attempts": 0}))
        self.client.meta.events.register("before-send.dynamodb-streams.GetRecords", self._answer)
        self.body = b"{}"
        self.headers: dict[str, str] = {}

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        raw = io.BytesIO(self.body)
        raw.stream = lambda *a, **k: iter([raw.read()])
        return AWSResponse(request.url, 200, {"Date": "Sun, 15 Jun 2025 15:06:40 GMT"} | self.headers, raw)


WIRE = Wire()


class NoEvents:
    """The same client to a source, but one on which no hook can be set: the records come as boto3 parsed them."""

    def get_records(self, **options: Any) -> Any:
        return WIRE.client.get_records(**options)

    def get_shard_iterator(self) -> None: ...


FAST, SLOW = DynamoDBStreams(ARN, client=WIRE.client), DynamoDBStreams(ARN, client=NoEvents())


# -- what may be in an image

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
digits = st.integers(-(10**38) + 1, 10**38 - 1)
numbers = st.one_of(
    digits.map(str),
    st.builds(lambda n, e: f"{n}E{e}", digits, st.integers(-88, 86)),
    st.builds(lambda n, e: str(Decimal(n).scaleb(e)), digits, st.integers(-88, 86)),
    st.sampled_from(["0", "-0", "1E-130", "9.9999999999999999999999999999999999999E+125", "1.0", "1E2", "007"]),
)
base64s = st.binary(max_size=12).map(lambda data: b64encode(data).decode())


def sets(values):
    return st.lists(values, min_size=1, max_size=4, unique=True)


values = st.recursive(
    st.one_of(
        texts.map(lambda v: {"S": v}),
        numbers.map(lambda v: {"N": v}),
        base64s.map(lambda v: {"B": v}),
        st.booleans().map(lambda v: {"BOOL": v}),
        st.just({"NULL": True}),
        sets(texts).map(lambda v: {"SS": v}),
        sets(numbers).map(lambda v: {"NS": v}),
        sets(base64s).map(lambda v: {"BS": v}),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda v: {"L": v}),
        st.dictionaries(names, inner, max_size=4).map(lambda v: {"M": v}),
    ),
    max_leaves=12,
)
images = st.dictionaries(names, values, max_size=5)


WORDS = {  # what the service says where; it may come to say other things
    "eventID": ["7de3041dd709b024af6f29e4fa13d34c"],
    "eventName": ["INSERT", "MODIFY", "REMOVE"],
    "eventVersion": ["1.0", "1.1"],
    "eventSource": ["aws:dynamodb"],
    "awsRegion": ["eu-west-1"],
}


@st.composite
def rows(draw) -> dict[str, Any]:
    change: dict[str, Any] = {"Keys": draw(images), "SequenceNumber": str(draw(st.integers(10**20, 10**40 - 1)))}
    if draw(st.booleans()):
        change["ApproximateCreationDateTime"] = draw(
            st.one_of(st.integers(0, 2**32), st.integers(0, 10**15).map(lambda us: us / 1e6))
        )
    for image in ("NewImage", "OldImage"):
        if draw(st.booleans()):
            change[image] = draw(images)
    if draw(st.booleans()):
        change["SizeBytes"] = draw(st.integers(0, 2**40))
        change["StreamViewType"] = "NEW_AND_OLD_IMAGES"
    row: dict[str, Any] = {"dynamodb": change}
    for name, words in WORDS.items():
        if draw(st.booleans()):
            row[name] = draw(st.one_of(st.sampled_from(words), texts))
    if draw(st.booleans()):
        row["userIdentity"] = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    return row


pages = st.fixed_dictionaries(
    {"Records": st.lists(rows(), max_size=4)}, optional={"NextShardIterator": st.text("abc|/+=", min_size=1)}
)


def plain(value: Any) -> Any:
    """Values with boto3's Binary as bytes, and numbers by their digits: Decimal("1.0") is not Decimal("1") here."""
    if isinstance(value, Binary | bytes):
        return bytes(value)
    if isinstance(value, Decimal):
        return ("number", str(value))
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, set):
        return {plain(part) for part in value}
    return value


def by_boto3(row: dict[str, Any]) -> dict[str, Any]:
    """A record as boto3's own parsing and TypeDeserializer give it."""
    change = row["dynamodb"]
    created = change.get("ApproximateCreationDateTime")
    read = TypeDeserializer().deserialize

    def image(name: str) -> Any:
        return plain(read({"M": change[name]})) if name in change else None

    return {
        "sequence_number": change["SequenceNumber"],
        "created_at": created and round(created.timestamp() * 1e6),
        "images": (image("Keys"), image("NewImage"), image("OldImage")),
        "event": (row.get("eventID"), row.get("eventName"), row.get("eventVersion")),
        "size_bytes": change.get("SizeBytes"),
        "user_identity": row.get("userIdentity"),
    }


def by_us(record: ChangeRecord) -> dict[str, Any]:
    return {
        "sequence_number": record.sequence_number,
        "created_at": record.created_us,
        "images": (plain(record.key), plain(record.new), plain(record.old)),
        "event": (record.event_id, record.event_name, record.event_version),
        "size_bytes": record.size_bytes,
        "user_identity": record.user_identity,
    }


@given(pages, st.booleans(), st.booleans())
def test_any_page_reads_as_boto3_reads_it(page: dict[str, Any], escaped: bool, spaced: bool):
    WIRE.body = json.dumps(page, ensure_ascii=escaped, indent=1 if spaced else None).encode()
    WIRE.headers = {"x-amz-crc32": str(zlib.crc32(WIRE.body))}
    wanted = WIRE.client.get_records(ShardIterator=ITERATOR.value)
    for source in (FAST, SLOW):
        got = source.fetch(ITERATOR, 1000)
        assert [by_us(record) for record in got.records] == [by_boto3(row) for row in wanted["Records"]]
        assert (got.next and got.next.value) == wanted.get("NextShardIterator")
        assert all(record.shard_id == ITERATOR.shard_id for record in got.records)
        assert got.service_us == 1_750_000_000 * 1_000_000
        assert got.caught_up is None


@given(images)
def test_types_are_exact(image: dict[str, Any]):
    WIRE.body = json.dumps({"Records": [{"dynamodb": {"SequenceNumber": "1" * 21, "NewImage": image}}]}).encode()
    WIRE.headers = {}
    [record] = FAST.fetch(ITERATOR, 1).records

    def check(value: Any, typed: dict[str, Any]) -> None:
        [(kind, inside)] = typed.items()
        wanted = {"S": str, "N": Decimal, "B": bytes, "BOOL": bool, "NULL": type(None), "M": dict, "L": list}
        assert type(value) is wanted.get(kind, set)
        if kind == "M":
            for name, part in inside.items():
                check(value[name], part)
        elif kind == "L":
            for element, part in zip(value, inside, strict=True):
                check(element, part)
        elif kind in ("SS", "NS", "BS"):
            assert {type(element) for element in value} == {wanted[kind[0]]}

    for name, typed in image.items():
        check(record.new[name], typed)
    assert record.old is None


@pytest.mark.parametrize("number", ["1" * 38, "-" + "9" * 38, "0." + "1" * 38, "1E+125", "-1E-130"])
def test_38_digits_are_kept(number: str):
    WIRE.body = json.dumps(
        {"Records": [{"dynamodb": {"SequenceNumber": "1" * 21, "NewImage": {"n": {"N": number}}}}]}
    ).encode()
    WIRE.headers = {}
    assert FAST.fetch(ITERATOR, 1).records[0].new["n"] == Decimal(number)


@given(st.binary(max_size=60))
def test_bytes_that_are_no_answer_are_a_fault_that_may_pass(body: bytes):
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    WIRE.body, WIRE.headers = body, {}
    is_page = isinstance(parsed, dict) and "Records" in parsed
    if not is_page and (parsed is not None or b'"Records"' not in body):  # broken rows of a page are poison records
        with pytest.raises(TransientError, match="GetRecords"):
            FAST.fetch(ITERATOR, 1)


@pytest.mark.parametrize("source", [FAST, SLOW], ids=["fast", "slow"])
@pytest.mark.parametrize("body", [b"{}", b'{"NextShardIterator": "next"}', b'{"Records": null}'])
def test_an_answer_without_records_lost_its_body_and_is_not_the_end_of_the_shard(body: bytes, source: DynamoDBStreams):
    WIRE.body, WIRE.headers = body, {}
    with pytest.raises(TransientError, match="Records"):
        source.fetch(ITERATOR, 1)


@pytest.mark.parametrize("where", ["eventID", "eventName", "name", "value"])
def test_so_is_text_that_is_none_wherever_it_stands(where: str):
    text = {name: "ü" if name == where else "u" for name in ("eventID", "eventName", "name", "value")}
    row = {name: text[name] for name in ("eventID", "eventName")}
    change = {"SequenceNumber": "1" * 21, "NewImage": {text["name"]: {"S": text["value"]}}}
    body = json.dumps({"Records": [{**row, "dynamodb": change}]}, ensure_ascii=False)
    WIRE.body, WIRE.headers = body.encode(), {}
    assert len(FAST.fetch(ITERATOR, 1).records) == 1
    WIRE.body = body.encode("latin-1")
    with pytest.raises(TransientError, match="GetRecords cannot be read"):
        FAST.fetch(ITERATOR, 1)


def test_a_wrong_checksum_is_a_fault_that_may_pass():
    WIRE.body, WIRE.headers = b'{"Records":[]}', {"x-amz-crc32": "17"}
    with pytest.raises(TransientError, match="damaged on its way: its checksum does not match"):
        FAST.fetch(ITERATOR, 1)


@pytest.mark.parametrize("headers", [{}, {"x-amz-crc32": str(zlib.crc32(b'{"Records":[]}'))}], ids=["none", "right"])
def test_no_checksum_or_the_right_one_is_taken(headers: dict[str, str]):
    WIRE.body, WIRE.headers = b'{"Records":[]}', headers
    assert FAST.fetch(ITERATOR, 1).records == []


def test_a_limit_is_at_most_a_thousand():
    asked: list[dict[str, Any]] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        asked.append(json.loads(params["body"]))

    WIRE.body, WIRE.headers = b'{"Records": []}', {}
    WIRE.client.meta.events.register("before-call.dynamodb-streams.GetRecords", note)
    FAST.fetch(ITERATOR, 5000)
    FAST.fetch(ITERATOR, 7)
    WIRE.client.meta.events.unregister("before-call.dynamodb-streams.GetRecords", note)
    assert [request["Limit"] for request in asked] == [1000, 7]


# -- records that wait


def test_words_that_every_record_has_are_kept_once():
    row = {"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1" * 21}}
    WIRE.body, WIRE.headers = json.dumps({"Records": [row, json.loads(json.dumps(row))]}).encode(), {}
    one, other = FAST.fetch(ITERATOR, 2).records
    assert one.event_name is other.event_name


def page_of(count: int, **more: Any) -> list[ChangeRecord]:
    """Records of one page, each with an image of its own of about a kilobyte."""
    rows = [
        {"eventName": "INSERT", "dynamodb": {"SequenceNumber": str(10**20 + n), "NewImage": {"n": {"S": f"{n:01000}"}}}}
        for n in range(count)
    ]
    WIRE.body, WIRE.headers = json.dumps({"Records": [row | more for row in rows]}).encode(), {}
    return list(FAST.fetch(ITERATOR, count).records)


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("twin", [copy.deepcopy, lambda record: pickle.loads(pickle.dumps(record))])
def test_a_copy_in_depth_takes_its_own_row_and_not_the_page(twin: Any, is_read: bool):
    record = page_of(100)[42]
    if is_read:
        assert record.new == {"n": f"{42:01000}"}
    assert len(pickle.dumps(record)) < 4000
    other = twin(record)
    assert by_us(other) == by_us(record)
    assert other.new == {"n": f"{42:01000}"}
    assert len(pickle.dumps(copy.copy(record))) < 4000


def test_a_page_of_more_records_than_the_service_gives_is_read_all_the_same():
    records = page_of(1234)
    assert [int(record.new["n"]) for record in records] == list(range(1234))


def test_what_nobody_needs_for_the_order_may_be_of_another_type():
    (record,) = page_of(1, eventID=7, eventVersion=[1.2], userIdentity="root")
    assert (record.event_id, record.event_version, record.user_identity) == (7, [1.2], "root")


def test_records_that_wait_are_no_work_for_the_garbage_collector():
    change = {"SequenceNumber": "1" * 21, "ApproximateCreationDateTime": 1.0, "NewImage": {"id": {"S": "ann"}}}
    WIRE.body, WIRE.headers = json.dumps({"Records": [{"dynamodb": change}]}).encode(), {}
    (record,) = FAST.fetch(ITERATOR, 1).records
    assert not gc.is_tracked(record)
    assert record["new"] == {"id": "ann"} and gc.is_tracked(record)  # a model's object may refer to anything


def test_creation_times_are_exact_to_the_microsecond():
    for time in (1750000000, 1750000000.123456, 0.000001, 2**31 + 0.5):
        WIRE.body = json.dumps(
            {"Records": [{"dynamodb": {"SequenceNumber": "1" * 21, "ApproximateCreationDateTime": time}}]}
        ).encode()
        WIRE.headers = {}
        assert FAST.fetch(ITERATOR, 1).records[0].created_us == math.floor(time * 1e6 + 0.5)
