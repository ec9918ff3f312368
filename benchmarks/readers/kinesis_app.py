"""An app's side on Kinesis: one worker whose processor gets batches, but for the service's rates."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from benchmarks.readers.kinesis_ours import client
from benchmarks.readers.worker import Tally, Task, Watch, serve
from streamiter import KinesisStreams
from streamiter.app import App

SIZE = 1_000


def read(task: Task, watch: Watch, take: Callable[[list[Any]], None]) -> int:
    """Runs an app until all records were processed."""
    app = App("bench", store="memory:")
    # The canned server gives as much as one asks for: nobody is slowed down by rates here.
    source = KinesisStreams("canned", client=client(task.endpoint_url), reads_per_second=None, bytes_per_second=None)
    count = 0

    @app.processor(source, size=SIZE, in_flight=2 * SIZE)
    async def takes(batch: Any) -> None:
        nonlocal count
        take(batch)
        count += len(batch)
        if count >= task.records:
            app.stop()

    with watch:
        app.run()
    return count


def payloads(task: Task, watch: Watch) -> list[Any]:
    """Uses of each record its payload, its key and its number."""
    size = 0
    last = key = None

    def take(batch: list[Any]) -> None:
        nonlocal size, last, key
        for record in batch:
            size += len(record.payload)
            key, last = record.partition_key, record.sequence_number

    count = read(task, watch, take)
    return [count, size, key, last]


def check(task: Task, watch: Watch) -> list[Any]:
    """What is read, not how fast."""
    tally = Tally(images=False)

    def take(batch: list[Any]) -> None:
        for record in batch:
            tally.add(record.payload.decode(), "", 0)

    read(task, watch, take)
    return tally.told()


if __name__ == "__main__":
    serve(
        {"payloads": payloads, "check": check},
        {"streamiter": version("streamiter"), "boto3": version("boto3"), "botocore": version("botocore")},
    )
