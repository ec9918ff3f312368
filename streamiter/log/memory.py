"""The memory log: keeps entries in this process alone, for tests and for programs that may lose them."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from operator import attrgetter

from streamiter.clock import Clock, SystemClock, microseconds
from streamiter.errors import InvalidOption, PositionTrimmed, ShardGone
from streamiter.log.base import Ends, Entry, Log, Slice, check_entries
from streamiter.log.record import LogRecord
from streamiter.source.base import ShardIterator


class _Partition:
    def __init__(self) -> None:
        self.records: list[LogRecord] = []
        self.next = 1  # the number of the entry that comes next
        self.trimmed = 0  # the greatest number that is gone


class MemoryLog(Log):
    """Keeps partitions as lists. Readers and writers of one process share them by sharing the log."""

    watches = True

    def __init__(self, topic: str = "log", *, partitions: int = 1, clock: Clock | None = None) -> None:
        if partitions < 1:
            raise InvalidOption(f"a log has at least one partition, not {partitions}")
        self._topic = topic
        self._clock = clock or SystemClock()
        self._partitions = [_Partition() for _ in range(partitions)]
        self._last_us = 0
        self._lock = threading.Condition()  # notified of each append

    @property
    def name(self) -> str:
        """The topic's name."""
        return f"memory:{self._topic}"

    def partitions(self) -> int:
        """How many lists there are."""
        return len(self._partitions)

    def grow(self, partitions: int) -> None:
        """Adds empty ones."""
        with self._lock:
            self._partitions += [_Partition() for _ in range(partitions - len(self._partitions))]

    def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        """Adds to the list. The log stamps each entry later than the one before it."""
        check_entries(entries)
        with self._lock:
            found = self._of(partition)
            now_us = microseconds(self._clock.now())
            numbers = range(found.next, found.next + len(entries))
            for number, entry in zip(numbers, entries, strict=True):
                self._last_us = max(now_us, self._last_us + 1)
                found.records.append(
                    LogRecord(
                        str(partition),
                        str(number),
                        self._last_us,
                        raw_payload=entry.payload,
                        key=entry.key,
                        headers=entry.headers,
                    )
                )
            found.next += len(entries)
            self._lock.notify_all()
            return list(numbers)

    def read(self, partition: int, after: int, limit: int) -> Slice:
        """A copy of a part of the list: readers put their own stamps on records."""
        with self._lock:
            found = self._of(partition)
            if not found.trimmed <= after < found.next:
                raise PositionTrimmed(f"partition {partition} of {self!r}: what follows entry {after} was trimmed")
            begin = bisect_right(found.records, after, key=_number)
            records = found.records[begin : begin + limit]
            is_tip = begin + limit >= len(found.records)
            self._last_us = max(microseconds(self._clock.now()), self._last_us)  # what comes is stamped later than that
            return Slice([_copy(record) for record in records], is_tip, self._last_us + 1)

    def watch(self, iterators: Sequence[ShardIterator], seconds: float) -> Collection[str]:
        """Waits until a thread appends."""

        def found() -> list[str]:
            return [shard for shard, after in iterators if self._of(self.partition_of(shard)).next > after + 1]

        with self._lock:
            return self._lock.wait_for(found, seconds)

    def seek(self, partition: int, time_us: int) -> int:
        """Finds the number by the stamps, which grow."""
        with self._lock:
            found = self._of(partition)
            at = bisect_left(found.records, time_us, key=_stamp)
            return found.records[at].number - 1 if at < len(found.records) else found.next - 1

    def ends(self, partition: int) -> Ends:
        """The list's ends."""
        with self._lock:
            records = self._of(partition).records
            return Ends(records[0].number, records[-1].number) if records else Ends(None, None)

    def trim(self, partition: int, before: int) -> None:
        """Deletes the head of the list."""
        with self._lock:
            found = self._of(partition)
            gone = bisect_left(found.records, before, key=_number)
            if gone:
                found.trimmed = found.records[gone - 1].number
                del found.records[:gone]

    def _of(self, partition: int) -> _Partition:
        if not 0 <= partition < len(self._partitions):
            raise ShardGone(f"{self!r} has no partition {partition}, but {len(self._partitions)}, from 0 on")
        return self._partitions[partition]

    def __repr__(self) -> str:
        return f"MemoryLog({self._topic!r})"


_stamp = attrgetter("created_us")
_number = attrgetter("number")


def _copy(record: LogRecord) -> LogRecord:
    return LogRecord(
        record.shard_id,
        record.sequence_number,
        record.created_us,
        raw_payload=record.raw_payload,
        key=record.key,
        headers=record.headers,
    )
