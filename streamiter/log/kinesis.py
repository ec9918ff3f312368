"""The Kinesis log: a data stream whose open shards are the partitions, each reached by a hash key of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from streamiter.clock import SECOND_US, Clock, SystemClock
from streamiter.errors import InvalidOption, InvalidStream, ShardGone, Throttled, TransientError
from streamiter.log.base import Ends, Entry, Log, Slice, check_entries
from streamiter.log.kinesis_entry import SUBS, packed, record_of
from streamiter.log.record import LogRecord
from streamiter.position import After, AtNumber, AtTime, Horizon, Place, Position
from streamiter.source.base import TRAITS, Page, ShardIterator, ShardPage
from streamiter.source.kinesis import KinesisStreams
from streamiter.source.kinesis_errors import kinesis_errors
from streamiter.source.kinesis_record import KinesisRecord

WAIT_SECONDS = 300.0  # Kinesis makes a stream, or shards, in half a minute or so
LOOKS = 1000  # after so many pages without records, a look gives up
FULL = 100  # how many entries we take a record to hold, so that a look for few entries asks for few records
FIRST_WINDOW_US = 10 * SECOND_US  # how far back we first look for the last record; then ten times as far, and so on


class _Open(NamedTuple):
    """A shard that takes records, and a hash key in the middle of its range."""

    shard_id: str
    hash_key: str


class _At(NamedTuple):
    """A place in a shard: an iterator, and how many records behind it were read."""

    inner: ShardIterator
    to_skip: int


class KinesisLog(Log):
    """A Kinesis data stream that is written, too. Its partitions are the open shards, in the order of their hash keys.

    A stream that is resharded has other partitions then, whose parents are those before: readers see all of them, by their
    lineage. Kinesis lets go of records by their age alone, and does not count them; what it says of places is as with
    KinesisStreams. The numbers of entries are not Kinesis' own, so tokens of this log and of `kinesis://` are not the same.
    """

    record_type = LogRecord
    ends_are_entries = False  # its shards split and end: what tasks share of them, their lineage tells

    def __init__(self, name_or_arn: str, *, clock: Clock | None = None, **options: Any) -> None:
        """`options`: those of KinesisStreams: client, session, endpoint_url, region, reads_per_second, bytes_per_second."""
        self._source: KinesisStreams = KinesisStreams(name_or_arn, **options)
        for trait in TRAITS:
            if trait != "record_type":
                setattr(self, trait, getattr(self._source, trait))
        self._given = name_or_arn
        self._by = {"StreamARN" if name_or_arn.startswith("arn:") else "StreamName": name_or_arn}
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._open: list[_Open] = []
        self._last: dict[str, str] = {}  # by shard: the number of the last record that we put

    # -- the contract

    @property
    def name(self) -> str:
        """The stream's name, with a prefix that says that the numbers are ours."""
        return f"log:{self._source.name}"

    def partitions(self) -> int:
        """How many shards take records."""
        found: list[tuple[int, _Open]] = []
        after: str | None = None
        while True:
            page = self._source.list_shards(after)
            for shard in page.shards:
                if not shard.closed and shard.hash_keys is not None:
                    first, last = map(int, shard.hash_keys)
                    found.append((first, _Open(shard.id, str((first + last) // 2))))
            after = page.next
            if after is None:
                break
        with self._lock:
            self._open = [told for _, told in sorted(found)]
            return len(self._open)

    def grow(self, partitions: int) -> None:
        """Makes the stream, or splits its shards, and waits until they are there. It never merges any."""
        if partitions < 1:
            raise InvalidOption(f"a log has at least one partition, not {partitions}")
        try:
            found = self.partitions()
        except InvalidStream:
            self._call("CreateStream", "create_stream", StreamName=self._given, ShardCount=partitions)
            self._wait_for(partitions)
            return
        while found < partitions:
            target = min(2 * found, partitions)  # Kinesis takes no larger step
            self._call("UpdateShardCount", "update_shard_count", TargetShardCount=target,
                       ScalingType="UNIFORM_SCALING", **self._by)  # fmt: skip
            found = self._wait_for(target)

    def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        """Puts one record after the other, of up to 1,000 entries each. Kinesis takes all entries of a record, or none."""
        check_entries(entries)
        shard = self._shard(partition)
        numbers: list[int] = []
        for key, data, count in packed(entries, shard.hash_key) if entries else ():
            try:
                put = self._put(shard, key, data)
            except (Throttled, TransientError) as error:
                if numbers:
                    raise TransientError(
                        f"the first {len(numbers)} entries of an append were written: {error}"
                    ) from error
                raise
            numbers += range(put * SUBS, put * SUBS + count)
        return numbers

    def read(self, partition: int, after: int, limit: int) -> Slice:
        """Opens the shard behind the entry, and reads until entries come. A Stream goes on without opening it anew."""
        shard_id = self._shard(partition).shard_id
        position = After(Place(after, 0)) if after else Horizon()
        for page in self._pages(shard_id, position, max(1, limit // FULL)):
            if page.records or page.caught_up or page.next is None:
                return Slice(page.records[:limit], bool(page.caught_up) or page.next is None, page.service_us)
        raise TransientError(f"{self._where(shard_id)}: {LOOKS} pages brought nothing")

    def seek(self, partition: int, time_us: int) -> int:
        """The place right before the first entry that arrived at that time or later; if there is none, behind the last one."""
        shard_id = self._shard(partition).shard_id
        now_us = self.now_us()
        if now_us is None or time_us <= now_us:
            first = self._first(shard_id, AtTime(time_us) if time_us > 0 else Horizon(), time_us)
            if first is not None:
                return first - 1
        return self.ends(partition).last or 0

    def ends(self, partition: int) -> Ends:
        """Finds the first entry with one look, and the last by reading the latest records, going back until there are some."""
        shard_id = self._shard(partition).shard_id
        first = self._first(shard_id, Horizon(), 0)
        if first is None:
            return Ends(None, None)
        window_us, now_us = FIRST_WINDOW_US, self.now_us() or 0
        while True:
            is_whole = window_us >= self.retention_us
            last: int | None = None
            for page in self._pages(shard_id, Horizon() if is_whole else AtTime(now_us - window_us), self.page_limit):
                last = page.records[-1].number if page.records else last
                if page.caught_up or page.next is None:
                    break
            if last is not None or is_whole:
                return Ends(first, last or first)
            window_us *= 10

    def trim(self, partition: int, before: int) -> None:
        """Raises: Kinesis has no such call."""
        self._shard(partition)
        raise InvalidOption(
            f"{self!r}: Kinesis lets go of records by their age alone: set the stream's retention "
            "(aws kinesis decrease-stream-retention-period)"
        )

    def now_us(self) -> int | None:
        """The service's time."""
        return self._source.list_shards(None).service_us

    def close(self) -> None:
        """Closes the clients that were made here."""
        self._source.close()

    # -- as a source: with its lineage

    @property
    def retention_us(self) -> int:
        """How long the stream holds records."""
        return self._source.retention_us

    @property
    def connections(self) -> int:
        """The most calls at once that the client is made for."""
        return self._source.connections

    def list_shards(self, after: str | None) -> ShardPage:
        """All shards, closed ones too."""
        return self._source.list_shards(after)

    def open_iterator(self, shard_id: str, position: Position) -> ShardIterator:
        """One GetShardIterator call."""
        to_skip = 0
        match position:
            case After(place):
                number, sub = divmod(place.number, SUBS)
                if sub == SUBS - 1:
                    position = AtNumber(str(number + 1))
                else:
                    position, to_skip = After(Place(number, 0)), sub
            case AtNumber(text):
                position, to_skip = AtNumber(str(int(text) // SUBS)), int(text) % SUBS
        return ShardIterator(shard_id, _At(self._source.open_iterator(shard_id, position), to_skip))

    def place_behind(self, iterator: ShardIterator) -> Place | None:
        """None: Kinesis does not count."""
        return None

    def fetch(self, iterator: ShardIterator, limit: int) -> Page[LogRecord]:
        """One GetRecords call."""
        at: _At = iterator.value
        page = self._source.fetch(at.inner, limit)
        skipped = min(at.to_skip, len(page.records))
        records = [record_of(told) if isinstance(told, KinesisRecord) else told for told in page.records[skipped:]]
        following, caught_up = None, page.caught_up
        if page.next is not None:
            following = ShardIterator(iterator.shard_id, _At(page.next, at.to_skip - skipped))
            caught_up = caught_up and page.next.value.awaited is None  # else the entry before has not come again yet
        # Among them are spoiled records, which are never returned.
        return Page(
            cast("list[LogRecord]", records),
            following,
            page.service_us,
            caught_up,
            page.size_bytes,
            page.children,
            page.rest_us,
        )

    # -- inside

    def _put(self, shard: _Open, key: str, data: bytes) -> int:
        asked: dict[str, Any] = {**self._by, "Data": data, "PartitionKey": key, "ExplicitHashKey": shard.hash_key}
        last = self._last.get(shard.shard_id)
        if last is not None:
            asked["SequenceNumberForOrdering"] = last  # this record's number is greater then
        answer = self._call("PutRecord", "put_record", **asked)
        number, shard_id = str(answer["SequenceNumber"]), answer["ShardId"]
        with self._lock:
            if shard_id != shard.shard_id:
                self._open = []  # the stream was resharded, and a child shard took the record
            elif int(self._last.get(shard_id, "0")) < int(number):
                self._last[shard_id] = number
        return int(number)

    def _shard(self, partition: int) -> _Open:
        shards = self._open
        if not 0 <= partition < len(shards):
            self.partitions()
            shards = self._open
        if not 0 <= partition < len(shards):
            raise ShardGone(f"{self!r} has no partition {partition}, but {len(shards)}, from 0 on")
        return shards[partition]

    def _pages(self, shard_id: str, position: Position, limit: int) -> Iterator[Page[LogRecord]]:
        iterator = self.open_iterator(shard_id, position)
        for _ in range(LOOKS):
            page = self.fetch(iterator, limit)
            yield page
            if page.next is None:
                return
            if page.rest_us and not page.caught_up:
                self._clock.sleep(page.rest_us / SECOND_US)
            iterator = page.next

    def _first(self, shard_id: str, position: Position, since_us: int) -> int | None:
        """The number of the first entry from a place on that arrived at this time or later."""
        for page in self._pages(shard_id, position, 100):
            for record in page.records:
                if (record.created_us or 0) >= since_us:
                    return record.number
            if page.caught_up or page.next is None:
                return None
        return None

    def _wait_for(self, partitions: int) -> int:
        ends = self._clock.monotonic() + WAIT_SECONDS
        while True:
            told = self._call("DescribeStreamSummary", "describe_stream_summary", **self._by)
            status = told["StreamDescriptionSummary"]["StreamStatus"]
            if status == "ACTIVE" and (found := self.partitions()) >= partitions:
                return found
            if self._clock.monotonic() >= ends:
                raise TransientError(
                    f"{self!r}: its {partitions} shards are not there after {WAIT_SECONDS:.0f} s: {status}"
                )
            self._clock.sleep(0.5)

    def _call(self, action: str, method: str, **asked: Any) -> Any:
        call: Callable[..., Any] = getattr(self._source.client, method)
        with self._errors(action):
            return call(**asked)

    @contextmanager
    def _errors(self, action: str) -> Iterator[None]:
        with kinesis_errors(f"kinesis:{action}", self._given, gone=InvalidStream):
            yield

    def _where(self, shard_id: str) -> str:
        return f"shard {shard_id} of {self!r}"

    def __repr__(self) -> str:
        return f"KinesisLog({self._given!r})"
