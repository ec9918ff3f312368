"""Plain boto3: the loop over `get_records` that anybody writes first, and what is usually done with its records."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from typing import Any

import boto3
from boto3.dynamodb.types import TypeDeserializer
from botocore.config import Config

from benchmarks.readers.worker import CREDENTIALS, Tally, Task, Watch, serve


@cache
def client(endpoint_url: str) -> Any:
    session: Any = boto3.session.Session(**CREDENTIALS)
    return session.client("dynamodbstreams", endpoint_url=endpoint_url, config=Config(proxies={}))


def pages(task: Task) -> Iterator[list[dict[str, Any]]]:
    """The pages of the stream's shards, one shard after the other, until the wanted records are read."""
    streams = client(task.endpoint_url)
    read = 0
    for shard in streams.describe_stream(StreamArn=task.arn)["StreamDescription"]["Shards"]:
        iterator = streams.get_shard_iterator(
            StreamArn=task.arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        while iterator and read < task.records:
            response = streams.get_records(ShardIterator=iterator)
            if not response["Records"]:
                break  # It is caught up with this shard.
            read += len(response["Records"])
            yield response["Records"]
            iterator = response.get("NextShardIterator")


def envelopes(task: Task, watch: Watch) -> list[Any]:
    """Uses of each record what is not an image."""
    count = inserts = 0
    last = None
    with watch:
        for page in pages(task):
            for record in page:
                count += 1
                inserts += record["eventName"] == "INSERT"
                last = record["dynamodb"]["SequenceNumber"]
    return [count, inserts, last]


def images(task: Task, watch: Watch) -> list[Any]:
    """Turns every image into Python values."""
    count = rows = 0
    deserialize = TypeDeserializer().deserialize
    with watch:
        for page in pages(task):
            for record in page:
                count += 1
                change = record["dynamodb"]
                for name in ("Keys", "NewImage", "OldImage"):
                    if name in change:
                        rows += len({key: deserialize(value) for key, value in change[name].items()})
    return [count, rows]


def arrow(task: Task, watch: Watch) -> list[Any]:
    """The records as a table, just as pyarrow makes one of them."""
    import pyarrow

    with watch:
        table = pyarrow.Table.from_pylist([record for page in pages(task) for record in page])
    return [table.num_rows]


def check(task: Task, watch: Watch) -> list[Any]:
    """What is read, not how fast."""
    tally = Tally(images=task.options["images"])
    with watch:
        for page in pages(task):
            for record in page:
                change = record["dynamodb"]
                created = change["ApproximateCreationDateTime"].timestamp()
                tally.add(
                    change["SequenceNumber"],
                    record["eventName"],
                    created,
                    *(python_images(change) if tally.images else ()),
                )
    return tally.told()


def python_images(change: dict[str, Any]) -> list[dict[str, Any] | None]:
    """The new and the old image as Python values; None for one that is not there."""
    deserialize = TypeDeserializer().deserialize
    typed = (change.get(name) for name in ("NewImage", "OldImage"))
    return [image and {key: deserialize(value) for key, value in image.items()} for image in typed]


if __name__ == "__main__":
    serve(
        {"envelopes": envelopes, "images": images, "arrow": arrow, "check": check},
        {"boto3": version("boto3"), "botocore": version("botocore"), "pyarrow": version("pyarrow")},
    )
