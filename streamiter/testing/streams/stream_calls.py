"""The four calls of DynamoDB Streams, answered from the truth; pure, with time as an argument and no JSON.

They refuse by raising `Refusal`. What a call sees is the truth as of `now_us`: whatever is over by then is trimmed first.
"""

from __future__ import annotations

import re

from streamiter.testing.http.refusal import broken_rule, expired, invalid, trimmed, wrong_value
from streamiter.testing.streams.iterators import ShardIterator
from streamiter.testing.streams.reading import RecordsPage, is_expired, read_page, starting_place
from streamiter.testing.trouble.knobs import Knobs
from streamiter.testing.trouble.listing import ListingPage
from streamiter.testing.truth.service import Service, check_arn
from streamiter.testing.truth.streams import SimulatedStream

MAX_RECORDS = 1000
MAX_SHARDS = 100
MAX_STREAMS = 100

ITERATOR_TYPES = ("AFTER_SEQUENCE_NUMBER", "AT_SEQUENCE_NUMBER", "AT_TIMESTAMP", "LATEST", "TRIM_HORIZON")
_NUMBER = re.compile(r"\d{21,40}")


class StreamCalls:
    """A service's answers to the calls of DynamoDB Streams."""

    def __init__(self, service: Service, knobs: Knobs) -> None:
        self._service = service
        self._knobs = knobs

    def list_streams(
        self, table_name: str | None, limit: int | None, start_after: str | None, now_us: int
    ) -> tuple[list[SimulatedStream], str | None]:
        """ListStreams: a page of streams, and the ARN to go on from."""
        _check_limit(limit, MAX_STREAMS)
        if start_after is not None:
            check_arn(start_after)
        streams = [
            stream
            for stream in self._service.streams.values()
            if not stream.life.is_over(now_us, self._knobs.retention)
        ]
        streams = [stream for stream in streams if table_name in (None, stream.table.name)]
        streams = [stream for stream in streams if start_after is None or stream.arn > start_after]
        page = sorted(streams, key=lambda stream: stream.arn)[: limit or MAX_STREAMS]
        return page, page[-1].arn if len(page) < len(streams) else None

    def describe_stream(
        self,
        arn: str,
        limit: int | None,
        start_after: str | None,
        children_of: str | None,
        now_us: int,
    ) -> tuple[SimulatedStream, ListingPage]:
        """DescribeStream: the stream, and a page of its shards."""
        _check_limit(limit, MAX_SHARDS)
        stream = self._service.stream(arn, now_us)
        stream.age(now_us, self._knobs)
        if stream.life.status(now_us) == "ENABLING":
            return stream, ListingPage([], None)
        shards = stream.listed_in_order(self._knobs.listing_order)
        if children_of is not None and self._knobs.knows_child_filter:
            shards = [shard for shard in shards if shard.parent_id == children_of]
        limit = min(limit or MAX_SHARDS, self._knobs.shards_per_page)
        empty_end = self._knobs.ends_with_empty_page
        stream.listing.weather = self._knobs.weather
        return stream, stream.listing.page(shards, start_after, limit, now_us, empty_end=empty_end)

    def get_shard_iterator(
        self, arn: str, shard_id: str, type: str, number: str | None, time_us: int | None, now_us: int
    ) -> str:
        """GetShardIterator: the iterator's text."""
        self._check_type(type)
        if type.endswith("_SEQUENCE_NUMBER") and (number is None or not _NUMBER.fullmatch(number)):
            raise wrong_value("Invalid SequenceNumber")
        if number is not None and not type.endswith("_SEQUENCE_NUMBER"):
            raise wrong_value("SequenceNumber should not be passed for this iterator type")
        if type == "AT_TIMESTAMP" and time_us is None:
            raise wrong_value("Timestamp must be passed for this iterator type")
        if time_us is not None and time_us > now_us and self._knobs.refuses_future:
            raise invalid("Timestamp must not be in the future")
        shard = self._service.stream(arn, now_us).readable(shard_id, now_us, self._knobs)
        if number is not None and not shard.spans(int(number)):
            raise invalid("Invalid SequenceNumber for the shard")
        place = starting_place(shard, type, int(number or 0), time_us or 0)
        if place is None and self._knobs.trimmed_at == "GetShardIterator":
            raise trimmed()
        return ShardIterator(arn, shard_id, place or 0, 0, now_us, type, place is None).encode()

    def get_records(self, iterator: ShardIterator, limit: int | None, now_us: int) -> RecordsPage:
        """GetRecords: a page of records, and the iterator to go on from."""
        _check_limit(limit, MAX_RECORDS)
        if is_expired(iterator, self._knobs, now_us):
            raise expired()
        shard = self._service.stream(iterator.stream_arn, now_us).readable(iterator.shard_id, now_us, self._knobs)
        return read_page(shard, iterator, limit or MAX_RECORDS, self._knobs, now_us)

    def _check_type(self, type: str) -> None:
        known = [name for name in ITERATOR_TYPES if name != "AT_TIMESTAMP" or self._knobs.knows_at_timestamp]
        if type not in known:
            raise broken_rule(type, "shardIteratorType", f"satisfy enum value set: [{', '.join(known)}]")


def _check_limit(limit: int | None, greatest: int) -> None:
    if limit is not None and limit < 1:
        raise broken_rule(limit, "limit", "have value greater than or equal to 1")
    if limit is not None and limit > greatest:
        raise broken_rule(limit, "limit", f"have value less than or equal to {greatest}")
