"""The service: tables, their streams, and the four calls that read them; pure, with time as an argument and no HTTP.

It refuses by raising `Refusal`. What a call sees is the truth as of `now_us`: whatever is over by then is trimmed first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from streamiter.clock import microseconds
from streamiter.testing.iterators import ShardIterator
from streamiter.testing.knobs import Knobs
from streamiter.testing.listing import ListingPage
from streamiter.testing.records import ViewType, WrittenRecord
from streamiter.testing.refusal import broken_rule, expired, invalid, not_found, trimmed, wrong_value
from streamiter.testing.shards import SimulatedShard
from streamiter.testing.simulated_table import SimulatedTable
from streamiter.testing.streams import SimulatedStream

REGION = "us-east-1"
ACCOUNT = "000000000000"
MAX_RECORDS = 1000
MAX_SHARDS = 100
MAX_STREAMS = 100
FIRST_NUMBER = 100_000_000_000_000_000_000_000  # 24 digits, as the service's mostly are

ITERATOR_TYPES = ("AFTER_SEQUENCE_NUMBER", "AT_SEQUENCE_NUMBER", "AT_TIMESTAMP", "LATEST", "TRIM_HORIZON")
_ARN = re.compile(r"arn:aws[\w-]*:dynamodb:[\w-]+:\d{12}:table/[\w.-]{3,255}/stream/[\w:.-]+")
_NUMBER = re.compile(r"\d{21,40}")


@dataclass(frozen=True)
class RecordsPage:
    """A page of GetRecords."""

    records: list[WrittenRecord]
    next_iterator: str | None


class Service:
    """All that is true, and what the calls tell of it."""

    def __init__(self, knobs: Knobs, region: str | None = None, account: str = ACCOUNT) -> None:
        self.knobs = knobs
        self.region = region  # None: tables are where the clients are that make them
        self.account = account
        self.tables: dict[str, SimulatedTable] = {}
        self.streams: dict[str, SimulatedStream] = {}  # all that were ever enabled, by ARN
        self._number = FIRST_NUMBER
        self._made = 0  # tables

    # -- the truth

    def create_table(
        self, name: str, key_schema: list[dict[str, str]], now_us: int, signed_region: str | None = None
    ) -> SimulatedTable:
        """A table, as yet without a stream."""
        if name in self.tables:
            raise ValueError(f"there is a table {name!r} already")
        region = self.region or signed_region or REGION
        arn = f"arn:aws:dynamodb:{region}:{self.account}:table/{name}"
        self.tables[name] = SimulatedTable(name, arn, key_schema, now_us, self._made)
        self._made += 1
        return self.tables[name]

    def drop_table(self, table: SimulatedTable, now_us: int) -> None:
        """The table is gone; its stream stays readable, as a disabled one does."""
        if table.has_stream:
            table.latest.disable(now_us, 0)
        del self.tables[table.name]

    def enable_by_itself(self, table: SimulatedTable, view: ViewType, now_us: int) -> SimulatedStream:
        """A new stream that shards by itself, as the knobs say."""
        takes_us = microseconds(self.knobs.enabling)
        stream = self.enable(table, view, now_us, takes_us, keep_ids=False, shards_itself=True)
        stream.grow(self.knobs.starting_shape, now_us, self.next_number)
        return stream

    def enable(
        self,
        table: SimulatedTable,
        view: ViewType,
        now_us: int,
        takes_us: int,
        *,
        keep_ids: bool,
        shards_itself: bool = False,
    ) -> SimulatedStream:
        """A new stream of the table, with an ARN of its own."""
        if table.streams and not table.latest.is_disabled:
            raise ValueError(f"table {table.name!r} has a stream already; disable() it first")
        label_us = now_us
        while f"{table.arn}/stream/{_label(label_us)}" in self.streams:
            label_us += 1000
        stream = SimulatedStream(
            f"{table.arn}/stream/{_label(label_us)}",
            table.name,
            table.key_schema,
            view,
            now_us,
            now_us + takes_us,
            keep_ids=keep_ids,
            shards_itself=shards_itself,
        )
        table.streams.append(stream)
        self.streams[stream.arn] = stream
        return stream

    @property
    def self_sharding(self) -> list[SimulatedStream]:
        """The streams that roll and split by themselves, now."""
        latest = [table.latest for table in self.tables.values() if table.has_stream]
        return [stream for stream in latest if stream.shards_itself]

    def next_number(self, above: int = 0) -> int:
        """A sequence number greater than any given out so far, and than `above`; with gaps, as the service leaves them."""
        self._number = max(self._number, above)
        self._number += 1 + self._number * 7919 % 997
        return self._number

    # -- the calls

    def list_streams(
        self, table_name: str | None, limit: int | None, start_after: str | None, now_us: int
    ) -> tuple[list[SimulatedStream], str | None]:
        """ListStreams: a page of streams, and the ARN to go on from."""
        _check_limit(limit, MAX_STREAMS)
        if start_after is not None and not _ARN.fullmatch(start_after):
            raise invalid("Invalid StreamArn")
        streams = [stream for stream in self.streams.values() if not stream.is_over(now_us, self.knobs)]
        streams = [stream for stream in streams if table_name in (None, stream.table_name)]
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
        stream = self.stream(arn, now_us)
        stream.age(now_us, self.knobs)
        if stream.status(now_us) == "ENABLING":
            return stream, ListingPage([], None)
        shards = stream.listed_in_order(self.knobs.listing_order)
        if children_of is not None and self.knobs.knows_child_filter:
            shards = [shard for shard in shards if shard.parent_id == children_of]
        limit = min(limit or MAX_SHARDS, self.knobs.shards_per_page)
        empty_end = self.knobs.ends_with_empty_page
        stream.listing.weather = self.knobs.weather
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
        if time_us is not None and time_us > now_us and self.knobs.refuses_future:
            raise invalid("Timestamp must not be in the future")
        shard = self.stream(arn, now_us).readable(shard_id, now_us, self.knobs)
        place = _place(shard, type, int(number or 0), time_us or 0)
        if place is None and self.knobs.trimmed_at == "GetShardIterator":
            raise trimmed()
        return ShardIterator(arn, shard_id, place or 0, 0, now_us, type, place is None).encode()

    def get_records(self, iterator: ShardIterator, limit: int | None, now_us: int) -> RecordsPage:
        """GetRecords: a page of records, and the iterator to go on from."""
        _check_limit(limit, MAX_RECORDS)
        if now_us - iterator.issued_us >= self.knobs.iterator_lifetime * 1e6:
            raise expired()
        shard = self.stream(iterator.stream_arn, now_us).readable(iterator.shard_id, now_us, self.knobs)
        if iterator.is_trimmed or iterator.place < shard.trimmed:
            raise trimmed()
        return self._page(shard, iterator, min(limit or MAX_RECORDS, self.knobs.page_size), now_us)

    def _page(self, shard: SimulatedShard, iterator: ShardIterator, limit: int, now_us: int) -> RecordsPage:
        place, empties = iterator.place, iterator.empties
        records: list[WrittenRecord] = []
        if empties < self._empties_before(shard, place):
            empties += 1
        else:
            cut = self.knobs.weather.next_cut(shard.name, place, limit) if self.knobs.weather else None
            limit = limit if cut is None else cut - place
            records = shard.take(place, limit, self.knobs.page_bytes)
            if records:
                place, empties = place + len(records), 0
        is_read_out = shard.is_closed and place == shard.end and empties >= self._empties_before(shard, place)
        if is_read_out and not (records and (shard.last_page or self.knobs.last_page) == "empty"):
            shard.was_read_out = True
            return RecordsPage(records, None)
        following = msgspec.structs.replace(iterator, place=place, empties=empties, issued_us=now_us)
        return RecordsPage(records, following.encode())

    def _empties_before(self, shard: SimulatedShard, place: int) -> int:
        weather = self.knobs.weather
        return shard.pages.empties_before(place) or (weather.empties_before(shard.name, place) if weather else 0)

    def stream(self, arn: str, now_us: int) -> SimulatedStream:
        """The stream with this ARN; a refusal when there is none (any more)."""
        if not _ARN.fullmatch(arn):
            raise invalid("Invalid StreamArn")
        stream = self.streams.get(arn)
        if stream is None or stream.is_over(now_us, self.knobs):
            raise not_found(f"Stream: {arn} not found")
        return stream

    def table(self, name: str) -> SimulatedTable:
        """The table of this name or ARN; a refusal when there is none."""
        try:
            return self.tables[name.rpartition(":table/")[2]]
        except KeyError:
            raise not_found(f"Table: {name} not found") from None

    def _check_type(self, type: str) -> None:
        known = [name for name in ITERATOR_TYPES if name != "AT_TIMESTAMP" or self.knobs.knows_at_timestamp]
        if type not in known:
            raise broken_rule(type, "shardIteratorType", f"satisfy enum value set: [{', '.join(known)}]")


def _place(shard: SimulatedShard, type: str, number: int, time_us: int) -> int | None:
    """Where an iterator of this type starts; None: at what is trimmed."""
    if type == "TRIM_HORIZON":
        # Resolved now, not when it is read: what is trimmed in between is refused, as the service documents.
        return shard.trimmed
    if type == "LATEST":
        return shard.end
    if type == "AT_TIMESTAMP":
        return shard.place_at_time(time_us)
    return shard.place_at(number) if type == "AT_SEQUENCE_NUMBER" else shard.place_after(number)


def _check_limit(limit: int | None, greatest: int) -> None:
    if limit is not None and limit < 1:
        raise broken_rule(limit, "limit", "have value greater than or equal to 1")
    if limit is not None and limit > greatest:
        raise broken_rule(limit, "limit", f"have value less than or equal to {greatest}")


def _label(time_us: int) -> str:
    return datetime.fromtimestamp(time_us // 1000 / 1000, UTC).isoformat(timespec="milliseconds")[:23]
