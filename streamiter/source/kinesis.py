"""Kinesis Data Streams as a source, over boto3."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, cast, overload

from streamiter.clock import SECOND_US
from streamiter.errors import (
    InvalidOption,
    InvalidStream,
    PositionTrimmed,
    StreamiterError,
)
from streamiter.position import AtNumber, Position
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.aws import (
    aws_errors,
    names_near,
    next_part,
    part,
    place_of,
    service_time_us,
    shard_rows,
    taking_apart,
    text_part,
)
from streamiter.source.aws_source import AwsSource
from streamiter.source.base import Page, ShardIterator, ShardPage
from streamiter.source.clients import Clients
from streamiter.source.kinesis_errors import kinesis_errors
from streamiter.source.kinesis_fan_out import FanOut, is_start, position_of, start_of
from streamiter.source.kinesis_options import check_choice, check_consumer, parse_name, pause_us
from streamiter.source.kinesis_page import (
    RawPage,
    decode_page,
    parsed_page,
    read_changes,
    read_page,
    read_payloads,
    salvage_page,
)
from streamiter.source.kinesis_place import HOUR_US, LEAST_RETENTION_US, Doubt, KinesisPlace, iterator_type
from streamiter.source.kinesis_record import KinesisChange, KinesisRecord
from streamiter.source.salvage import Salvage
from streamiter.source.wire import hooked_call
from streamiter.token import DAY_US

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Kind = TypeVar("Kind", bound=str, default=Literal["payload"])  # of `records`
else:
    from typing import TypeVar

    Kind = TypeVar("Kind")

LOOK_AGAIN_US = 60 * SECOND_US  # how old what is known of the retention may become
RECORD_BYTES = 550  # what a waiting record takes in memory beyond its payload, ...
CHANGE_BYTES = 950  # ... and a change


class KinesisStreams(AwsSource[KinesisChange | KinesisRecord], Generic[Kind]):
    """A Kinesis data stream, by its name or ARN.

    `client` is a boto3 client of "kinesis"; without it, one is made from `session`, `endpoint_url` and `region`.
    `records="dynamodb"` reads what DynamoDB writes to the stream, as changes; `duplicates="drop"` drops those of its changes
    that come again. All readers of a stream share five reads and 2 MB a second of each shard: `reads_per_second` and
    `bytes_per_second` say how much of that is ours (None: as fast as it goes, for emulators).

    `consumer`, the ARN of a registered consumer, has the service send the records instead (enhanced fan-out): 2 MB a second
    of each shard for this consumer alone.
    """

    iterator_us = 5 * 60 * SECOND_US
    page_limit = 10_000
    listings_per_second = 200.0  # a stream takes 1000, from all its readers together

    @overload
    def __init__(
        self: KinesisStreams[Literal["payload"]],
        name_or_arn: str,
        *,
        client: Any = None,
        session: Any = None,
        endpoint_url: str | None = None,
        region: str | None = None,
        records: Literal["payload"] = "payload",
        duplicates: Literal["keep"] = "keep",
        reads_per_second: float | None = 5.0,
        bytes_per_second: float | None = 2_000_000,
        consumer: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: KinesisStreams[Literal["dynamodb"]],
        name_or_arn: str,
        *,
        client: Any = None,
        session: Any = None,
        endpoint_url: str | None = None,
        region: str | None = None,
        records: Literal["dynamodb"],
        duplicates: Literal["keep", "drop"] = "keep",
        reads_per_second: float | None = 5.0,
        bytes_per_second: float | None = 2_000_000,
        consumer: str | None = None,
    ) -> None: ...

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
        consumer: str | None = None,
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
        self._read_us = round(pause_us("reads_per_second", reads_per_second))
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
        self._fan_out: FanOut | None = None
        if consumer is not None:
            check_consumer(consumer, name_or_arn)
            self._fan_out = FanOut(self._clients, consumer)
            self._read_us = self._byte_us = 0  # no other reader shares these
            self.iterator_us = DAY_US  # what stands for one is only a place
        self._salvage = Salvage(salvage_page)
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
                place = place_of(self._clients.reading)
                raise InvalidStream(f"there is no stream {self._given} {place}{self._near()}") from error
        assert self._name is not None
        return self._name

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
        with kinesis_errors("kinesis:ListShards", self._given, gone=InvalidStream), hooked_call():
            response = self._clients.reading.list_shards(**options)
        with taking_apart("kinesis:ListShards", self._given):
            rows, following = shard_rows(part(response, "Shards"), _shard), next_part(response, "NextToken")
            service_us = service_time_us(response)
        self._look_again(service_us, LOOK_AGAIN_US)
        return ShardPage(rows, following, service_us)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """One GetShardIterator call; none by fan-out, where it only names the place."""
        if self._fan_out is not None:
            text = start_of(iterator_type(position)).text
            return ShardIterator(shard_id, KinesisPlace.opened(text, position))
        return self._open(shard_id, position)

    def _open(self, shard_id: str, position: Position) -> ShardIterator:
        with kinesis_errors("kinesis:GetShardIterator", self._where(shard_id), position), hooked_call():
            response = self._clients.call("get_shard_iterator", **self._by, ShardId=shard_id, **iterator_type(position))
        with taking_apart("kinesis:GetShardIterator", self._where(shard_id)):
            return ShardIterator(shard_id, KinesisPlace.opened(text_part(response, "ShardIterator"), position))

    def fetch(self, iterator: ShardIterator, limit: int) -> Page[KinesisChange | KinesisRecord]:
        """One GetRecords call. A page that may lie behind what is held comes with a later one, which asks whether it does."""
        shard_id = iterator.shard_id
        place: KinesisPlace = iterator.value
        if place.doubt is not None:
            return self._look_for_last(shard_id, place, place.doubt)
        # The one that was read comes again.
        page, service_us = self._get_records(shard_id, place, limit + place.was_read)
        rest_us = max(self._read_us, round(sum(len(row.Data) for row in page.Records) * self._byte_us))
        if self._is_doubtful(shard_id, place, page, service_us):
            return self._doubting(shard_id, place, Doubt(page, service_us), service_us, rest_us)
        return self._page(shard_id, place, page, service_us, rest_us)

    def _page(
        self, shard_id: str, place: KinesisPlace, page: RawPage, service_us: int | None, rest_us: int
    ) -> Page[KinesisChange | KinesisRecord]:
        """The page as the contract has it."""
        records = read_page(shard_id, page, self._read)
        if place.was_read:
            del records[:1]  # of an aggregate, the others follow: how many of them were read, the cursor knows
        following = place.following(page, service_us)
        behind = page.MillisBehindLatest
        with taking_apart("kinesis:GetRecords", self._where(shard_id)):
            children = tuple(
                Shard(child.ShardId, child.ParentShards, hash_keys=_hash_keys(child.HashKeyRange))
                for child in page.ChildShards or ()
            )
        return Page(
            cast("Sequence[KinesisChange | KinesisRecord]", records),  # but for spoiled ones, which are never returned
            None if following is None else ShardIterator(shard_id, following),
            service_us,
            None if behind is None else behind == 0 and not records,
            sum(len(row.Data) for row in page.Records) + self._record_bytes * len(records),
            children,
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

    def _look_for_last(self, shard_id: str, place: KinesisPlace, doubt: Doubt) -> Page[KinesisChange | KinesisRecord]:
        """One step of finding out whether the record before a page is still held: one GetRecords call.

        Empty pages may come before it. Each step is a page of its own, without records: the shard may be read five times a
        second, and who reads it more often in one go is refused, and learns nothing however often it is tried.
        """
        assert place.last is not None
        search: KinesisPlace | None = doubt.search or self._open(shard_id, AtNumber(place.last)).value
        assert search is not None
        page, service_us = self._get_records(shard_id, search, 1)
        if search.is_missed(page, self._retention_us):
            raise self._trimmed(shard_id, place.last)
        if page.Records:
            return self._page(shard_id, place, doubt.page, doubt.service_us, self._read_us)
        search = search.following(page, service_us)  # not its end: there it would be missed
        return self._doubting(shard_id, place, doubt._replace(search=search), service_us, self._read_us)

    def _doubting(
        self, shard_id: str, place: KinesisPlace, doubt: Doubt, service_us: int | None, rest_us: int
    ) -> Page[KinesisChange | KinesisRecord]:
        """Nothing for now: whether the page that came may be given is still to be found out."""
        doubting = ShardIterator(shard_id, place._replace(doubt=doubt))
        return Page([], doubting, service_us, caught_up=False, rest_us=rest_us)

    def _trimmed(self, shard_id: str, number: str | None) -> PositionTrimmed:
        behind = "its start" if number is None else f"record {number}, from which to go on,"
        return PositionTrimmed(f"{self._where(shard_id)}: {behind} is no longer held")

    def _get_records(self, shard_id: str, place: KinesisPlace, limit: int) -> tuple[RawPage, int | None]:
        """One GetRecords call: the page, and its time."""
        if self._fan_out is not None and is_start(place.text):
            with (
                kinesis_errors("kinesis:SubscribeToShard", self._where(shard_id), position_of(place.text)),
                taking_apart("kinesis:SubscribeToShard", self._where(shard_id)),
            ):
                return self._fan_out.take(shard_id, place.text, min(limit, self.page_limit))
        by = self._by if "StreamARN" in self._by else {}
        with (
            kinesis_errors("kinesis:GetRecords", self._where(shard_id)),
            hooked_call(decode_page, self._salvage, place.text) as answer,
        ):
            response = self._clients.call(
                "get_records", ShardIterator=place.text, Limit=min(limit, self.page_limit), **by
            )
        with taking_apart("kinesis:GetRecords", self._where(shard_id)):
            page = parsed_page(response) if answer.page is None else answer.page
            return page, service_time_us(response)

    def close(self) -> None:
        """Ends subscriptions, and closes the clients that were made here."""
        if self._fan_out is not None:
            self._fan_out.close()
        super().close()

    def _look_again(self, service_us: int | None, most_us: int) -> None:
        if service_us is None:
            return
        with self._lock:
            if self._looked_us is None or service_us - self._looked_us >= most_us:
                self._look()

    def _look(self) -> None:
        """One DescribeStreamSummary call: the stream's name for tokens, and its retention."""
        with kinesis_errors("kinesis:DescribeStreamSummary", self._given, gone=InvalidStream), hooked_call():
            response = self._clients.reading.describe_stream_summary(**self._by)
        with taking_apart("kinesis:DescribeStreamSummary", self._given):
            summary = part(response, "StreamDescriptionSummary")
            arn, made = text_part(summary, "StreamARN"), summary.get("StreamCreationTimestamp")
            name = arn if made is None else f"{arn}@{int(made.timestamp())}"
            retention_us = int(summary["RetentionPeriodHours"]) * HOUR_US
            looked_us = service_time_us(response)
        if self._name not in (None, name):
            raise InvalidStream(f"{self._given} was deleted and made again while it was read: it is {name} now")
        self._name = name
        self._retention_us = retention_us
        self._looked_us = looked_us

    def _where(self, shard_id: str) -> str:
        return f"shard {shard_id} of {self._given}"

    def _near(self) -> str:
        """The names that the wrong one may have meant, where the caller may list streams."""
        asked, called = self._region, getattr(getattr(self._clients.reading, "meta", None), "region_name", None)
        if asked and called and asked != called:
            return f"; the client calls {called}, the ARN is of {asked}"
        try:
            with aws_errors("kinesis:ListStreams", "the account"):
                names = self._clients.reading.list_streams().get("StreamNames") or []
        except StreamiterError:
            return ""
        return names_near(self._stream, names, "stream")


def _shard(row: Mapping[str, Any]) -> Shard:
    parents = (row.get("ParentShardId"), row.get("AdjacentParentShardId"))
    numbers = row.get("SequenceNumberRange") or {}
    return Shard(
        row["ShardId"],
        tuple(parent for parent in parents if parent),
        bool(numbers.get("EndingSequenceNumber")),
        _hash_keys(row.get("HashKeyRange")),
    )


def _hash_keys(range_: Mapping[str, str] | None) -> tuple[str, str] | None:
    return (range_["StartingHashKey"], range_["EndingHashKey"]) if range_ else None
