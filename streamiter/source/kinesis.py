"""Kinesis Data Streams as a source, over boto3."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Literal

from streamiter.clock import SECOND_US
from streamiter.errors import (
    InvalidOption,
    InvalidStream,
    PositionTrimmed,
    StreamiterError,
    TransientError,
)
from streamiter.position import AtNumber, Position
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.aws import names_near, our_words, part, service_time_us
from streamiter.source.base import Page, ShardIterator, ShardPage
from streamiter.source.clients import Clients
from streamiter.source.kinesis_options import check_choice, parse_name, pause_us
from streamiter.source.kinesis_page import RawPage, decode_page, parsed_page, read_changes, read_payloads
from streamiter.source.kinesis_place import HOUR_US, LEAST_RETENTION_US, MOST_EMPTIES, KinesisPlace, iterator_type
from streamiter.source.kinesis_record import KinesisChange, KinesisRecord
from streamiter.source.kinesis_words import kinesis_words
from streamiter.source.wire import own_call

LOOK_AGAIN_US = 60 * SECOND_US  # how old what is known of the retention may become
RECORD_BYTES = 550  # what a waiting record takes in memory beyond its payload, ...
CHANGE_BYTES = 950  # ... and a change


class KinesisStreams:
    """A Kinesis data stream, by its name or ARN.

    `client` is a boto3 client of "kinesis"; without it, one is made from `session`, `endpoint_url` and `region`.
    `records="dynamodb"` reads what DynamoDB writes to the stream, as changes; `duplicates="drop"` drops those of its changes
    that come again. All readers of a stream share five reads and 2 MB a second of each shard: `reads_per_second` and
    `bytes_per_second` say how much of that is ours (None: as fast as it goes, for emulators).
    """

    iterator_us = 5 * 60 * SECOND_US
    page_limit = 10_000
    listings_per_second = 200.0  # a stream takes 1000, from all its readers together

    def __init__(
        self,
        name_or_arn: str,
        *,
        client: Any = None,
        session: Any = None,
        endpoint_url: str | None = None,
        region: str | None = None,
        records: Literal["payload", "dynamodb"] = "payload",
        duplicates: Literal["keep", "drop"] = "keep",
        reads_per_second: float | None = 5.0,
        bytes_per_second: float | None = 2_000_000,
    ) -> None:
        if not isinstance(name_or_arn, str):
            raise InvalidOption(f"a stream is named by a str (name or ARN), not by a {type(name_or_arn).__name__}")
        check_choice("records", records, ("payload", "dynamodb"))
        check_choice("duplicates", duplicates, ("keep", "drop"))
        if duplicates == "drop" and records != "dynamodb":
            raise InvalidOption(
                "duplicates='drop' knows records by DynamoDB's event ids: it goes with records='dynamodb'"
            )
        arn = parse_name(name_or_arn)
        # Cross-account reading needs the ARN, emulators need the name: each is called by what was given.
        self._by: dict[str, str] = {"StreamARN": name_or_arn} if arn else {"StreamName": name_or_arn}
        self._given = name_or_arn
        self._stream = arn["name"] if arn else name_or_arn
        self._region = arn["region"] if arn else None
        self._read = read_changes if records == "dynamodb" else read_payloads
        self.record_type: type[Record] = KinesisChange if records == "dynamodb" else KinesisRecord
        self._record_bytes = CHANGE_BYTES if records == "dynamodb" else RECORD_BYTES
        self.drops_duplicates = duplicates == "drop"
        self._read_us = pause_us("reads_per_second", reads_per_second)
        self._byte_us = pause_us("bytes_per_second", bytes_per_second)
        self._clients = Clients(
            self,
            "kinesis",
            "kinesis",
            client=client,
            session=session,
            endpoint_url=endpoint_url,
            region=region or (self._region if client is None else None),
        )
        self._lock = threading.Lock()
        self._name: str | None = None
        self._retention_us = LEAST_RETENTION_US
        self._looked_us: int | None = None  # when the description was looked at, by the service's clock

    def __repr__(self) -> str:
        return f"KinesisStreams({self._given!r})"

    @property
    def name(self) -> str:
        """The stream's ARN, and when it was made: one that is deleted and made again is another one."""
        if self._name is None:
            try:
                self._look()
            except InvalidStream as error:
                raise InvalidStream(f"there is no stream {self._given} here{self._near()}") from error
        assert self._name is not None
        return self._name

    @property
    def connections(self) -> int:
        """How many calls at once the client has connections for; a boto3 client has 10, unless its Config says otherwise."""
        return self._clients.connections

    @property
    def session(self) -> Any:
        """The boto3 session that clients are made from; None where a client was passed in."""
        return self._clients.session

    def make_client(self, service: str) -> Any:
        """A boto3 client, reached as this one is; it is closed with the source."""
        return self._clients.make(service, attempts=6)

    @property
    def retention_us(self) -> int:
        """How long the stream holds records, as its description last said."""
        return self._retention_us

    def identify(self, record: Record) -> str | None:
        """What a change and its duplicates have in common."""
        return record.event_id if isinstance(record, KinesisChange) else None

    # -- the contract

    def list_shards(self, after: str | None) -> ShardPage:
        """One ListShards call: up to 1000 shards, none of them expired."""
        # A token is all that the next page may be asked with.
        options: dict[str, Any] = dict(self._by) if after is None else {"NextToken": after}
        with kinesis_words("kinesis:ListShards", self._given, gone=InvalidStream), own_call():
            response = self._clients.reading.list_shards(**options)
        service_us = service_time_us(response)
        self._look_again(service_us, LOOK_AGAIN_US)
        return ShardPage(tuple(map(_shard, part(response, "Shards"))), response.get("NextToken") or None, service_us)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """One GetShardIterator call."""
        with kinesis_words("kinesis:GetShardIterator", self._where(shard_id), position), own_call():
            response = self._clients.reading.get_shard_iterator(**self._by, ShardId=shard_id, **iterator_type(position))
        return ShardIterator(shard_id, KinesisPlace.opened(part(response, "ShardIterator"), position))

    def fetch(self, iterator: ShardIterator, limit: int) -> Page:
        """One GetRecords call. A page that may lie behind what is held comes with the next one, which asks whether it does."""
        shard_id = iterator.shard_id
        place: KinesisPlace = iterator.value
        if place.doubted is not None:
            assert place.last is not None
            if not self._holds(shard_id, place.last):
                raise self._trimmed(shard_id, place.last)
            return self._page(shard_id, place, *place.doubted, self._read_us)
        # The one that was read comes again.
        page, service_us = self._get_records(shard_id, place, limit + place.was_read)
        rest_us = max(self._read_us, round(sum(len(row.Data) for row in page.Records) * self._byte_us))
        if self._is_doubtful(shard_id, place, page, service_us):
            doubting = ShardIterator(shard_id, place._replace(doubted=(page, service_us)))
            return Page([], doubting, service_us, caught_up=False, rest_us=rest_us)
        return self._page(shard_id, place, page, service_us, rest_us)

    def close(self) -> None:
        """Closes the clients that were made here; one that was passed in is its owner's."""
        self._clients.close()

    def _page(self, shard_id: str, place: KinesisPlace, page: RawPage, service_us: int | None, rest_us: int) -> Page:
        """The page as the contract has it."""
        records = self._read(shard_id, page.Records)
        if place.was_read:
            del records[:1]  # of an aggregate, the others follow: how many of them were read, the cursor knows
        following = place.following(page, service_us)
        behind = page.MillisBehindLatest
        return Page(
            records,
            None if following is None else ShardIterator(shard_id, following),
            service_us,
            None if behind is None else behind == 0 and not page.Records,
            sum(len(row.Data) for row in page.Records) + self._record_bytes * len(records),
            tuple(Shard(child.ShardId, child.ParentShards) for child in page.ChildShards or ()),
            rest_us,
        )

    # -- what is held

    def _is_doubtful(self, shard_id: str, place: KinesisPlace, page: RawPage, service_us: int | None) -> bool:
        """Whether records before the page may be gone that were never given; raises where they are."""
        if place.awaited is not None:
            if place.is_missed(page, self._retention_us):
                raise self._trimmed(shard_id, place.awaited)
            return False
        since_us = None if service_us is None else place.since_us(service_us, self._retention_us)
        if service_us is None or since_us is None or service_us + SECOND_US - since_us <= LEAST_RETENTION_US:
            return False
        self._look_again(service_us, SECOND_US)  # it may have been decreased of late
        if service_us + SECOND_US - since_us <= self._retention_us:
            return False
        if place.last is None:
            raise self._trimmed(shard_id, None)
        # What came before the page may be gone; if its last record is still there afterwards, nothing behind it went before.
        # That is another read of the shard, and a large page has used up its rate for some seconds.
        return True

    def _holds(self, shard_id: str, number: str) -> bool:
        """Whether the shard still has this record."""
        place: KinesisPlace | None = self.open_iterator(shard_id, AtNumber(number)).value
        for _ in range(MOST_EMPTIES):
            assert place is not None  # the record before a page is missed, if nothing else, where the shard ends
            page, service_us = self._get_records(shard_id, place, 1)
            if page.Records or place.is_missed(page, self._retention_us):
                return not place.is_missed(page, self._retention_us)
            place = place.following(page, service_us)
        raise TransientError(f"{self._where(shard_id)}: record {number} is looked for, and only empty pages come")

    def _trimmed(self, shard_id: str, number: str | None) -> PositionTrimmed:
        behind = "its start" if number is None else f"record {number}, from which to go on,"
        return PositionTrimmed(f"{self._where(shard_id)}: {behind} is no longer held")

    def _get_records(self, shard_id: str, place: KinesisPlace, limit: int) -> tuple[RawPage, int | None]:
        """One GetRecords call: the page, and its time."""
        by = self._by if "StreamARN" in self._by else {}
        with kinesis_words("kinesis:GetRecords", self._where(shard_id)), own_call(decode_page) as answer:
            response = self._clients.reading.get_records(
                ShardIterator=place.text, Limit=min(limit, self.page_limit), **by
            )
        page = parsed_page(response) if answer.page is None else answer.page
        return page, service_time_us(response)

    def _look_again(self, service_us: int | None, most_us: int) -> None:
        if service_us is None:
            return
        with self._lock:
            if self._looked_us is None or service_us - self._looked_us >= most_us:
                self._look()

    def _look(self) -> None:
        """One DescribeStreamSummary call: the stream's name for tokens, and its retention."""
        with kinesis_words("kinesis:DescribeStreamSummary", self._given, gone=InvalidStream), own_call():
            response = self._clients.reading.describe_stream_summary(**self._by)
        summary = part(response, "StreamDescriptionSummary")
        arn, made = summary["StreamARN"], summary.get("StreamCreationTimestamp")
        name = arn if made is None else f"{arn}@{int(made.timestamp())}"
        if self._name not in (None, name):
            raise InvalidStream(f"{self._given} was deleted and made again while it was read: it is {name} now")
        self._name = name
        self._retention_us = int(summary["RetentionPeriodHours"]) * HOUR_US
        self._looked_us = service_time_us(response)

    def _where(self, shard_id: str) -> str:
        return f"shard {shard_id} of {self._given}"

    def _near(self) -> str:
        """The names that the wrong one may have meant, where the caller may list streams."""
        asked, called = self._region, getattr(getattr(self._clients.reading, "meta", None), "region_name", None)
        if asked and called and asked != called:
            return f"; the client calls {called}, the ARN is of {asked}"
        try:
            with our_words("kinesis:ListStreams", "the account"):
                names = self._clients.reading.list_streams().get("StreamNames") or []
        except StreamiterError:
            return ""
        return names_near(self._stream, names, "stream")


def _shard(row: Mapping[str, Any]) -> Shard:
    parents = (row.get("ParentShardId"), row.get("AdjacentParentShardId"))
    numbers = row.get("SequenceNumberRange") or {}
    return Shard(
        row["ShardId"], tuple(parent for parent in parents if parent), bool(numbers.get("EndingSequenceNumber"))
    )
