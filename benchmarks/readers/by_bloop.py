"""Bloop: `next(stream)` over a model of the canned table. Runs in an environment of its own: standard library and Bloop."""

from __future__ import annotations

import http.client
import json
import logging
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar
from urllib.parse import urlsplit

import boto3
from bloop import BaseModel, Column, Engine, Number, String
from botocore.config import Config

from benchmarks.readers.ticking import Ticking
from benchmarks.readers.worker import CREDENTIALS, Tally, Task, Watch, serve

COLUMNS = ("id", "visits", "paid", "name", "note000")


class Row(BaseModel):
    """A row of the canned table, of 575 bytes a record."""

    class Meta:
        table_name = "canned"
        stream: ClassVar[Any] = {"include": {"new", "old"}}

    id = Column(String, hash_key=True)
    visits = Column(Number)
    paid = Column(Number)
    name = Column(String)
    note000 = Column(String)


class ThinClient:
    """The three calls, past boto3: where calls are counted and not timed, it is of no use to wait for boto3 each time."""

    def __init__(self, endpoint_url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(endpoint_url).netloc, timeout=60)

    def describe_stream(self, **request: Any) -> Any:
        return self._call("DescribeStream", request)

    def get_shard_iterator(self, **request: Any) -> Any:
        return self._call("GetShardIterator", request)

    def get_records(self, **request: Any) -> Any:
        return self._call("GetRecords", request)

    def _call(self, kind: str, request: dict[str, Any]) -> Any:
        headers = {"X-Amz-Target": f"DynamoDBStreams_20120810.{kind}"}
        self._connection.request("POST", "/", json.dumps(request), headers)
        return json.loads(self._connection.getresponse().read())


@cache
def client(endpoint_url: str) -> Any:
    session = boto3.session.Session(**CREDENTIALS)
    return session.client("dynamodbstreams", endpoint_url=endpoint_url, config=Config(proxies={}))


def open_stream(task: Task, streams: Any) -> Any:
    """Bloop's stream, from the horizon."""
    Row.Meta.stream["arn"] = task.arn
    return Engine(dynamodb=object(), dynamodbstreams=streams).stream(Row, "trim_horizon")


def envelopes(task: Task, watch: Watch) -> list[Any]:
    """Uses of each record what is not an image; Bloop makes the images all the same."""
    count = inserts = 0
    last = None
    streams = client(task.endpoint_url)
    with watch:
        stream = open_stream(task, streams)
        while count < task.records:
            record = next(stream)
            if record is not None:
                count += 1
                inserts += record["meta"]["event"]["type"] == "insert"
                last = record["meta"]["sequence_number"]
    return [count, inserts, last]


def check(task: Task, watch: Watch) -> list[Any]:
    """What is read, not how fast."""
    tally = Tally(images=task.options["images"])
    with watch:
        stream = open_stream(task, client(task.endpoint_url))
        while tally.count < task.records:
            record = next(stream)
            if record is not None:
                meta = record["meta"]
                new, old = map(_attributes, (record["new"], record["old"]))
                tally.add(meta["sequence_number"], meta["event"]["type"], meta["created_at"].timestamp(), new, old)
    return tally.told()


def _attributes(row: Any) -> dict[str, Any] | None:
    if row is None:
        return None
    values = {name: getattr(row, name, None) for name in COLUMNS}
    # Bloop gives "" for a string that is not there; the canned rows hold no empty ones.
    return {name: value for name, value in values.items() if value not in (None, "")}


if __name__ == "__main__":
    logging.getLogger("bloop").setLevel(logging.ERROR)
    ticking = Ticking(
        lambda task, _: open_stream(task, ThinClient(task.endpoint_url)),
        lambda record: record["meta"]["sequence_number"],
    )
    serve(
        {"envelopes": envelopes, "check": check, "open": ticking.open, "poll": ticking.poll},
        {"bloop": version("bloop"), "boto3": version("boto3"), "botocore": version("botocore")},
    )
