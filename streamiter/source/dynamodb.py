"""DynamoDB Streams as a source, over boto3."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from streamiter.clock import SECOND_US
from streamiter.errors import InvalidOption, InvalidStream, StreamiterError
from streamiter.position import After, AtNumber, AtTime, Position
from streamiter.record import ChangeRecord
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
from streamiter.source.dynamodb_page import decode_page, parsed_records, salvage_page
from streamiter.source.salvage import Salvage
from streamiter.source.wire import hooked_call

logger = logging.getLogger("streamiter.source")

_STREAM_ARN = re.compile(r"arn:[\w-]+:dynamodb:[\w-]*:[\w-]*:table/(?P<table>[^/]+)/stream/(?P<label>.+)")
_TABLE_ARN = re.compile(r"arn:[\w-]+:dynamodb:(?P<region>[\w-]*):[\w-]*:table/(?P<table>[^/]+)")
_TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,255}")  # DynamoDB asks for 3 characters; emulators take fewer
# What a waiting record takes in memory beyond its text, as benchmarks/cases/memory.py measures it; and one that boto3 parsed.
RECORD_BYTES = 330
PARSED_BYTES = 740


class DynamoDBStreams(AwsSource[ChangeRecord]):
    """A table's stream. A table name or ARN means its latest stream; a stream ARN means that one.

    `client` is a boto3 client of "dynamodbstreams"; without it, one is made from `session`, `endpoint_url` and `region`.
    """

    retention_us = 24 * 3600 * SECOND_US
    iterator_us = 15 * 60 * SECOND_US
    page_limit = 1000
    listings_per_second = 10.0
    record_type = ChangeRecord

    def __init__(
        self,
        table_or_arn: str,
        *,
        client: Any = None,
        session: Any = None,
        endpoint_url: str | None = None,
        region: str | None = None,
    ) -> None:
        if not isinstance(table_or_arn, str):
            raise InvalidOption(f"a table is named by a str (name or ARN), not by a {type(table_or_arn).__name__}")
        self._table, self._arn = _parse_name(table_or_arn)
        self._is_by_arn = self._arn is not None
        self._salvage = Salvage(salvage_page)
        arn = _TABLE_ARN.match(table_or_arn)
        self._clients = Clients(
            self,
            "dynamodbstreams",
            "dynamodb-streams",
            client=client,
            session=session,
            endpoint_url=endpoint_url,
            region=region or (arn["region"] if arn and client is None else None),
        )

    def __repr__(self) -> str:
        return f"DynamoDBStreams({self._arn or self._table!r})"

    @property
    def name(self) -> str:
        """The stream's ARN; looks the table up at first use."""
        if self._arn is None:
            assert self._table is not None
            self._arn = self._find_stream(self._table)
            logger.info("table %s: its stream is %s", self._table, self._arn)
        return self._arn

    # -- the contract

    def list_shards(self, after: str | None) -> ShardPage:
        """One DescribeStream call: up to 100 shards."""
        options = {} if after is None else {"ExclusiveStartShardId": after}
        with aws_errors("dynamodb:DescribeStream", self.name, gone=InvalidStream), hooked_call():
            response = self._clients.reading.describe_stream(StreamArn=self.name, **options)
        with taking_apart("dynamodb:DescribeStream", self.name):
            description = part(response, "StreamDescription")
            rows = description.get("Shards") or ()
            return ShardPage(
                shard_rows(rows, _shard),
                next_part(
                    description, "LastEvaluatedShardId"
                ),  # a page may be empty, or short: only this ends the listing
                service_time_us(response),
                description.get("StreamStatus") in ("DISABLED", "DISABLING"),
            )

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """One GetShardIterator call."""
        where = f"shard {shard_id} of {self.name}"
        with aws_errors("dynamodb:GetShardIterator", where, at_time=isinstance(position, AtTime)), hooked_call():
            kind = _iterator_type(position)
            response = self._clients.call("get_shard_iterator", StreamArn=self.name, ShardId=shard_id, **kind)
        with taking_apart("dynamodb:GetShardIterator", where):
            return ShardIterator(shard_id, text_part(response, "ShardIterator"))

    def fetch(self, iterator: ShardIterator, limit: int) -> Page[ChangeRecord]:
        """One GetRecords call."""
        shard_id = iterator.shard_id
        where = f"shard {shard_id} of {self.name}"
        with (
            aws_errors("dynamodb:GetRecords", where),
            hooked_call(decode_page, self._salvage, iterator.value) as answer,
        ):
            response = self._clients.call(
                "get_records", ShardIterator=iterator.value, Limit=min(limit, self.page_limit)
            )
        with taking_apart("dynamodb:GetRecords", where):
            if answer.page is not None:
                records, following = answer.page.records(shard_id), answer.page.next
                size_bytes = answer.size_bytes + RECORD_BYTES * len(records)
            else:
                rows = part(response, "Records")
                records = parsed_records(shard_id, rows)
                following = next_part(response, "NextShardIterator")
                size_bytes = sum(_size_bytes(row) for row in rows)
            return Page(
                cast("Sequence[ChangeRecord]", records),  # but for spoiled ones, which are never returned
                ShardIterator(shard_id, following) if following else None,
                service_time_us(response),
                None,
                size_bytes,
            )

    @property
    def table(self) -> str:
        """The table's name."""
        assert self._table is not None
        return self._table

    @property
    def view_type(self) -> str | None:
        """Which images the stream's records have, such as NEW_AND_OLD_IMAGES: one DescribeStream call."""
        with aws_errors("dynamodb:DescribeStream", self.name, gone=InvalidStream), hooked_call():
            response = self._clients.reading.describe_stream(StreamArn=self.name, Limit=1)
        view: str | None = part(response, "StreamDescription").get("StreamViewType")
        return view

    @property
    def is_by_arn(self) -> bool:
        """Whether a stream was named, rather than a table."""
        return self._is_by_arn

    # -- finding the stream

    def _find_stream(self, table: str) -> str:
        if not self._clients.is_given:
            # The table is looked up before there is a Stream to ask again: there botocore does.
            return self._describe_table(self._clients.make("dynamodb", attempts=6), table)
        # Only a streams client was given: it can list a table's streams, but not describe the table.
        streams: list[Mapping[str, Any]] = []
        options: dict[str, Any] = {"TableName": table}
        action, where = "dynamodb:ListStreams", f"table {table}"
        with aws_errors(action, where, gone=InvalidStream), taking_apart(action, where):
            while True:
                response = self._clients.reading.list_streams(**options)
                streams += [row for row in response.get("Streams") or () if row.get("TableName", table) == table]
                last = response.get("LastEvaluatedStreamArn")
                if not last or last == options.get("ExclusiveStartStreamArn"):
                    break
                options["ExclusiveStartStreamArn"] = last
        if not streams:
            raise InvalidStream(
                f"there is no table {table} {place_of(self._clients.reading)}, or it has no stream; {_HOW_TO_ENABLE}"
            )
        with taking_apart(action, where):
            return text_part(max(streams, key=lambda row: str(row.get("StreamLabel", ""))), "StreamArn")

    def _describe_table(self, client: Any, table: str) -> str:
        try:
            with aws_errors("dynamodb:DescribeTable", f"table {table}", gone=InvalidStream):
                description = client.describe_table(TableName=table)["Table"]
        except InvalidStream as error:
            raise InvalidStream(f"there is no table {table} {place_of(client)}{_near(client, table)}") from error
        arn = description.get("LatestStreamArn")
        if not arn:
            raise InvalidStream(f"table {table} has no stream; {_HOW_TO_ENABLE}")
        return str(arn)


