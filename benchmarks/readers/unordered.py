"""The same source as streamiter's, read in no order at all, or held and sorted at once: the least that either takes.

`envelopes` uses pages as they come, by one thread, as a `Stream`'s records are: what reading so many shards takes before
anything is put in order. `held` keeps all pages, sorts their records once, by time alone, and uses them then: the least that
order takes where every shard has to give something before the first record may be used. It knows no rank, late record, token
or budget, and gives nothing before the end.

The same calls are made, with the same decoding, the listing no faster than the service allows. Each thread reads a shard to
its end, then another; there are as many as this goes fastest with on a network without latency.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from importlib.metadata import version
from typing import Any

from benchmarks.readers.ours import client
from benchmarks.readers.worker import Tally, Task, Watch, serve
from streamiter import DynamoDBStreams
from streamiter.position import Horizon
from streamiter.source.base import Page

THREADS = 2

Pages = queue.Queue[Page | BaseException]


def pages(task: Task) -> Generator[Sequence[Any], None, None]:
    """The records of all shards, page by page, as they come; they end only where they are no longer wanted."""
    source = DynamoDBStreams(task.arn, client=client(task.endpoint_url))
    shards = queue.SimpleQueue[str]()
    for shard_id in _shard_ids(source):
        shards.put(shard_id)
    waiting: Pages = queue.Queue(THREADS)
    is_over = threading.Event()
    threads = [
        threading.Thread(target=_read, args=(source, shards, waiting, is_over), daemon=True) for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    try:
        while True:
            page = waiting.get()
            if isinstance(page, BaseException):
                raise page
            yield page.records
    finally:
        is_over.set()
        while any(thread.is_alive() for thread in threads):
            _take_all(waiting)  # A thread may wait for room.


def _shard_ids(source: DynamoDBStreams) -> Iterator[str]:
    after: str | None = None
    asked = deque[float](maxlen=int(source.listings_per_second) - 1)  # as streamiter's lister
    while True:
        if len(asked) == asked.maxlen:
            time.sleep(max(0.0, asked[0] + 1.0 - time.monotonic()))
        asked.append(time.monotonic())
        listed = source.list_shards(after)
        yield from (shard.id for shard in listed.shards)
        after = listed.next
        if after is None:
            return


def _read(source: Any, shards: queue.SimpleQueue[str], waiting: Pages, is_over: threading.Event) -> None:
    try:
        while not is_over.is_set():
            iterator = source.open_iterator(shards.get_nowait(), Horizon())
            while iterator is not None and not is_over.is_set():
                page = source.fetch(iterator, source.page_limit)
                iterator = page.next
                waiting.put(page)
    except queue.Empty:
        return
    except BaseException as error:  # whatever it is, the thread that reads is to see it
        waiting.put(error)


def _take_all(waiting: Pages) -> None:
    try:
        while True:
            waiting.get(timeout=0.01)
    except queue.Empty:
        return


def envelopes(task: Task, watch: Watch) -> list[Any]:
    """Uses of each record what is not an image."""
    count = inserts = 0
    last = None
    client(task.endpoint_url)
    with closing(pages(task)) as told, watch:
        while count < task.records:
            for record in next(told):
                count += 1
                inserts += record.event_name == "INSERT"
                last = record.sequence_number
    return [count, inserts, last]


def held(task: Task, watch: Watch) -> list[Any]:
    """The same, once all are here, in the order of their times."""
    count = inserts = 0
    last = None
    client(task.endpoint_url)
    with closing(pages(task)) as told, watch:
        records: list[Any] = []
        while len(records) < task.records:
            records += next(told)
        times = [float(record.created_us) for record in records]
        for index in sorted(range(len(times)), key=times.__getitem__):
            record = records[index]
            records[index] = None
            count += 1
            inserts += record.event_name == "INSERT"
            last = record.sequence_number
    return [count, inserts, last]


def check(task: Task, watch: Watch) -> list[Any]:
    """What is read, not how fast: of all of it the oldest, since those are the ones that are read in order."""
    tally = Tally(images=task.options["images"])
    with closing(pages(task)) as told, watch:
        while tally.count < task.records:
            for record in next(told):
                created = record.created_us / 1e6
                if created < task.options["before"]:
                    images = (record.new, record.old) if tally.images else ()
                    tally.add(record.sequence_number, record.event_name, created, *images)
    return tally.told()


if __name__ == "__main__":
    serve(
        {"envelopes": envelopes, "held": held, "check": check},
        {"streamiter": version("streamiter"), "boto3": version("boto3"), "msgspec": version("msgspec")},
    )
