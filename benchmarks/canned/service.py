"""The canned service: streams over one backlog, and the answers to the three calls that read them; no HTTP here."""

from __future__ import annotations

import json
import time
import zlib
from collections import Counter, OrderedDict
from collections.abc import Sequence
from email.utils import formatdate
from typing import Any, NamedTuple

from benchmarks.canned.backlog import BASE, PER_SECOND, Backlog, deal, place_of

STREAM_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/canned-{shards}/stream/2026-01-15T12:00:00.000"
SHARD_ID = "shardId-{second:020d}-{number:08x}"
LISTED_ON_A_PAGE = 100
MOST_RECORDS = 1000
MOST_BYTES = 1024 * 1024
KEPT_BYTES = 256 * 1024 * 1024  # of assembled pages


class Shard(NamedTuple):
    """A shard of a canned stream: the places of its records in the backlog."""

    id: str
    parent: str | None
    places: Sequence[int]


class Stream:
    """A stream of open or of closed shards; one that rolls closes the first half at a word, and shows the second."""

    def __init__(self, shards: list[Shard], *, rolls: bool, closed: bool) -> None:
        self.shards = {shard.id: shard for shard in shards}
        self.parents = {shard.parent for shard in shards if shard.parent is not None}
        self.has_rolled = not rolls
        self._are_closed = closed

    def listed(self) -> list[Shard]:
        """The shards that the service shows, in the order of their ids."""
        return [shard for shard in self.shards.values() if shard.parent is None or self.has_rolled]

    def is_closed(self, shard: Shard) -> bool:
        """Whether no more records come to the shard."""
        return self._are_closed or (self.has_rolled and shard.id in self.parents)


