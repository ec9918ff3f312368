"""The inventory: which streams there are to read, of DynamoDB's tables and of Kinesis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from streamiter.driving.threads import Threads
from streamiter.errors import InvalidStream, SourceError
from streamiter.source.aws import aws_errors
from streamiter.source.clients import Clients

ASKED_AT_ONCE = 8  # DescribeStream takes ten calls a second


@dataclass(frozen=True)
class Listed:
    """A stream that can be read."""

    url: str  # what to type
    kind: str  # dynamodb, kinesis
    status: str  # as the service says it
    view_type: str | None  # of a table's stream
    arn: str | None
    region: str

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


class Account:
    """What the caller's credentials see in a region."""

    def __init__(self, *, session: Any, endpoint_url: str | None, region: str | None) -> None:
        options = {"session": session, "endpoint_url": endpoint_url, "region": region}
        self._clients = Clients(self, "dynamodbstreams", "dynamodb-streams", client=None, **options)

    def __repr__(self) -> str:
        return "the account"

    @property
    def place(self) -> tuple[str, str]:
        """The region, and the endpoint of DynamoDB's streams."""
        meta = self._clients.reading.meta
        return str(meta.region_name), str(meta.endpoint_url)

    def close(self) -> None:
        """Closes the clients."""
        self._clients.close()

    def dynamodb(self) -> list[Listed]:
        """The tables' streams: the latest of each by the table's name, older ones by their ARN."""
        client = self._clients.make("dynamodbstreams", attempts=6)
        rows = sorted(_pages(client), key=lambda row: (row["TableName"], row["StreamLabel"]), reverse=True)
        latest = {row["TableName"]: row["StreamArn"] for row in reversed(rows)}
        region = client.meta.region_name

        def described(row: Any) -> Listed | None:
            arn = row["StreamArn"]
            try:
                with aws_errors("dynamodb:DescribeStream", arn, gone=InvalidStream):
                    told = client.describe_stream(StreamArn=arn, Limit=1)["StreamDescription"]
            except InvalidStream:
                return None  # it went between the two calls
            url = row["TableName"] if latest[row["TableName"]] == arn else arn
            return Listed(url, "dynamodb", told.get("StreamStatus", "?"), told.get("StreamViewType"), arn, region)

        found = side_by_side({str(row["StreamArn"]): partial(described, row) for row in rows})
        return sorted(filter(None, found), key=lambda listed: (listed.url.startswith("arn:"), listed.url))

    def kinesis(self) -> list[Listed]:
        """The Kinesis streams."""
        client = self._clients.make("kinesis", attempts=6)
        found: dict[str, Listed] = {}
        options: dict[str, Any] = {}
        while True:
            with aws_errors("kinesis:ListStreams", "the account"):
                answer = client.list_streams(**options)
            summaries = {row["StreamName"]: row for row in answer.get("StreamSummaries") or ()}
            for name in answer.get("StreamNames") or ():
                row = summaries.get(name) or _summary(client, name)
                status, arn = row.get("StreamStatus", "?"), row.get("StreamARN")
                found[name] = Listed(f"kinesis://{name}", "kinesis", status, None, arn, client.meta.region_name)
            names = answer.get("StreamNames") or [None]
            if not answer.get("HasMoreStreams") or names[-1] == options.get("ExclusiveStartStreamName"):
                return [found[name] for name in sorted(found)]
            options = {"ExclusiveStartStreamName": names[-1]}


def _summary(client: Any, name: str) -> Any:
    """Describes a stream that the listing only names; empty if the caller may not ask for it."""
    try:
        with aws_errors("kinesis:DescribeStreamSummary", name):
            return client.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]
    except SourceError:
        return {}


def _pages(client: Any) -> Iterator[Any]:
    options: dict[str, Any] = {}
    while True:
        with aws_errors("dynamodb:ListStreams", "the account"):
            answer = client.list_streams(**options)
        yield from answer.get("Streams") or ()
        last = answer.get("LastEvaluatedStreamArn")
        if not last or last == options.get("ExclusiveStartStreamArn"):
            return
        options = {"ExclusiveStartStreamArn": last}


def side_by_side(calls: dict[str, Callable[[], Listed | None]]) -> list[Listed | None]:
    """Makes the calls on daemon threads, so that a Ctrl-C does not wait for one that hangs."""
    callers = Threads(ASKED_AT_ONCE)
    found: list[Listed | None] = []
    try:
        for name, call in calls.items():
            callers.submit(name, call)
        while len(found) < len(calls):
            for answer in callers.answers(0.5):
                if answer.error is not None:
                    raise answer.error
                found.append(answer.result)
    finally:
        callers.close(0.0)
    return found