_HOW_TO_ENABLE = (
    "enable one: aws dynamodb update-table --table-name TABLE "
    "--stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES"
)


def _near(client: Any, table: str) -> str:
    """The names that the wrong one may have meant, where the caller may list tables."""
    try:
        with aws_errors("dynamodb:ListTables", "the account"):
            names = client.list_tables().get("TableNames") or []
    except StreamiterError:
        return ""
    return names_near(table, names, "table")


def _parse_name(name: str) -> tuple[str | None, str | None]:
    if name.startswith("arn:"):
        stream = _STREAM_ARN.fullmatch(name)
        if stream:
            return stream["table"], name
        table = _TABLE_ARN.fullmatch(name)
        if table:
            return table["table"], None
        raise InvalidStream(
            f"{name!r} is not the ARN of a table (arn:aws:dynamodb:REGION:ACCOUNT:table/NAME) "
            "or of a stream (the same, then /stream/LABEL)"
        )
    if not _TABLE_NAME.fullmatch(name):
        raise InvalidStream(f"{name!r} is not a table's name: letters, digits, '_', '-' and '.', at most 255 of them")
    return name, None


def _shard(row: Mapping[str, Any]) -> Shard:
    parent = row.get("ParentShardId")
    numbers = row.get("SequenceNumberRange") or {}
    return Shard(row["ShardId"], (parent,) if parent else (), bool(numbers.get("EndingSequenceNumber")))


def _iterator_type(position: Position) -> dict[str, Any]:
    if isinstance(position, After):
        return {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": _digits(position.place.text)}
    if isinstance(position, AtNumber):
        return {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": _digits(position.text)}
    if isinstance(position, AtTime):
        moment = datetime.fromtimestamp(position.time_us // SECOND_US, UTC)
        return {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": moment}
    return {"ShardIteratorType": "TRIM_HORIZON"}


def _size_bytes(row: Any) -> int:
    """About what a row that boto3 parsed takes in memory."""
    change = row.get("dynamodb") if isinstance(row, Mapping) else None
    told = change.get("SizeBytes") if isinstance(change, Mapping) else None
    return PARSED_BYTES + (told if isinstance(told, int) else 0)


def _digits(number: str) -> str:
    return number.zfill(21)  # the service asks for so many at least