class Service:
    """Answers calls from memory, and counts them."""

    def __init__(
        self, backlog: Backlog, layouts: list[int], *, rolls: bool = False, rolled: bool = False, closed: bool = False
    ) -> None:
        self.calls: Counter[str] = Counter()
        self.records = 0  # sent
        self.latency = 0.0
        self._backlog = backlog
        self._streams = {
            STREAM_ARN.format(shards=count): _stream(backlog, count, rolls=rolls, rolled=rolled, closed=closed)
            for count in layouts
        }
        self._pages: OrderedDict[tuple[str, str, int, int], tuple[bytes, str]] = OrderedDict()
        self._kept_bytes = 0
        self._now: float | None = None  # set by hand; else it goes on from the end of the backlog
        self._started = time.monotonic()
        self._answers = {
            "DescribeStream": self._describe_stream,
            "GetShardIterator": self._get_shard_iterator,
            "GetRecords": self._get_records,
        }

    @property
    def now(self) -> float:
        """The service's time."""
        if self._now is not None:
            return self._now
        return BASE + len(self._backlog) / PER_SECOND + 3600 + time.monotonic() - self._started

    def answer(self, target: str, body: bytes) -> tuple[bytes, str]:
        """The answer to a call, and its checksum."""
        kind = target.rpartition(".")[2]
        self.calls[kind] += 1
        return self._answers[kind](json.loads(body))

    def control(self, body: bytes) -> bytes:
        """What the benchmark says to the service itself: sets it, and tells the counts since the last reset."""
        told = json.loads(body)
        answer = json.dumps({"calls": self.calls, "records": self.records, "now": self.now}).encode()
        if told.get("reset"):
            self.calls, self.records = Counter(), 0
        self.latency = told.get("latency", self.latency)
        self._now = told.get("now", self._now)
        if told.get("roll"):
            for stream in self._streams.values():
                stream.has_rolled = True
        return answer

    def head(self, length: int, checksum: str) -> bytes:
        """The headers of an answer."""
        return (
            "HTTP/1.1 200 OK\r\nServer: Server\r\n"
            f"Date: {formatdate(self.now, usegmt=True)}\r\n"
            f"Content-Type: application/x-amz-json-1.0\r\nContent-Length: {length}\r\nConnection: keep-alive\r\n"
            f"x-amzn-RequestId: CANNED0000000000000000000000000000000000000000000000\r\nx-amz-crc32: {checksum}\r\n\r\n"
        ).encode()

    def _describe_stream(self, request: dict[str, Any]) -> tuple[bytes, str]:
        arn = request["StreamArn"]
        stream = self._streams[arn]
        after = request.get("ExclusiveStartShardId", "")
        wanted = request.get("ShardFilter", {}).get("ShardId")
        rows = [row for row in stream.listed() if row.id > after and wanted in (None, row.parent)]
        page = rows[: request.get("Limit", LISTED_ON_A_PAGE)]
        description = {
            "StreamArn": arn,
            "StreamLabel": arn.rpartition("/")[2],
            "StreamStatus": "ENABLED",
            "StreamViewType": "NEW_AND_OLD_IMAGES",
            "TableName": arn.split("/")[1],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "Shards": [_row(shard, stream.is_closed(shard)) for shard in page],
        }
        if len(page) < len(rows):
            description["LastEvaluatedShardId"] = page[-1].id
        return _checked(json.dumps({"StreamDescription": description}).encode())

    def _get_shard_iterator(self, request: dict[str, Any]) -> tuple[bytes, str]:
        start = 0
        if (
            request["ShardIteratorType"] == "AFTER_SEQUENCE_NUMBER"
        ):  # an end that no listing told is asked for once more
            places = self._streams[request["StreamArn"]].shards[request["ShardId"]].places
            start = 1 + places.index(place_of(request["SequenceNumber"]))
        elif request["ShardIteratorType"] != "TRIM_HORIZON":
            raise ValueError(f"canned shards do not open at {request['ShardIteratorType']}")
        iterator = f"{request['StreamArn']}|1|{request['ShardId']}|{start}"
        return _checked(json.dumps({"ShardIterator": iterator}).encode())

    def _get_records(self, request: dict[str, Any]) -> tuple[bytes, str]:
        arn, _, shard_id, start = request["ShardIterator"].split("|")
        limit = min(request.get("Limit", MOST_RECORDS), MOST_RECORDS, MOST_BYTES // self._backlog.record_bytes)
        stream = self._streams[arn]
        shard = stream.shards[shard_id]
        first = int(start)
        end = min(first + limit, len(shard.places))
        self.records += end - first
        if stream.is_closed(shard) and end == len(shard.places):
            return _checked(b'{"Records":[%b]}' % self._backlog.page(shard.places[first:end]))
        key = (arn, shard_id, first, end)
        page = self._pages.get(key)
        if page is None:
            following = f"{arn}|1|{shard_id}|{end}".encode()
            records = self._backlog.page(shard.places[first:end])
            page = _checked(b'{"NextShardIterator":"%b","Records":[%b]}' % (following, records))
            self._keep(key, page)
        return page

    def _keep(self, key: tuple[str, str, int, int], page: tuple[bytes, str]) -> None:
        self._pages[key] = page
        self._kept_bytes += len(page[0])
        while self._kept_bytes > KEPT_BYTES:
            _, (body, _) = self._pages.popitem(last=False)
            self._kept_bytes -= len(body)


def _stream(backlog: Backlog, count: int, *, rolls: bool, rolled: bool, closed: bool) -> Stream:
    lanes = deal(len(backlog), count)
    if rolled:  # All of it is in closed shards, whose children have nothing yet.
        lanes = lanes + [[] for _ in range(count)]
    if rolls:  # The parents hold the first half of the backlog, their children the second.
        half = len(backlog) // 2
        first = deal(half, count)
        lanes = first + [[half + place for place in places] for places in first]
    second = BASE - 3600
    ids = [SHARD_ID.format(second=second + number // count * 7200, number=number) for number in range(len(lanes))]
    parents = [None] * count + (ids[:count] if rolls or rolled else [])
    return Stream(list(map(Shard, ids, parents, lanes)), rolls=rolls, closed=closed)


def _row(shard: Shard, is_closed: bool) -> dict[str, Any]:
    numbers = {"StartingSequenceNumber": "100000000000000000000000"}
    if is_closed:
        numbers["EndingSequenceNumber"] = "900000000000000000000000"
    row = {"ShardId": shard.id, "SequenceNumberRange": numbers}
    return row if shard.parent is None else {**row, "ParentShardId": shard.parent}


def _checked(body: bytes) -> tuple[bytes, str]:
    return body, str(zlib.crc32(body))
