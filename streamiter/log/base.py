"""The contract of a log: partitions that streamiter can write and read; a new backend is one class with these methods.

A log is a Source, too, of shards that have no parents and never end: Stream, tokens, tables, Spark and processors read it
as they read DynamoDB. A backend writes the seven methods below; the class here makes a Source's methods of them, once.

Each entry has a number within its partition. Numbers begin at 1 and grow, but some may be missing. A number stands for the
place behind its entry, and 0 for the place before all entries. The log stamps each entry with its own time. Methods block,
and several threads may call them at once. If a backend cannot do something, it raises one of our errors:

    PositionTrimmed    entries behind the place that was asked for are gone; or the log was set back, and never came so far
    ShardGone          there is no such partition
    Throttled          asked too often, or the log is full; nothing was written
    TransientError     a fault that may pass. **An append may have happened all the same.**
    AccessDenied, InvalidStream    final; the message says what to do
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Self

from streamiter.clock import LAST_US
from streamiter.errors import InvalidOption, ShardGone
from streamiter.log.record import LogRecord
from streamiter.position import After, AtNumber, AtTime, Horizon, Place, Position
from streamiter.record import Record
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardIterator, ShardPage, Source

_RECORD_BYTES = 450  # how much memory a waiting record takes beside its payload and key


class Entry(NamedTuple):
    """An entry to append: bytes, with or without a key, and with headers.

    None for a payload is a tombstone: the key has no value any more. A compacted topic of Kafka lets go of such a key.
    """

    payload: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


def check_entries(entries: Sequence[Entry]) -> None:
    """Refuses entries that are no bytes, before anything is written."""
    for payload, key, _ in entries:
        if not isinstance(payload, bytes | None) or not isinstance(key, bytes | None):
            raise InvalidOption(
                "an entry's payload and its key are bytes; a key may be None, and a tombstone's payload is"
            )


class Ends(NamedTuple):
    """The numbers of the first and the last entry that a partition holds; None if it holds none."""

    first: int | None
    last: int | None


class Slice(NamedTuple):
    """Entries of one partition in order, with the state of the log when they were read."""

    records: Sequence[LogRecord]
    is_tip: bool  # no entry follows them yet
    service_us: int | None  # every entry that comes later is stamped with this time or a later one


def page_of(found: Slice, following: ShardIterator) -> Page[LogRecord]:
    """A slice as a page of a source."""
    records, is_tip, service_us = found
    carried = [record.raw_payload for record in records], [record.key for record in records]
    size = sum(sum(map(len, filter(None, told))) for told in carried) + _RECORD_BYTES * len(records)
    return Page(records, following, service_us, caught_up=is_tip, size_bytes=size)


class Log(Source[LogRecord]):
    """Keeps records, and takes new ones. Its partitions are numbered from 0 on; there may come more, never fewer."""

    iterator_us = LAST_US  # a place in a log does not expire
    record_type: type[Record] = LogRecord
    # A log's times are exact, and its numbers tell which entries it lost unread. A backend that differs sets these itself.
    lateness = 0.0
    grain_us = 1
    is_counted = True
    poll_interval = idle_interval = 0.05
    listing_interval = 1.0  # partitions may be added at any time
    ends_are_entries = True  # whether there is an entry at each end that `ends` tells

    # -- for a backend to write, with `name` and `close`, which closes connections; a later call opens them again

    @abstractmethod
    def partitions(self) -> int:
        """How many partitions there are; raises InvalidStream if nobody has made the log yet."""

    @abstractmethod
    def grow(self, partitions: int) -> None:
        """Adds partitions until there are so many, and makes the log itself if it is missing. Never makes them fewer."""

    @abstractmethod
    def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        """Writes entries at a partition's end, in this order, and gives their numbers once they are durable."""

    @abstractmethod
    def read(self, partition: int, after: int, limit: int) -> Slice:
        """Up to so many of the entries that follow this number.

        Raises PositionTrimmed if one of these is gone, or if the partition never had an entry of so great a number.
        """

    @abstractmethod
    def seek(self, partition: int, time_us: int) -> int:
        """The number behind which all held entries stand whose stamp is at or after this time."""

    @abstractmethod
    def ends(self, partition: int) -> Ends:
        """The ends of the entries that the partition holds."""

    @abstractmethod
    def trim(self, partition: int, before: int) -> None:
        """Deletes all entries with lower numbers."""

    def now_us(self) -> int | None:
        """The log's own time. No entry that is appended from now on gets an earlier stamp."""
        return self.read(0, self.seek(0, LAST_US), 1).service_us

    def start(self, partition: int) -> int:
        """The number behind which all held entries stand, and all that will come."""
        return self.seek(partition, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- a Source's methods

    @property
    def retention_us(self) -> int:
        """For ever: a log loses entries by `trim`, and not by age."""
        return LAST_US

    def list_shards(self, after: str | None) -> ShardPage:
        """The partitions."""
        service_us = self.now_us()  # asked before we count: a partition that is added later has only newer entries
        return ShardPage(tuple(Shard(str(number)) for number in range(self.partitions())), None, service_us)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """A place in a partition: the number of the entry behind which reading goes on."""
        partition = self.partition_of(shard_id)
        match position:
            case Horizon():
                after = self.start(partition)
            case AtTime(time_us):
                after = self.seek(partition, time_us)
            case After(place):
                after = place.number
                self.read(partition, after, 1)  # raises at once if the entries behind it are gone
            case AtNumber(text):
                after = int(text) - 1
        return ShardIterator(shard_id, after)

    def place_behind(self, iterator: ShardIterator) -> Place | None:
        """The number of the entry behind which it stands."""
        return Place(iterator.value, 0)

    def fetch(self, iterator: ShardIterator, limit: int) -> Page[LogRecord]:
        """The entries that follow a place."""
        found = self.read(self.partition_of(iterator.shard_id), iterator.value, limit)
        behind = found.records[-1].number if found.records else iterator.value
        return page_of(found, ShardIterator(iterator.shard_id, behind))

    def partition_of(self, shard_id: str) -> int:
        """The partition that a shard's id names."""
        if not (shard_id.isascii() and shard_id.isdigit()):
            raise ShardGone(f"{self!r} has no shard {shard_id!r}: its shards are its partitions, from 0 on")
        return int(shard_id)
