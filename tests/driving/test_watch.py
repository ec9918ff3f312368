"""The watch: a reader that rests is woken by the source, long before it would have asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Sequence

from streamiter import AsyncStream, Stream
from streamiter.errors import TransientError
from streamiter.log import Entry, MemoryLog
from streamiter.source.base import ShardIterator

AN_HOUR = 3600.0


class Watched(MemoryLog):
    """Tells what is new as soon as it is appended."""

    watches = True
    poll_interval = idle_interval = AN_HOUR

    def __init__(self, partitions: int) -> None:
        super().__init__(partitions=partitions)
        self.news = threading.Condition()
        self.calls = 0
        self.faults = 0
        self.is_silent = False

    def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        with self.news:
            numbers = super().append(partition, entries)
            self.news.notify_all()
        return numbers

    def watch(self, iterators: Sequence[ShardIterator], seconds: float) -> Collection[str]:
        with self.news:
            self.calls += 1
            self.news.notify_all()
            if self.faults:
                self.faults -= 1
                raise TransientError("planted")
            self.news.wait_for(lambda: self._new(iterators), seconds)
            return self._new(iterators)

    def _new(self, iterators: Sequence[ShardIterator]) -> list[str]:
        if self.is_silent:
            return []
        return [shard for shard, after in iterators if (self.ends(int(shard)).last or 0) > after]

    def wait_for_watch(self, calls: int = 1) -> None:
        with self.news:
            self.news.wait_for(lambda: self.calls >= calls)


def filled(partitions: int = 3) -> Watched:
    log = Watched(partitions)
    for partition in range(partitions):
        log.append(partition, [Entry(b"before")])
    return log


def test_a_reader_at_rest_is_woken_at_once():
    log = filled()
    with Stream(log, lateness=0.0) as stream:
        records = stream.follow()
        assert [next(records).payload for _ in range(3)] == [b"before"] * 3
        for number in range(5):
            writer = threading.Thread(
                target=lambda n=number: (log.wait_for_watch(n + 1), log.append(n % 3, [Entry(b"new")]))
            )
            writer.start()
            assert next(records).payload == b"new"  # by asking it would come in an hour
            writer.join()
        assert stream.stats.calls["watch"] >= 4


def test_a_task_at_rest_is_woken_at_once():
    log = filled()

    async def read() -> list[bytes]:
        async with AsyncStream(log, lateness=0.0) as stream:
            found = [(await anext(stream)).payload for _ in range(3)]
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.to_thread(log.wait_for_watch)
            log.append(1, [Entry(b"new")])
            return [*found, (await waiting).payload]

    assert asyncio.run(read()) == [b"before", b"before", b"before", b"new"]


def test_a_watch_that_fails_is_begun_again():
    log = filled(1)
    log.faults = 1
    with Stream(log) as stream:
        records = stream.follow()
        next(records)
        writer = threading.Thread(target=lambda: (log.wait_for_watch(2), log.append(0, [Entry(b"new")])))
        writer.start()
        assert next(records).payload == b"new"
        writer.join()


def test_closing_does_not_wait_for_the_watch():
    log = filled(1)
    log.is_silent = True
    stream = Stream(log)
    reader = threading.Thread(target=lambda: list(stream.follow()))
    reader.start()
    log.wait_for_watch()
    stream.close()
    reader.join()


def test_a_watch_that_tells_nothing_loses_nothing():
    log = filled(1)
    log.is_silent = True
    log.poll_interval = log.idle_interval = 0.05
    with Stream(log) as stream:
        records = stream.follow()
        next(records)
        writer = threading.Thread(target=lambda: (log.wait_for_watch(), log.append(0, [Entry(b"new")])))
        writer.start()
        assert next(records).payload == b"new"
        writer.join()
