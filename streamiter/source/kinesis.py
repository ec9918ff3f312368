"""Kinesis Data Streams as a source, over boto3.

Kinesis never says that a place is no longer held: an old sequence number opens at the horizon, or gives empty pages for
good, and an iterator that trimming overtakes goes on behind what was trimmed. So a shard is opened *at* the last record
that was read, which has to come again, and each page is held against the retention (docs/sources.md).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from botocore.exceptions import ClientError

from streamiter.clock import SECOND_US
from streamiter.errors import (
    InvalidOption,
    InvalidStream,
    IteratorExpired,
    PositionTrimmed,
    ShardGone,
    SourceError,
    StreamiterError,
    TransientError,
)
from streamiter.position import After, AtNumber, AtTime, Position
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.aws import names_near, our_words, part, service_time_us
from streamiter.source.base import Page, ShardIterator, ShardPage
from streamiter.source.clients import Clients
from streamiter.source.kinesis_page import RawPage, decode_page, parsed_page, read_changes, read_payloads
from streamiter.source.kinesis_record import KinesisChange, KinesisRecord
from streamiter.source.wire import own_call

_ARN = re.compile(r"arn:[\w-]+:kinesis:(?P<region>[\w-]*):[\w-]*:stream/(?P<name>[A-Za-z0-9_.-]{1,128})")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
HOUR_US = 3600 * SECOND_US
LEAST_RETENTION_US = 24 * HOUR_US  # no stream holds its records for less
LOOK_AGAIN_US = 60 * SECOND_US  # how old what is known of the retention may become
RECORD_BYTES = 700  # what a waiting record takes in memory beyond its payload
MOST_EMPTIES = 8  # pages that may be empty, and say that there is no more, before the record that is waited for


class _Place(NamedTuple):
    """A living iterator, and what is known of the place that it stands at."""

    text: str
    awaited: str | None = None  # the next record has to be this one: it was read before, so nothing is lost since
    was_read: bool = False  # the one waited for is not to be given again
    empties: int = 0  # pages without it
    start_us: int | None = None  # what arrived before was not asked for
    whole_us: int | None = None  # all that arrived up to this moment was given


class KinesisStreams:
    """A Kinesis data stream, by its name or ARN.

    `client` is a boto3 client of "kinesis"; without it, one is made from `session`, `endpoint_url` and `region`.
    `records="dynamodb"` reads what DynamoDB writes to the stream, as changes; `duplicates="drop"` drops those of its changes
    that come again. All readers of a stream share five reads and 2 MB a second of each shard: `reads_per_second` and
    `bytes_per_second` say how much of that is ours (None: as fast as it goes, for emulators).
    """

    iterator_us = 5 * 60 * SECOND_US
    page_limit = 10_000
    listings_per_second = 10.0

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
        _check_choice("records", records, ("payload", "dynamodb"))
        _check_choice("duplicates", duplicates, ("keep", "drop"))
        if duplicates == "drop" and records != "dynamodb":
            raise InvalidOption(
                "duplicates='drop' knows records by DynamoDB's event ids: it goes with records='dynamodb'"
            )
        arn = _parse_name(name_or_arn)
        # Cross-account reading needs the ARN, emulators need the name: each is called by what was given.
        self._by: dict[str, str] = {"StreamARN": name_or_arn} if arn else {"StreamName": name_or_arn}
        self._given = name_or_arn
        self._stream = arn["name"] if arn else name_or_arn
        self._read = read_changes if records == "dynamodb" else read_payloads
        self.record_type: type[Record] = KinesisChange if records == "dynamodb" else KinesisRecord
        self.drops_duplicates = duplicates == "drop"
        self._read_us = _pause_us("reads_per_second", reads_per_second)
        self._byte_us = _pause_us("bytes_per_second", bytes_per_second)
        self._clients = Clients(
            self,
            "kinesis",
            "kinesis",
            client=client,
            session=session,
            endpoint_url=endpoint_url,
            region=region or (arn["region"] if arn and client is None else None),
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
        with self._words("kinesis:ListShards", self._given, gone=InvalidStream), own_call():
            response = self._clients.reading.list_shards(**options)
        service_us = service_time_us(response)
        self._look_again(service_us, LOOK_AGAIN_US)
        return ShardPage(tuple(map(_shard, part(response, "Shards"))), response.get("NextToken") or None, service_us)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """One GetShardIterator call."""
        with self._words("kinesis:GetShardIterator", self._where(shard_id), position), own_call():
            response = self._clients.reading.get_shard_iterator(
                **self._by, ShardId=shard_id, **_iterator_type(position)
            )
        text = part(response, "ShardIterator")
        if isinstance(position, After | AtNumber):
            number = position.place.text if isinstance(position, After) else position.text
            return ShardIterator(shard_id, _Place(text, number, isinstance(position, After)))
        return ShardIterator(
            shard_id, _Place(text, start_us=position.time_us if isinstance(position, AtTime) else None)
        )

    def fetch(self, iterator: ShardIterator, limit: int) -> Page:
        """One GetRecords call."""
        shard_id, place = iterator.shard_id, iterator.value
        by = self._by if "StreamARN" in self._by else {}
        with self._words("kinesis:GetRecords", self._where(shard_id)), own_call(decode_page) as answer:
            response = self._clients.reading.get_records(
                ShardIterator=place.text, Limit=min(limit, self.page_limit), **by
            )
        page = parsed_page(response) if answer.page is None else answer.page
        service_us = service_time_us(response)
        self._check_held(shard_id, place, page, service_us)
        records = self._read(shard_id, page.Records)
        if page.Records and place.awaited is not None and place.was_read:
            del records[0]  # of an aggregate, the others follow: how many of them were read, the cursor knows
        size_bytes = sum(len(row.Data) for row in page.Records)
        return Page(
            records,
            self._next(shard_id, place, page, service_us),
            service_us,
            None if page.MillisBehindLatest is None else page.MillisBehindLatest == 0,
            size_bytes + RECORD_BYTES * len(records),
            tuple(Shard(child.ShardId, child.ParentShards) for child in page.ChildShards or ()),
            max(self._read_us, round(size_bytes * self._byte_us)),
        )

    def close(self) -> None:
        """Closes the clients that were made here; one that was passed in is its owner's."""
        self._clients.close()

    # -- what is held

    def _next(self, shard_id: str, place: _Place, page: RawPage, service_us: int | None) -> ShardIterator | None:
        if not page.NextShardIterator:
            return None
        if not page.Records:
            whole_us = place.whole_us if page.MillisBehindLatest else service_us
            following = place._replace(text=page.NextShardIterator, empties=place.empties + 1, whole_us=whole_us)
        else:
            following = _Place(page.NextShardIterator, whole_us=page.Records[-1].arrived_us)
        return ShardIterator(shard_id, following)

    def _check_held(self, shard_id: str, place: _Place, page: RawPage, service_us: int | None) -> None:
        """Raises where the page may begin behind records that were never given."""
        if place.awaited is not None:
            self._check_awaited(shard_id, place, page)
            return
        since_us = place.whole_us
        if since_us is None and place.start_us is not None and service_us is not None:
            # A start that is older than all that is held stands for the horizon.
            since_us = place.start_us if service_us - place.start_us <= self._retention_us else None
        if since_us is None or service_us is None or service_us + SECOND_US - since_us <= LEAST_RETENTION_US:
            return
        self._look_again(service_us, SECOND_US)  # it may have been decreased of late
        if service_us + SECOND_US - since_us <= self._retention_us:
            return
        if place.whole_us is None:
            raise PositionTrimmed(f"{self._where(shard_id)}: its start is older than what is held")
        # Whether anything is lost, the last record tells: opened there, the shard has to give it again.
        raise IteratorExpired(f"{self._where(shard_id)}: it may have fallen behind what is held")

    def _check_awaited(self, shard_id: str, place: _Place, page: RawPage) -> None:
        if page.Records:
            if page.Records[0].SequenceNumber == place.awaited:
                return
        else:
            behind = page.MillisBehindLatest
            is_over = page.NextShardIterator is None or (not behind and place.empties + 1 >= MOST_EMPTIES)
            # Kinesis may give empty pages for good, from a place that is as far behind as the retention goes.
            if not is_over and (behind is None or behind * 1000 < self._retention_us):
                return
        raise PositionTrimmed(
            f"{self._where(shard_id)}: record {place.awaited}, from which to go on, is no longer held"
        )

    def _look_again(self, service_us: int | None, most_us: int) -> None:
        if service_us is None or self._looked_us is None or service_us - self._looked_us < most_us:
            return
        with self._lock:
            if service_us - self._looked_us >= most_us:
                self._look()

    def _look(self) -> None:
        """One DescribeStreamSummary call: the stream's name for tokens, and its retention."""
        with self._words("kinesis:DescribeStreamSummary", self._given, gone=InvalidStream), own_call():
            response = self._clients.reading.describe_stream_summary(**self._by)
        summary = part(response, "StreamDescriptionSummary")
        arn, made = summary["StreamARN"], summary.get("StreamCreationTimestamp")
        name = arn if made is None else f"{arn}@{int(made.timestamp())}"
        if self._name not in (None, name):
            raise InvalidStream(f"{self._given} was deleted and made again while it was read: it is {name} now")
        self._name = name
        self._retention_us = int(summary["RetentionPeriodHours"]) * HOUR_US
        self._looked_us = service_time_us(response)

    # -- words

    def _where(self, shard_id: str) -> str:
        return f"shard {shard_id} of {self._given}"

    @contextmanager
    def _words(
        self, action: str, where: str, position: Position | None = None, gone: type[Exception] = ShardGone
    ) -> Iterator[None]:
        try:
            with our_words(action, where, gone=gone, at_time=isinstance(position, AtTime)):
                yield
        except ShardGone as error:
            if "shard" not in _told(error)[1].lower():  # it is the stream that is not there
                raise InvalidStream(str(error)) from error
            raise
        except SourceError as error:
            code, message = _told(error)
            if code != "InvalidArgumentException" or position is None:
                raise
            if isinstance(position, AtTime) and "currentTimestampInMillis" in message:
                raise TransientError(str(error)) from error  # one of the service's clocks is behind the others
            if isinstance(position, After | AtNumber) and not _is_foreign(message):
                raise PositionTrimmed(str(error)) from error
            raise

    def _near(self) -> str:
        """The names that the wrong one may have meant, where the caller may list streams."""
        try:
            with our_words("kinesis:ListStreams", "the account"):
                names = self._clients.reading.list_streams().get("StreamNames") or []
        except StreamiterError:
            return ""
        return names_near(self._stream, names, "stream")


