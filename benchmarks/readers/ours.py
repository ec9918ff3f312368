"""streamiter's own side: a `Stream` over the canned server, as a user reads it."""

from __future__ import annotations

import time
import tracemalloc
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from benchmarks.readers.ticking import HandClock, Ticking
from benchmarks.readers.worker import CREDENTIALS, Tally, Task, Watch, serve
from streamiter import DynamoDBStreams, Stream
from streamiter.source.aws import client_config

FILLED = 50  # looks in a row at which nothing more was fetched: the lanes hold what they may


@cache
def client(endpoint_url: str) -> Any:
    session: Any = boto3.session.Session(**CREDENTIALS)
    config = client_config(64, session=session).merge(
        Config(proxies={})
    )  # as the client has it that streamiter makes for itself
    return session.client("dynamodbstreams", endpoint_url=endpoint_url, config=config)


def open_stream(task: Task, **more: Any) -> Any:
    """The stream, from the horizon; the task's `stream` are its options."""
    source = DynamoDBStreams(task.arn, client=client(task.endpoint_url))
    return Stream(source, "trim_horizon", **task.options.get("stream", {}), **more)


def envelopes(task: Task, watch: Watch) -> list[Any]:
    """Uses of each record what is not an image, and the order."""
    count = inserts = 0
    last = None
    client(task.endpoint_url)
    with watch:
        stream = open_stream(task)
        while count < task.records:
            record = next(stream)
            if record is not None:
                count += 1
                inserts += record.event_name == "INSERT"
                last = record.sequence_number
            else:
                time.sleep(0.001)
    stream.close()
    return [count, inserts, last]


def batches(task: Task, watch: Watch) -> list[Any]:
    """The same, by the thousands."""
    count = inserts = 0
    last = None
    client(task.endpoint_url)
    with watch:
        stream = open_stream(task)
        for batch in stream.batches(10_000):
            for record in batch:
                count += 1
                inserts += record.event_name == "INSERT"
                last = record.sequence_number
            if count >= task.records:
                break
    stream.close()
    return [count, inserts, last]


def everything(task: Task, watch: Watch) -> list[Any]:
    """Uses all that a record has but its images: also the creation time as an arrow, and the order key as text."""
    count = days = 0
    greatest = ""
    client(task.endpoint_url)
    with watch:
        stream = open_stream(task)
        while count < task.records:
            record = next(stream)
            if record is not None:
                count += 1
                days = record.created_at.day
                greatest = record.order_key
    stream.close()
    return [count, days, greatest]


def images(task: Task, watch: Watch) -> list[Any]:
    """Reads every image as Python values."""
    count = rows = 0
    client(task.endpoint_url)
    with watch:
        stream = open_stream(task)
        while count < task.records:
            record = next(stream)
            if record is not None:
                count += 1
                for image in (record.key, record.new, record.old):
                    if image is not None:
                        rows += len(image)
    stream.close()
    return [count, rows]


def arrow(task: Task, watch: Watch) -> list[Any]:
    """The records as a table."""
    client(task.endpoint_url)
    with watch:
        stream = open_stream(task)
        table = stream.to_arrow()
    stream.close()
    return [table.num_rows]


def hold(task: Task, watch: Watch) -> dict[str, Any]:
    """Fetches ahead as far as the budget lets it, and gives what is held then, by several measures."""
    streams = client(task.endpoint_url)
    streams.describe_stream(StreamArn=task.arn)  # so that what boto3 loads once is not counted
    is_traced = task.options["traced"]
    if is_traced:
        tracemalloc.start()
    before = _resident_bytes(), tracemalloc.get_traced_memory()[0]
    with watch:
        stream = open_stream(task)
        stats = _fill(stream)
    held = {"waiting": stats.waiting, "waiting_bytes": stats.waiting_bytes, "open_shards": stats.open_shards}
    if is_traced:
        held["traced_bytes"] = tracemalloc.get_traced_memory()[0] - before[1]
        tracemalloc.stop()
    else:
        held["resident_bytes"] = _resident_bytes() - before[0]
    stream.close()
    return held


def _fill(stream: Any) -> Any:
    """Calls `next` until nothing more is fetched ahead; gives the stats of that moment."""
    most = looks = 0
    while looks < FILLED:
        next(stream)
        time.sleep(0.01)
        stats = stream.stats
        looks = looks + 1 if stats.waiting and stats.waiting <= most else 0
        most = max(most, stats.waiting)
    return stats


def check(task: Task, watch: Watch) -> list[Any]:
    """What is read, not how fast; and that it comes in the order of time."""
    tally = Tally(images=task.options["images"])
    before = 0.0
    with watch:
        stream = open_stream(task)
        for record in islice(stream.follow(), task.records):
            created = record.created_at.timestamp()
            if created < before or record.late:
                raise AssertionError(f"{record!r} is out of order")
            before = created
            images = (record.new, record.old) if tally.images else ()
            tally.add(record.sequence_number, record.event_name, created, *images)
    stream.close()
    return tally.told()


def _resident_bytes() -> int:
    """What of the process is in memory; 0 where the system has no /proc."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def _ticking_stream(task: Task, clock: HandClock) -> Any:
    return open_stream(task, clock=clock)


if __name__ == "__main__":
    ticking = Ticking(_ticking_stream, lambda record: str(record.sequence_number))
    serve(
        {
            "envelopes": envelopes,
            "batches": batches,
            "everything": everything,
            "images": images,
            "arrow": arrow,
            "hold": hold,
            "check": check,
            "open": ticking.open,
            "poll": ticking.poll,
        },
        {
            "streamiter": version("streamiter"),
            "boto3": version("boto3"),
            "msgspec": version("msgspec"),
            "pyarrow": version("pyarrow"),
        },
    )
