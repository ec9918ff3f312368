"""Answers that no service gives: whatever they bring about is an error of ours, with the hook and without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from streamiter import DynamoDBStreams, KinesisStreams, ShardIterator, StreamiterError
from streamiter.errors import ShardGone, TransientError
from streamiter.position import After, AtTime, Horizon, Place
from streamiter.record import SpoiledRecord
from streamiter.source.base import Page
from streamiter.source.kinesis_place import KinesisPlace
from tests.source.test_wire import ARN, WIRE, NoEvents

ITERATOR = ShardIterator("shardId-00000001750000000000-0123456789", f"{ARN}|1|hostile")


class Canned:
    """A client that gives what it is told to give."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def get_records(self, **_: Any) -> Any:
        return self._answer

    def get_shard_iterator(self) -> None: ...

    def describe_stream(self, **_: Any) -> Any:
        return self._answer


ROWS: dict[str, Any] = {
    "none": None,
    "a text": "row",
    "empty": {},
    "no change": {"dynamodb": None},
    "a change that is a text": {"dynamodb": "change"},
    "no number": {"dynamodb": {"Keys": {}}},
    "a time of words": {"dynamodb": {"SequenceNumber": "17", "ApproximateCreationDateTime": "yesterday"}},
    "a time that is a list": {"dynamodb": {"SequenceNumber": "17", "ApproximateCreationDateTime": [1]}},
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_row_that_is_none_spoils_no_other(row: Any):
    good = {"dynamodb": {"SequenceNumber": "1", "Keys": {"id": {"S": "a"}}}}
    source = DynamoDBStreams(ARN, client=Canned({"Records": [good, row, good]}))
    first, bad, last = source.fetch(ITERATOR, 10).records
    assert first.key == last.key == {"id": "a"}  # type: ignore[attr-defined]
    assert isinstance(bad, SpoiledRecord)


@pytest.mark.parametrize("hooked", [True, False])
@pytest.mark.parametrize(
    "body",
    [
        b'{"Records":[{"dynamodb":{"SequenceNumber":"1","ApproximateCreationDateTime":-1e300}}]}',
        b'{"Records":[{"dynamodb":{"SequenceNumber":"1","ApproximateCreationDateTime":1e300}}]}',
        b'{"Records":[{"dynamodb":{"SequenceNumber":"1","ApproximateCreationDateTime":NaN}}]}',
        b'{"Records":[{"dynamodb":{"SequenceNumber":"1","NewImage":'
        + b'{"a":' * 10_000
        + b"1"
        + b"}" * 10_000
        + b"}}]}",
        b'{"Records":[{"dynamodb":{"SequenceNumber":"1","SizeBytes":' + b"9" * 5000 + b"}}]}",
        b'{"Records":{}}',
        b'{"Records":"x"}',
        b'{"Records":[7]}',
        b'{"Records":[[]]}',
        b'{"Records":[],"NextShardIterator":7}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_an_answer_is_a_page_or_an_error_of_ours(body: bytes, hooked: bool):
    WIRE.body, WIRE.headers = body, {}
    source = DynamoDBStreams(ARN, client=WIRE.client if hooked else NoEvents())
    for _ in range(2):  # asked for again it may be taken apart
        try:
            page = source.fetch(ITERATOR, 10)
        except StreamiterError:
            continue
        for record in page.records:
            assert record.created_us is None


LISTINGS: dict[str, Any] = {
    "no id": [{}],
    "an id that is none": [{"ShardId": "a b"}],
    "an empty id": [{"ShardId": ""}],
    "a number": [{"ShardId": 7}],
    "half of a surrogate pair": [{"ShardId": "\ud800"}],
    "a text": ["S1"],
    "no list": 7,
    "a parent that is none": [{"ShardId": "S1", "ParentShardId": "a b"}],
    "a parent of another type": [{"ShardId": "S1", "ParentShardId": 7}],
    "a range that is none": [{"ShardId": "S1", "SequenceNumberRange": 7}],
}


@pytest.mark.parametrize("rows", LISTINGS.values(), ids=LISTINGS.keys())
def test_a_listing_with_a_shard_that_is_none_is_asked_for_again(rows: Any):
    source = DynamoDBStreams(ARN, client=Canned({"StreamDescription": {"Shards": rows}}))
    with pytest.raises(TransientError, match="listing cannot be read"):
        source.list_shards(None)


@pytest.mark.parametrize("position", [Horizon(), After(Place(17, 0)), AtTime(0)])
def test_a_shard_of_an_id_that_the_service_never_gives_is_not_there(position: Any):
    """A token can name it: boto3 lets no call with so short an id pass."""
    source = DynamoDBStreams(ARN, client=WIRE.client)
    with pytest.raises(ShardGone):
        source.open_iterator("S", position)


JUNK: tuple[Any, ...] = (
    None,
    0,
    -1,
    1.5,
    float("nan"),
    "",
    "a b",
    "\ud800",
    b"x",
    [],
    [None],
    {},
    {"a": 1},
    True,
    10**30,
)
MOMENT = datetime(2025, 6, 15, tzinfo=UTC)
TABLE = "arn:aws:dynamodb:us-east-1:1:table/t"
SOUND: dict[str, dict[str, Any]] = {
    "describe_stream": {
        "StreamDescription": {
            "StreamStatus": "ENABLED",
            "Shards": [
                {"ShardId": "S1", "ParentShardId": "S0", "SequenceNumberRange": {"StartingSequenceNumber": "1"}}
            ],
            "LastEvaluatedShardId": "S1",
        }
    },
    "list_streams": {"Streams": [{"StreamArn": f"{TABLE}/stream/l", "TableName": "ttt", "StreamLabel": "l"}]},
    "list_shards": {"Shards": [{"ShardId": "S1", "ParentShardId": "S0", "SequenceNumberRange": {}}], "NextToken": "t"},
    "describe_stream_summary": {
        "StreamDescriptionSummary": {
            "StreamARN": "arn:aws:kinesis:us-east-1:1:stream/orders",
            "RetentionPeriodHours": 24,
            "StreamCreationTimestamp": MOMENT,
        }
    },
    "get_shard_iterator": {"ShardIterator": "iterator"},
    "get_records": {
        "Records": [
            {
                "dynamodb": {"SequenceNumber": "1", "ApproximateCreationDateTime": MOMENT, "SizeBytes": 3},
                "SequenceNumber": "1",
                "Data": b"x",
                "ApproximateArrivalTimestamp": MOMENT,
            }
        ],
        "NextShardIterator": "next",
        "MillisBehindLatest": 0,
        "ChildShards": [{"ShardId": "S2", "ParentShards": ["S1"]}],
    },
}


class Spoiling:
    """A client whose answers are sound, but for what is spoiled in those of one kind."""

    def __init__(self, operation: str, spoilt: Any) -> None:
        self._answers = {**SOUND, operation: spoilt}

    def __getattr__(self, operation: str) -> Any:
        if operation not in SOUND:
            raise AttributeError(operation)
        answer = self._answers[operation]
        whole = {**answer, "ResponseMetadata": {"HTTPHeaders": {"date": "Sun, 15 Jun 2025 15:06:40 GMT"}}}
        return lambda **_: whole


def spoilt(answer: Any) -> Iterator[Any]:
    """The answer with each of its members once missing, and once each kind of junk."""
    names = answer.keys() if isinstance(answer, dict) else range(len(answer)) if isinstance(answer, list) else ()
    for name in names:
        for part in (*JUNK, *spoilt(answer[name])):
            if isinstance(answer, list):
                yield [*answer[:name], part, *answer[name + 1 :]]
            else:
                yield {**answer, name: part}
        if isinstance(answer, dict):
            yield {other: part for other, part in answer.items() if other != name}


def assert_page(page: Page) -> None:
    assert all(isinstance(record.sequence_number, str) for record in page.records)
    assert isinstance(page.size_bytes, int) and isinstance(page.rest_us, int)
    assert page.caught_up in (None, True, False)


@pytest.mark.parametrize("operation", SOUND)
def test_whatever_is_missing_or_junk_in_an_answer_is_told_as_an_error_of_ours(operation: str):
    for answer in spoilt(SOUND[operation]):
        client = Spoiling(operation, answer)
        dynamodb, kinesis = DynamoDBStreams(f"{TABLE}/stream/l", client=client), KinesisStreams("orders", client=client)
        place = ShardIterator("S1", KinesisPlace("iterator", whole_us=1, last="5"))
        calls: list[Callable[[], Any]] = [
            partial(lambda client: DynamoDBStreams("ttt", client=client).name, client),
            partial(lambda source: source.name, kinesis),
            partial(dynamodb.fetch, ITERATOR, 10),
            partial(kinesis.fetch, place, 10),
        ]
        for source in (dynamodb, kinesis):
            calls += [partial(source.list_shards, None), partial(source.open_iterator, "S1", Horizon())]
        for call in calls:
            try:
                told = call()
            except StreamiterError:
                continue
            if isinstance(told, Page):
                assert_page(told)
