"""streamiter's side for asyncio: an `AsyncStream` over the canned server, on an event loop that does nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

from benchmarks.readers.ours import client
from benchmarks.readers.worker import Tally, Task, Watch, serve
from streamiter import AsyncStream, DynamoDBStreams

Read = Callable[[AsyncStream, Task], Awaitable[list[Any]]]


def open_stream(task: Task) -> AsyncStream:
    """The stream, from the horizon."""
    return AsyncStream(DynamoDBStreams(task.arn, client=client(task.endpoint_url)), "trim_horizon")


def timed(read: Read) -> Callable[[Task, Watch], list[Any]]:
    """Runs it on a loop of its own, and times the reading alone."""

    def run(task: Task, watch: Watch) -> list[Any]:
        async def main() -> list[Any]:
            with watch:
                stream = open_stream(task)
                told = await read(stream, task)
            await stream.aclose()
            return told

        client(task.endpoint_url)
        return asyncio.run(main())

    return run


async def envelopes(stream: AsyncStream, task: Task) -> list[Any]:
    """Uses of each record what is not an image, and the order."""
    count = inserts = 0
    last = None
    async for record in stream:
        count += 1
        inserts += record.event_name == "INSERT"
        last = record.sequence_number
        if count == task.records:
            break
    return [count, inserts, last]


async def batches(stream: AsyncStream, task: Task) -> list[Any]:
    """The same, by the thousands."""
    count = inserts = 0
    last = None
    async for batch in stream.batches(10_000):
        for record in batch:
            count += 1
            inserts += record.event_name == "INSERT"
            last = record.sequence_number
        if count >= task.records:
            break
    return [count, inserts, last]


async def takes(stream: AsyncStream, task: Task) -> list[Any]:
    """The same, a hundred at a time."""
    count = inserts = 0
    last = None
    while count < task.records:
        for record in await stream.take(100, within=1.0):
            count += 1
            inserts += record.event_name == "INSERT"
            last = record.sequence_number
    return [count, inserts, last]


async def _check(stream: AsyncStream, task: Task) -> list[Any]:
    tally = Tally(images=task.options["images"])
    before = 0.0
    async for record in stream:
        assert record.created_at is not None
        created = record.created_at.timestamp()
        if created < before or record.late:
            raise AssertionError(f"{record!r} is out of order")
        before = created
        images = (record.new, record.old) if tally.images else ()
        tally.add(record.sequence_number, str(record.event_name), created, *images)
        if tally.count == task.records:
            break
    return tally.told()


if __name__ == "__main__":
    serve(
        {"envelopes": timed(envelopes), "batches": timed(batches), "takes": timed(takes), "check": timed(_check)},
        {"streamiter": version("streamiter"), "boto3": version("boto3"), "msgspec": version("msgspec")},
    )
