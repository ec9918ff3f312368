"""Plain boto3 on Kinesis: the loop over `get_records` that anybody writes first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from typing import Any

import boto3
from botocore.config import Config

from benchmarks.readers.worker import CREDENTIALS, Tally, Task, Watch, serve


@cache
def client(endpoint_url: str) -> Any:
    session: Any = boto3.session.Session(**CREDENTIALS)
    return session.client("kinesis", endpoint_url=endpoint_url, config=Config(proxies={}))


def pages(task: Task) -> Iterator[list[dict[str, Any]]]:
    """The pages of the stream's shards, one shard after the other."""
    streams = client(task.endpoint_url)
    for shard in streams.list_shards(StreamName="canned")["Shards"]:
        iterator = streams.get_shard_iterator(
            StreamName="canned", ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        while iterator:
            response = streams.get_records(ShardIterator=iterator)
            yield response["Records"]
            if response["MillisBehindLatest"] == 0:
                break
            iterator = response.get("NextShardIterator")


def payloads(task: Task, watch: Watch) -> list[Any]:
    """Uses of each record its payload, its key and its number."""
    count = size = 0
    last = key = None
    with watch:
        for page in pages(task):
            for record in page:
                count += 1
                size += len(record["Data"])
                key, last = record["PartitionKey"], record["SequenceNumber"]
    return [count, size, key, last]


def check(task: Task, watch: Watch) -> list[Any]:
    """What is read, not how fast."""
    tally = Tally(images=False)
    with watch:
        for page in pages(task):
            for record in page:
                tally.add(record["Data"].decode(), "", 0)
    return tally.told()


if __name__ == "__main__":
    serve({"payloads": payloads, "check": check}, {"boto3": version("boto3"), "botocore": version("botocore")})
