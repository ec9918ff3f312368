"""The protocol: the JSON that goes over the wire, both ways."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.streams.reading import RecordsPage
from streamiter.testing.trouble.listing import ListingPage, Row
from streamiter.testing.truth.rendering import seconds_json
from streamiter.testing.truth.streams import SimulatedStream

STREAMS = "DynamoDBStreams_20120810"
TABLES = "DynamoDB_20120810"
CONTROL = "Simulator"  # our own
CONTENT_TYPE = "application/x-amz-json-1.0"
MOST_DEPTH = 128  # of JSON: 32 levels of attributes take two each, and the request around them some more

_encode = msgspec.json.Encoder().encode
_Request = TypeVar("_Request", bound="Request")


class Request(msgspec.Struct, rename="pascal", frozen=True):
    """What a client asks; members that we do not know are let pass, as the service does."""


class ListStreams(Request, frozen=True):
    table_name: str | None = None
    limit: int | None = None
    exclusive_start_stream_arn: str | None = None


class ShardFilter(Request, frozen=True):
    type: str | None = None
    shard_id: str | None = None

    @property
    def children_of(self) -> str:
        """The shard whose children are asked for."""
        if self.type != "CHILD_SHARDS" or self.shard_id is None:
            raise invalid("ShardFilter takes the Type CHILD_SHARDS and a ShardId")
        return self.shard_id


class DescribeStream(Request, frozen=True):
    stream_arn: str
    limit: int | None = None
    exclusive_start_shard_id: str | None = None
    shard_filter: ShardFilter | None = None


class GetShardIterator(Request, frozen=True):
    stream_arn: str
    shard_id: str
    shard_iterator_type: str
    sequence_number: str | None = None
    timestamp: float | None = None


class GetRecords(Request, frozen=True):
    shard_iterator: str
    limit: int | None = None


def parse(body: bytes) -> dict[str, Any]:
    """The JSON of a request; a refusal as the service words it."""
    try:
        request = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        request = None
    if may_be_deep(body) and is_deep(request):
        raise Refusal("SerializationException", f"The request is nested more than {MOST_DEPTH} levels deep.")
    if not isinstance(request, dict):
        raise Refusal("SerializationException", "Start of structure or map expected where not found.")
    return request


def may_be_deep(body: bytes) -> bool:
    """Whether it is worth while to look whether it is."""
    return body.count(b"[") + body.count(b"{") > MOST_DEPTH


def is_deep(value: Any) -> bool:
    """Whether lists and maps lie in each other deeper than any request needs. It goes level by level, without recursion."""
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        level = [part for whole in level for part in _parts(whole) if isinstance(part, dict | list)]
        if not level:
            return False
    return True


def _parts(whole: Any) -> Any:
    return whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()


def read(request: dict[str, Any], kind: type[_Request]) -> _Request:
    """Reads a request that is in the service's form."""
    try:
        return msgspec.convert(request, kind, strict=False)
    except msgspec.ValidationError as error:
        raise invalid(f"1 validation error detected: {error}") from None


def write_refusal(refusal: Refusal, name: str | None = None) -> bytes:
    """The body of an error answer; `name` where the service writes it in another way than DynamoDB does."""
    return _encode({"__type": name or refusal.qualified, "message": refusal.message, **refusal.more})


def write_streams(streams: list[SimulatedStream], last_arn: str | None) -> bytes:
    """ListStreams' answer."""
    rows = [
        {"StreamArn": stream.arn, "StreamLabel": stream.label, "TableName": stream.table.name} for stream in streams
    ]
    return _encode({"Streams": rows} | ({"LastEvaluatedStreamArn": last_arn} if last_arn else {}))


def write_description(stream: SimulatedStream, status: str, page: ListingPage) -> bytes:
    """DescribeStream's answer."""
    description = {
        "CreationRequestDateTime": msgspec.Raw(seconds_json(stream.life.created_us)),
        "KeySchema": stream.table.key_schema,
        "Shards": [_shard(row) for row in page.rows],
        "StreamArn": stream.arn,
        "StreamLabel": stream.label,
        "StreamStatus": status,
        "StreamViewType": stream.view,
        "TableName": stream.table.name,
    }
    if page.last_id is not None:
        description["LastEvaluatedShardId"] = page.last_id
    return _encode({"StreamDescription": description})


def write_iterator(iterator: str) -> bytes:
    """GetShardIterator's answer."""
    return _encode({"ShardIterator": iterator})


def write_records(page: RecordsPage) -> bytes:
    """GetRecords' answer, which is copied together once: it may be a megabyte."""
    follows = b"" if page.next_iterator is None else b'"NextShardIterator":%b,' % _encode(page.next_iterator)
    first, *others = page.records or [b""]
    parts = [b'{%b"Records":[%b' % (follows, first), *others]
    parts[-1] += b"]}"
    return b",".join(parts)


def _shard(row: Row) -> dict[str, Any]:
    numbers = {"StartingSequenceNumber": str(row.starting)}
    if row.ending is not None:
        numbers["EndingSequenceNumber"] = str(row.ending)
    shard: dict[str, Any] = {"SequenceNumberRange": numbers, "ShardId": row.shard_id}
    if row.parent_id is not None:
        shard["ParentShardId"] = row.parent_id
    return shard
