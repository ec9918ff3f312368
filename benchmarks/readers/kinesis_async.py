"""async-kinesis: `async for` over the canned stream, in an environment of its own: standard library and async-kinesis."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

from kinesis import Consumer

from benchmarks.readers.worker import CREDENTIALS, Tally, Task, Watch, serve

MOST_PAGES_A_SECOND = 1_000  # of a shard; its default of one is meant for the service


class Payloads:
    """A processor that leaves payloads as they are."""

    def parse(self, payload: bytes) -> list[bytes]:
        return [payload]


async def payloads_of(task: Task) -> AsyncIterator[bytes]:
    """All payloads; it has neither keys nor numbers to give."""
    count = 0
    consumer: Any = Consumer(
        "canned",
        endpoint_url=task.endpoint_url,
        region_name="us-east-1",
        processor=Payloads(),
        iterator_type="TRIM_HORIZON",
        shard_fetch_rate=MOST_PAGES_A_SECOND,
        sleep_time_no_records=0.01,
        max_queue_size=100_000,
        use_list_shards=True,
    )
    async with consumer:
        async for payload in consumer:
            count += 1
            yield payload
            if count == task.records:
                return


def payloads(task: Task, watch: Watch) -> list[Any]:
    """Uses each payload."""

    async def read() -> list[Any]:
        count = size = 0
        async for payload in payloads_of(task):
            count += 1
            size += len(payload)
        return [count, size]

    with watch:
        return asyncio.run(read())


def check(task: Task, watch: Watch) -> list[Any]:
    """What is read, not how fast."""
    tally = Tally(images=False)

    async def read() -> None:
        async for payload in payloads_of(task):
            tally.add(payload.decode(), "", 0)

    with watch:
        asyncio.run(read())
    return tally.told()


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    os.environ["AWS_ACCESS_KEY_ID"] = CREDENTIALS["aws_access_key_id"]
    os.environ["AWS_SECRET_ACCESS_KEY"] = CREDENTIALS["aws_secret_access_key"]
    serve(
        {"payloads": payloads, "check": check},
        {"async-kinesis": version("async-kinesis"), "aiobotocore": version("aiobotocore")},
    )
