"""Answers with random damage: each is a page or an error of ours; what a page's records hold is read or told of as ours."""

from __future__ import annotations

import copy
import json
import pickle
import zlib
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter import ChangeRecord, DynamoDBStreams, KinesisStreams, ShardIterator, StreamiterError
from streamiter.errors import UnreadableRecord
from streamiter.images import decode_image, image_text
from streamiter.merge import Lane
from streamiter.position import Horizon
from streamiter.record import SpoiledRecord
from streamiter.shard import Rank
from streamiter.source.kinesis_place import KinesisPlace
from streamiter.stream.table import records_to_table
from streamiter.token import load_token
from tests.properties.test_damaged_tokens import _damage, paths
from tests.source.test_kinesis_page import WIRE as KINESIS
from tests.source.test_wire import ARN, WIRE, NoEvents
from tests.worlds import STREAM

IMAGE = {
    "id": {"S": "secret"}, "n": {"N": "1.5"}, "b": {"B": "AAE="}, "t": {"BOOL": True}, "z": {"NULL": True},
    "m": {"M": {"deep": {"L": [{"S": "x"}, {"N": "2"}]}}}, "ss": {"SS": ["a", "b"]}, "ns": {"NS": ["1", "2"]},
    "bs": {"BS": ["AA=="]},
}  # fmt: skip
ROWS = [
    {
        "eventID": "7de3", "eventName": "MODIFY", "eventVersion": "1.1", "userIdentity": {"Type": "Service"},
        "dynamodb": {
            "SequenceNumber": str(10**21 + number), "ApproximateCreationDateTime": 1_750_000_000 + number, "SizeBytes": 59,
            "Keys": {"id": {"S": "secret"}}, "NewImage": IMAGE, "OldImage": IMAGE,
        },
    }
    for number in range(3)
]  # fmt: skip
PAGE = {"Records": ROWS, "NextShardIterator": "next"}
KINESIS_ROWS = [
    {"SequenceNumber": str(10**55 + number), "Data": "AAE=", "PartitionKey": "k", "ApproximateArrivalTimestamp": 1.75e9}
    for number in range(3)
]
CHILDREN = [{"ShardId": "shardId-000000000001", "ParentShards": ["shardId-000000000000"]}]
KINESIS_PAGE = {"Records": KINESIS_ROWS, "NextShardIterator": "next", "MillisBehindLatest": 0, "ChildShards": CHILDREN}
TYPES = ["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS", "Z", ""]
BYTES = [
    b"",
    b"\xff",
    b"\x00",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"NaN",
    b"1e400",
    b"9" * 5000,
    b"\\ud800",
]


def damaged(whole: Any, dice: Random) -> Any:
    value = copy.deepcopy(whole)
    for _ in range(dice.choice([1, 1, 2, 5])):
        *above, step = dice.choice(list(paths(value)))
        holder = value
        for name in above:
            holder = holder[name]
        if isinstance(holder, dict) and dice.random() < 0.3:
            holder[dice.choice(TYPES)] = holder.pop(step)
        else:
            _damage(holder, step, dice)
        if not value:
            return value
    return value


def body_of(page: Any, dice: Random) -> bytes:
    """A page's text with damage in its values, or in its bytes, or in both."""
    body = json.dumps(damaged(page, dice) if dice.random() < 0.7 else page).encode()
    if dice.random() < 0.5:
        at = dice.randrange(len(body))
        body = body[:at] + dice.choice(BYTES) + body[at + dice.randrange(3) :]
    return body


@given(st.integers(0, 2**32))
def test_an_image_is_decoded_or_told_of(seed: int):
    image = damaged(IMAGE, Random(seed))
    try:
        decoded = decode_image(image)
    except UnreadableRecord:
        return
    assert decoded is None or isinstance(decoded, dict)


@pytest.mark.parametrize("sealed", [True, False])
@given(seed=st.integers(0, 2**32))
def test_a_page_of_dynamodb_is_read_or_told_of(sealed: bool, seed: int):
    dice = Random(seed)
    WIRE.body = body_of(PAGE, dice)
    WIRE.headers = {"x-amz-crc32": str(zlib.crc32(WIRE.body))} if sealed else {}
    source = DynamoDBStreams(ARN, client=NoEvents() if dice.random() < 0.2 else WIRE.client)
    look_through(source, ShardIterator("S1", "iterator"))


@given(st.integers(0, 2**32))
def test_a_page_of_kinesis_is_read_or_told_of(seed: int):
    KINESIS.body = body_of(KINESIS_PAGE, Random(seed))
    source = KinesisStreams("arn:aws:kinesis:us-east-1:000000000000:stream/orders", client=KINESIS.client)
    look_through(source, ShardIterator("S1", KinesisPlace("iterator")))


def look_through(source: Any, iterator: ShardIterator) -> None:
    for _ in range(2):  # asked for again, it may be taken apart
        try:
            page = source.fetch(iterator, 10)
        except StreamiterError as error:
            str(error).encode()
            continue
        lane = Lane("S1", Rank("S1", 0, "S1"), Horizon())
        if page.records:
            lane.push(page.records, 1_750_000_100_000_000)
            lane._check()
        _check_places(lane)
        good = [record for record in lane.records if not isinstance(record, SpoiledRecord)]
        for record in good:
            assert record.order_key and repr(record) and record.created_at is not False
            if isinstance(record, ChangeRecord):
                _read(record)
            assert pickle.loads(pickle.dumps(record)).sequence_number == record.sequence_number
        with suppress(UnreadableRecord):
            records_to_table(good, STREAM, source.record_type)


def _check_places(lane: Lane) -> None:
    """A token can hold what is known of each record."""
    for index, floor_us in enumerate(lane.times):
        place = lane.place_at(index)
        if place.is_numbered:
            row = {"shard": "S1", "place": [place.text, place.since], "floor": floor_us}
            load_token({"streamiter": 1, "stream": STREAM, "lanes": [row]})


def _read(record: ChangeRecord) -> None:
    for name in ("key", "new", "old", "event_id", "event_version", "user_identity", "size_bytes", "event_name"):
        try:
            getattr(record, name)
        except UnreadableRecord as error:
            assert "secret" not in str(error)
    with suppress(UnreadableRecord):
        image_text(record.raw_image("NewImage"))
