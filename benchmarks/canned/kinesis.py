"""The canned Kinesis: one stream over one backlog, its pages made once, and the answers to the calls that read it."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from email.utils import formatdate
from typing import Any

from benchmarks.canned.backlog import BASE, PER_SECOND, deal

STREAM = "canned"
ARN = f"arn:aws:kinesis:us-east-1:000000000000:stream/{STREAM}"
SHARD_ID = "shardId-{number:012d}"
FIRST_NUMBER = 49 * 10**54  # sequence numbers have 56 digits
MOST_RECORDS = 10_000
MOST_BYTES = 10 * 1024 * 1024
HOUR_MS = 3_600_000


class KinesisService:
    """Answers calls from memory, and counts them. The shards are open: at their tip come empty pages."""

    def __init__(self, records: int, payload_bytes: int, shards: int) -> None:
        self.calls: Counter[str] = Counter()
        self.records = 0  # sent
        self.latency = 0.0
        self.now = BASE + records / PER_SECOND + 3600
        self._lanes = deal(records, shards)
        self._rows = [_row(place, payload_bytes) for place in range(records)]
        self._page_records = max(1, min(MOST_RECORDS, MOST_BYTES // (payload_bytes or 1)))
        self._pages: dict[tuple[int, int, int], tuple[bytes, str]] = {}

    def answer(self, target: str, body: bytes) -> tuple[bytes, str]:
        """The answer to a call, and its checksum."""
        kind = target.rpartition(".")[2]
        self.calls[kind] += 1
        request = json.loads(body)
        if kind == "GetRecords":
            return self._get_records(request)
        if kind == "GetShardIterator":
            return _checked(json.dumps({"ShardIterator": f"{int(request['ShardId'].rpartition('-')[2])}|0"}).encode())
        answers: dict[str, Any] = {
            "DescribeStream": {"StreamDescription": {**self._stream(), "Shards": self._shards()}},
            "DescribeStreamSummary": {"StreamDescriptionSummary": {**self._stream(), "OpenShardCount": 1}},
            "ListShards": {"Shards": self._shards()},
        }
        return _checked(json.dumps(answers[kind]).encode())

    def control(self, body: bytes) -> bytes:
        """What the benchmark says to the service itself, as to the canned DynamoDB Streams."""
        told = json.loads(body)
        answer = json.dumps({"calls": self.calls, "records": self.records, "now": self.now}).encode()
        if told.get("reset"):
            self.calls, self.records = Counter(), 0
        return answer

    def head(self, length: int, checksum: str) -> bytes:
        """The headers of an answer; Kinesis has no checksum."""
        return (
            f"HTTP/1.1 200 OK\r\nDate: {formatdate(self.now, usegmt=True)}\r\n"
            f"Content-Type: application/x-amz-json-1.1\r\nContent-Length: {length}\r\nConnection: keep-alive\r\n"
            "x-amzn-RequestId: CANNED0000000000000000000000000000000000000000000000\r\n\r\n"
        ).encode()

    def _stream(self) -> dict[str, Any]:
        return {
            "StreamName": STREAM,
            "StreamARN": ARN,
            "StreamStatus": "ACTIVE",
            "RetentionPeriodHours": 24 * 365,
            "StreamCreationTimestamp": BASE,
            "HasMoreShards": False,
            "EnhancedMonitoring": [],
        }

    def _shards(self) -> list[dict[str, Any]]:
        keys = {"StartingHashKey": "0", "EndingHashKey": "9"}
        numbers = {"StartingSequenceNumber": str(FIRST_NUMBER)}
        return [
            {"ShardId": SHARD_ID.format(number=number), "HashKeyRange": keys, "SequenceNumberRange": numbers}
            for number in range(len(self._lanes))
        ]

    def _get_records(self, request: dict[str, Any]) -> tuple[bytes, str]:
        number, first = map(int, request["ShardIterator"].split("|"))
        places = self._lanes[number]
        end = min(first + min(request.get("Limit", MOST_RECORDS), self._page_records), len(places))
        self.records += end - first
        key = (number, first, end)
        if key not in self._pages:
            self._pages[key] = _checked(self._page(number, places, first, end))
        return self._pages[key]

    def _page(self, number: int, places: Sequence[int], first: int, end: int) -> bytes:
        behind = HOUR_MS if end < len(places) else 0
        head = f'{{"NextShardIterator":"{number}|{end}","MillisBehindLatest":{behind},"Records":['.encode()
        return head + b",".join([self._rows[place] for place in places[first:end]]) + b"]}"


def _row(place: int, payload_bytes: int) -> bytes:
    """A record as the service sends it; its payload tells its place."""
    payload = f'{{"id":{place:09d},"note":"'.encode()
    payload += b"x" * (payload_bytes - len(payload) - 2) + b'"}'
    arrived = BASE + place / PER_SECOND
    return (
        f'{{"SequenceNumber":"{FIRST_NUMBER + place * 137}","ApproximateArrivalTimestamp":{arrived:.3f},'
        f'"Data":"{b64encode(payload).decode()}","PartitionKey":"user-{place % 100_000:08d}","EncryptionType":"NONE"}}'
    ).encode()


def _checked(body: bytes) -> tuple[bytes, str]:
    return body, str(zlib.crc32(body))
