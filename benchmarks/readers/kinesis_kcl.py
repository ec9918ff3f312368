"""native-aws-kcl-py: its scheduler over the canned stream, in an environment of its own: standard library and that package.

Its leases stand in a DynamoDB table, which an emulator plays. It looks for leases when it starts, and again only two leases'
durations later, so a first scheduler writes the leases, and a second one reads. The clock runs from its first processor on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from native_aws_kcl_py import (
    AwsConfig,
    CoordinatorConfig,
    KinesisConsumerConfig,
    Scheduler,
    SchedulerState,
    ShardRecordProcessor,
    ShardRecordProcessorFactory,
)

from benchmarks.readers.worker import CREDENTIALS, REGION, Tally, Task, Watch, serve

# Longer than a run: its renewals and its checkpoints write the same rows, and take a write of each other's for a lost lease. It
# then begins the shard anew at its last checkpoint, and hands over twice what came behind that.
LEASE_MILLISECONDS = 60_000

Take = Callable[[Any], None]


class Run:
    """One run: who takes the records, how many came, and when it is over."""

    def __init__(self, task: Task, watch: Watch, take: Take) -> None:
        self.take = take
        self.over = asyncio.Event()
        self._task = task
        self._watch = watch
        self._count = 0
        self._is_begun = False

    def begin(self) -> None:
        """The first processor was made."""
        if not self._is_begun:
            self._is_begun = True
            self._watch.__enter__()

    def came(self, records: list[Any]) -> None:
        """A processor got records."""
        for record in records:
            self.take(record)
        self._count += len(records)
        if self._count >= self._task.records and not self.over.is_set():
            self._watch.__exit__(None, None, None)
            self.over.set()

    @property
    def count(self) -> int:
        """How many records came."""
        return self._count


class Processor(ShardRecordProcessor):
    """Takes what comes, and checkpoints behind each page, as its documentation does."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def initialize(self, initialization_input: Any) -> None:
        pass

    async def process_records(self, process_records_input: Any) -> None:
        self._run.came(process_records_input.records)
        await process_records_input.checkpointer.checkpoint()

    async def lease_lost(self, lease_lost_input: Any) -> None:
        pass

    async def shard_ended(self, shard_ended_input: Any) -> None:
        pass

    async def shutdown_requested(self, shutdown_requested_input: Any) -> None:
        pass


class Factory(ShardRecordProcessorFactory):
    """Makes a processor for each shard."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def create_processor(self) -> Processor:
        self._run.begin()
        return Processor(self._run)


async def read(task: Task, watch: Watch, take: Take) -> int:
    """Runs a scheduler until all records were processed."""
    run = Run(task, watch, take)
    config = KinesisConsumerConfig(
        aws=AwsConfig(region=REGION, kinesis_endpoint=task.endpoint_url, dynamodb_endpoint=task.options["tables_url"]),
        application_name=f"bench-{uuid.uuid4().hex}",
        stream_name="canned",
        record_processor_factory=Factory(run),
        coordinator=CoordinatorConfig(lease_duration_millis=LEASE_MILLISECONDS),
    )
    async with _at_work(config) as first:
        while first.get_state() != SchedulerState.RUNNING:
            await asyncio.sleep(0.01)
    async with _at_work(config):
        await run.over.wait()
    return run.count


@asynccontextmanager
async def _at_work(config: KinesisConsumerConfig) -> AsyncIterator[Scheduler]:
    scheduler = Scheduler(config)
    running = asyncio.ensure_future(scheduler.run())
    yield scheduler
    await scheduler.shutdown()
    await running


def payloads(task: Task, watch: Watch) -> list[Any]:
    """Uses of each record its payload, its key and its number."""
    size = 0
    last = key = None

    def take(record: Any) -> None:
        nonlocal size, last, key
        size += len(record.data)
        key, last = record.partition_key, record.sequence_number

    count = asyncio.run(read(task, watch, take))
    return [count, size, key, last]


def check(task: Task, watch: Watch) -> list[Any]:
    """What is read, not how fast."""
    tally = Tally(images=False)
    asyncio.run(read(task, watch, lambda record: tally.add(record.data.decode(), "", 0)))
    return tally.told()


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    os.environ["AWS_ACCESS_KEY_ID"] = CREDENTIALS["aws_access_key_id"]
    os.environ["AWS_SECRET_ACCESS_KEY"] = CREDENTIALS["aws_secret_access_key"]
    serve(
        {"payloads": payloads, "check": check},
        {"native-aws-kcl-py": version("native-aws-kcl-py"), "aiobotocore": version("aiobotocore")},
    )