def _parse_name(name: str) -> re.Match[str] | None:
    if name.startswith("arn:"):
        arn = _ARN.fullmatch(name)
        if arn is None:
            raise InvalidStream(
                f"{name!r} is not the ARN of a Kinesis stream (arn:aws:kinesis:REGION:ACCOUNT:stream/NAME)"
            )
        return arn
    if not _NAME.fullmatch(name):
        raise InvalidStream(f"{name!r} is not a stream's name: letters, digits, '_', '-' and '.', at most 128 of them")
    return None


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidOption(f"{name}= takes {' or '.join(map(repr, choices))}, not {value!r}")


def _pause_us(name: str, rate: float | None) -> Any:
    """Microseconds for one of what the rate counts."""
    if rate is None:
        return 0
    if not isinstance(rate, int | float) or isinstance(rate, bool) or not rate > 0:
        raise InvalidOption(f"{name}= takes a number above 0, or None, not {rate!r}")
    return SECOND_US / rate


def _shard(row: Mapping[str, Any]) -> Shard:
    parents = (row.get("ParentShardId"), row.get("AdjacentParentShardId"))
    numbers = row.get("SequenceNumberRange") or {}
    return Shard(
        row["ShardId"], tuple(parent for parent in parents if parent), bool(numbers.get("EndingSequenceNumber"))
    )


def _iterator_type(position: Position) -> dict[str, Any]:
    if isinstance(position, After):
        return {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": position.place.text}
    if isinstance(position, AtNumber):
        return {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": position.text}
    if isinstance(position, AtTime):
        moment = datetime.fromtimestamp(position.time_us // SECOND_US, UTC)
        return {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": moment}
    return {"ShardIteratorType": "TRIM_HORIZON"}


def _told(error: BaseException) -> tuple[str, str]:
    """The service's own code and message behind one of our errors."""
    cause = error.__cause__
    told = cause.response.get("Error", {}) if isinstance(cause, ClientError) else {}
    return str(told.get("Code", "")), str(told.get("Message", ""))


def _is_foreign(message: str) -> bool:
    """Whether a sequence number was refused because it is another shard's or another stream's."""
    return "encodes" in message or "did not come from this stream" in message
