"""msgspec alone: the answers' bytes, fetched beforehand, as untyped Python values; no client, no order, no types."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

import msgspec

from benchmarks.readers.plain import python_images
from benchmarks.readers.worker import Tally, Task, Watch, serve

_NEXT = re.compile(rb'"NextShardIterator":"([^"]*)"')  # it stands before the records


def fetch(endpoint_url: str, arn: str, records: int) -> Iterator[bytes]:
    """The answers' bodies of a stream with one shard, as they are sent."""
    connection = http.client.HTTPConnection(urlsplit(endpoint_url).netloc)

    def call(kind: str, **request: Any) -> bytes:
        connection.request("POST", "/", json.dumps(request), {"X-Amz-Target": f"DynamoDBStreams_20120810.{kind}"})
        return connection.getresponse().read()

    (shard,) = json.loads(call("DescribeStream", StreamArn=arn))["StreamDescription"]["Shards"]
    told = call("GetShardIterator", StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
    iterator = json.loads(told)["ShardIterator"]
    for _ in range(-(-records // 1000)):
        body = call("GetRecords", ShardIterator=iterator)
        following = _NEXT.search(body, 0, 1000)
        assert following is not None
        iterator = following[1].decode()
        yield body


@cache
def bodies(endpoint_url: str, arn: str, records: int) -> tuple[bytes, ...]:
    """The same, kept."""
    return tuple(fetch(endpoint_url, arn, records))


def receive(task: Task, watch: Watch) -> list[Any]:
    """Does nothing with them: so fast is the server."""
    size = 0
    with watch:
        for body in fetch(task.endpoint_url, task.arn, task.records):
            size += len(body)
    return [task.records, size]


def images(task: Task, watch: Watch) -> list[Any]:
    """Decodes everything, as the JSON says it."""
    count = 0
    received = bodies(task.endpoint_url, task.arn, task.records)
    with watch:
        for body in received:
            count += len(msgspec.json.decode(body)["Records"])
    return [count]


def check(task: Task, watch: Watch) -> list[Any]:
    """What is read, not how fast."""
    tally = Tally(images=task.options["images"])
    with watch:
        for body in bodies(task.endpoint_url, task.arn, task.records):
            for record in msgspec.json.decode(body)["Records"]:
                change = record["dynamodb"]
                created = change["ApproximateCreationDateTime"]
                tally.add(
                    change["SequenceNumber"],
                    record["eventName"],
                    created,
                    *(python_images(change) if tally.images else ()),
                )
    return tally.told()


if __name__ == "__main__":
    serve({"receive": receive, "images": images, "check": check}, {"msgspec": version("msgspec")})
