"""streamiter's own side on Kinesis: a `Stream` over the canned server, as a user reads it, but for the service's rates."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from itertools import islice
from typing import Any

import boto3
from botocore.config import Config

from benchmarks.readers.worker import CREDENTIALS, Tally, Task, Watch, serve
from streamiter import KinesisStreams, Stream
from streamiter.source.aws import client_config


@cache
def client(endpoint_url: str) -> Any:
    session: Any = boto3.session.Session(**CREDENTIALS)
    config = client_config(64, session=session).merge(
        Config(proxies={})
    )  # as the client has it that streamiter makes for itself
    return session.client("kinesis", endpoint_url=endpoint_url, config=config)


def records(task: Task) -> Iterator[Any]:
    """The stream's records, from the horizon, until all were read."""
    # The canned server gives as much as one asks for: nobody is slowed down by rates here.
    source = KinesisStreams("canned", client=client(task.endpoint_url), reads_per_second=None, bytes_per_second=None)
    with Stream(source, "trim_horizon") as stream:
        yield from islice(stream.follow(), task.records)


def payloads(task: Task, watch: Watch) -> list[Any]:
    """Uses of each record its payload, its key and its number, and the order."""
    count = size = 0
    last = key = None
    client(task.endpoint_url)
    with watch:
        for record in records(task):
            count += 1
            size += len(record.payload)
            key, last = record.partition_key, record.sequence_number
    return [count, size, key, last]


def check(task: Task, watch: Watch) -> list[Any]:
    """What is read, not how fast; and that it comes in the order of time."""
    tally = Tally(images=False)
    before = 0
    with watch:
        for record in records(task):
            if record.created_us < before or record.late:
                raise AssertionError(f"{record!r} is out of order")
            before = record.created_us
            tally.add(record.payload.decode(), "", 0)
    return tally.told()


if __name__ == "__main__":
    serve(
        {"payloads": payloads, "check": check},
        {"streamiter": version("streamiter"), "boto3": version("boto3"), "botocore": version("botocore")},
    )
