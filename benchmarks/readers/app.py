"""An app's side: workers with a processor over the canned server, and the stream that one of them is held against."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from benchmarks.readers.ours import check, client, open_stream
from benchmarks.readers.worker import Tally, Task, Watch, serve
from streamiter import DynamoDBStreams, Record
from streamiter.app import App
from streamiter.errors import StreamiterError
from streamiter.store import Row, Table, Write
from streamiter.store.memory import MemoryStore

WAIT_SECONDS = 0.005  # of a processor that waits for something else


def _source(task: Task) -> DynamoDBStreams:
    return DynamoDBStreams(task.arn, client=client(task.endpoint_url))


def _in_flight(task: Task) -> int:
    return 2 * int(task.options["size"])


def stream(task: Task, watch: Watch) -> list[Any]:
    """`Stream.batches`, of the same size."""
    count = inserts = 0
    client(task.endpoint_url)
    with watch:
        opened = open_stream(task)
        for batch in opened.batches(task.options["size"]):
            count += len(batch)
            inserts += batch[0].event_name == "INSERT"
            if count >= task.records:
                break
    opened.close()
    return [count]


def batches(task: Task, watch: Watch) -> list[Any]:
    """A processor that does nothing with its batches but count."""
    app, source = App("bench", store="memory:"), _source(task)
    count = inserts = 0

    @app.processor(source, size=task.options["size"], in_flight=_in_flight(task))
    async def counts(batch: Any) -> None:
        nonlocal count, inserts
        count += len(batch)
        inserts += batch[0].event_name == "INSERT"
        if count >= task.records:
            app.stop()

    with watch:
        app.run()
    return [count]


def check_app(task: Task, watch: Watch) -> list[Any]:
    """What a processor gets, not how fast."""
    app, source = App("bench", store="memory:"), _source(task)
    tally = Tally(images=task.options["images"])

    @app.processor(source, size=task.options["size"], in_flight=_in_flight(task))
    async def counts(batch: Any) -> None:
        for record in batch:
            images = (record.new, record.old) if tally.images else ()
            tally.add(record.sequence_number, record.event_name, record.created_at.timestamp(), *images)
        if tally.count >= task.records:
            app.stop()

    with watch:
        app.run()
    return tally.told()


def keys(task: Task, watch: Watch) -> list[Any]:
    """A processor that waits for a while with each record: of so many keys side by side, or of one record at a time."""
    app, source = App("bench", store="memory:"), _source(task)
    many: int = task.options["keys"]
    count = 0

    async def waits(_: Record) -> None:
        nonlocal count
        await asyncio.sleep(WAIT_SECONDS)
        count += 1
        if count >= task.records:
            app.stop()

    if many > 1:
        app.processor(
            source, order="key", concurrency=many, in_flight=4000, key=lambda record: int(record.sequence_number) % many
        )(waits)
    else:
        app.processor(source, size=100)(waits)
    with watch:
        app.run()
    return [count]


class CountingStore(MemoryStore):
    """A store that counts: calls by kind, and rows that were written."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def scan(self, table: Table) -> list[Row]:
        self.counts["scan"] += 1
        return super().scan(table)

    def read(self, table: Table, key: str) -> Row | None:
        self.counts["read"] += 1
        return super().read(table, key)

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        self.counts["rows_written"] += 1
        return super().write(table, row, expected)

    def write_all(self, table: Table, writes: Sequence[Write]) -> list[Row | StreamiterError]:
        self.counts["rounds_of_writes"] += 1
        return super().write_all(table, writes)

    def delete(self, table: Table, key: str, expected: int) -> None:
        self.counts["delete"] += 1
        super().delete(table, key, expected)


def idle(task: Task, watch: Watch) -> dict[str, Any]:
    """Two workers whose shards have nothing new: what they ask of store and source, once the leases are shared out."""
    store = CountingStore()
    leases: int = task.options["leases"]
    apps = [App("bench", store=store, worker_id=f"w{number}") for number in range(2)]
    for app in apps:
        app.processor(_source(task), name="idle")(_nothing)

    async def run() -> dict[str, Any]:
        runs = [asyncio.ensure_future(app.serve()) for app in apps]
        try:
            while sorted(_held(app) for app in apps) != [leases // 2, leases - leases // 2]:
                _look_after(runs)
                await asyncio.sleep(0.05)
            await asyncio.sleep(task.options["settle_seconds"])
            _control(task)
            store.counts.clear()
            with watch:
                await asyncio.sleep(task.options["seconds"])
            _look_after(runs)
            return {"store": dict(store.counts), "source": _control(task)["calls"]}
        finally:
            for app in apps:
                app.stop()
            await asyncio.gather(*runs)

    return asyncio.run(run())


async def _nothing(batch: Any) -> None:
    raise AssertionError(f"an idle stream gave {len(batch)} records")


def _held(app: App) -> int:
    return sum(len(processor.leases) for processor in app.stats.processors.values())


def _look_after(runs: Sequence[asyncio.Future[None]]) -> None:
    for run in runs:
        if run.done():
            run.result()
            raise AssertionError("a worker ended by itself")


def _control(task: Task) -> dict[str, Any]:
    """What the canned server counted; it counts anew from here on."""
    connection = http.client.HTTPConnection(urlsplit(task.endpoint_url).netloc, timeout=60)
    connection.request("POST", "/", json.dumps({"reset": True}), {"X-Amz-Target": "Canned.Control"})
    told: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return told


if __name__ == "__main__":
    serve(
        {"stream": stream, "check": check, "batches": batches, "check_app": check_app, "keys": keys, "idle": idle},
        {"streamiter": version("streamiter"), "boto3": version("boto3"), "msgspec": version("msgspec")},
    )
