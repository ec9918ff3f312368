"""The SQLite log: entries in a file that several processes of one machine write and read; the embedded default."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from streamiter.clock import Clock, SystemClock, microseconds
from streamiter.errors import InvalidOption, InvalidStream, PositionTrimmed, ShardGone
from streamiter.log import sqlite_layout as layout
from streamiter.log.base import Ends, Entry, Log, Slice, check_entries
from streamiter.log.gathering import Gathering, Job
from streamiter.log.record import LogRecord
from streamiter.log.sqlite_layout import Topic
from streamiter.source.base import ShardIterator
from streamiter.sqlitefile import Kind, SqliteFile, transaction

PAGE_BYTES = 8 * 1024 * 1024  # a look brings about so much at most
PART = 256  # entries are taken in such parts, so that a page of large ones is not much larger than that
TRIMMED_AT_ONCE = 20_000  # entries that one transaction lets go of: others write in between
GRACE_US = 100_000  # by so much a machine's clock may be set back without a record coming late
WATCH_SECONDS = 0.004  # so often a watch looks whether anything was committed
LOOK_US = 20_000  # so often the reader makes sure that no writer is at work, so that it knows the time


class SqliteLog(Log):
    """The entries of one topic in a file, which may hold others. Keep leases in a file of their own.

    An append is acknowledged when its entries are on the disk (synchronous=FULL): neither a crash nor a power failure takes
    them back. Threads that append at once share a transaction. Stamps rise strictly over the whole file.
    """

    watches = counts_anew = True

    def __init__(self, path: str | Path, topic: str, *, clock: Clock | None = None) -> None:
        if not topic or not topic.isprintable():
            raise InvalidOption("a topic has a name of printable characters")
        self._path = Path(path)
        self._topic = topic
        self._clock = clock or SystemClock()
        self._file = self._open(makes=False)
        self._incarnation: str | None = None
        self._closes = 0
        self._known_us = (
            0,
            0,
        )  # no writer was at work at this moment; and when that was, by the clock that never stops
        self._gathering = Gathering(self._write)

    @property
    def name(self) -> str:
        """The topic's name, and what tells it from one that was there under this name before."""
        return f"sqlite:{self._topic}@{self._file.call(self._look_up).incarnation}"

    def partitions(self) -> int:
        """How many tables there are."""
        return self._file.call(lambda db: self._look_up(db).partitions)

    def grow(self, partitions: int) -> None:
        """Makes the file, the topic and the tables that are lacking."""
        if partitions < 1:
            raise InvalidOption(f"a log has at least one partition, not {partitions}")
        file = self._open(makes=True)
        file.call(lambda db: layout.grow(db, self._topic, partitions))
        file.close()

    def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        """Writes in a transaction, together with what other threads append meanwhile."""
        check_entries(entries)
        return self._gathering.append(partition, entries)

    def read(self, partition: int, after: int, limit: int) -> Slice:
        """Reads the partition's table, as of one moment."""
        clear_us = self._clear_us()
        shard_id = str(partition)

        def look(db: sqlite3.Connection) -> Slice:
            with layout.snapshot(db):
                topic = self._look_up(db)
                state = layout.state(db, topic, partition)
                if state is None:
                    raise self._no_partition(partition)
                if not state.trimmed <= after < state.next:
                    raise PositionTrimmed(f"{self!r}: partition {partition} does not hold what follows entry {after}")
                rows = _up_to(layout.entries(db, topic, partition, after, limit), limit)
            behind = rows[-1][0] if rows else after
            records = [
                LogRecord(
                    shard_id,
                    str(number),
                    stamp_us,
                    raw_payload=payload,
                    key=key,
                    headers=layout.unpack_headers(headers),
                )
                for number, stamp_us, payload, key, headers in rows
            ]
            return Slice(records, behind + 1 == state.next, max(clear_us, state.last_us + 1))

        return self._file.call(look)

    def seek(self, partition: int, time_us: int) -> int:
        """Looks for the first number with such a stamp, halving: stamps rise with numbers."""

        def look(db: sqlite3.Connection) -> int:
            with layout.snapshot(db):
                topic = self._look_up(db)
                state = layout.state(db, topic, partition)
                if state is None:
                    raise self._no_partition(partition)
                return layout.seek(db, topic, partition, state, time_us)

        return self._file.call(look)

    def ends(self, partition: int) -> Ends:
        """By the partition's counts."""
        state = self._file.call(lambda db: layout.state(db, self._look_up(db), partition))
        if state is None:
            raise self._no_partition(partition)
        return Ends(state.trimmed + 1, state.next - 1) if state.trimmed + 1 < state.next else Ends(None, None)

    def trim(self, partition: int, before: int) -> None:
        """Removes rows, some thousands at once."""
        while (state := self._file.call(partial(self._trim_part, partition=partition, before=before))) is not None:
            if state.trimmed + 1 >= min(before, state.next):
                return
        raise self._no_partition(partition)

    def watch(self, iterators: Sequence[ShardIterator], seconds: float) -> Collection[str]:
        """Looks at the file's count of commits every few milliseconds, which costs microseconds."""
        places = {self.partition_of(iterator.shard_id): iterator.value for iterator in iterators}
        ends = self._clock.monotonic() + seconds
        closes = self._closes

        def look(db: sqlite3.Connection) -> Collection[str]:
            seen = None
            while closes == self._closes:
                version = layout.commits(db)
                if version != seen:
                    seen, following = version, layout.following(db, self._look_up(db))
                    if found := [
                        str(number) for number, after in places.items() if following.get(number, 0) > after + 1
                    ]:
                        return found
                if self._clock.monotonic() >= ends:
                    break
                self._clock.sleep(WATCH_SECONDS)
            return ()

        return self._file.call(look)

    def now_us(self) -> int:
        """As a look at any partition tells it."""
        clear_us = self._clear_us()
        return max(clear_us, self._file.call(layout.last_us) + 1)

    def close(self) -> None:
        """Closes the file; a later call opens it again."""
        self._closes += 1
        self._file.close()

    # -- inside

    def _write(self, jobs: list[Job]) -> None:
        """All of these in one transaction."""

        def write(db: sqlite3.Connection) -> None:
            with transaction(db):
                topic = self._look_up(db)
                for job in jobs:
                    job.error = None
                    numbers = layout.append(db, topic, job.partition, job.entries, microseconds(self._clock.now()))
                    if numbers is None:
                        job.error = self._no_partition(job.partition)
                    else:
                        job.numbers = numbers

        self._file.call(write)

    def _trim_part(self, db: sqlite3.Connection, partition: int, before: int) -> layout.State | None:
        with transaction(db):
            return layout.trim(db, self._look_up(db), partition, before, TRIMMED_AT_ONCE)

    def _clear_us(self) -> int:
        """A moment before which each entry is stamped that was not committed yet when this was called.

        Where no writer is at work at a moment, all that is stamped earlier is committed, and what comes is stamped later. A
        writer that is at work may have stamped already: then the time of the last commit is all that is known.
        """
        now_us = microseconds(self._clock.monotonic())
        known_us, looked_us = self._known_us
        if not looked_us <= now_us < looked_us + LOOK_US:
            found_us = self._file.call_now(self._lock_for_a_moment)
            if found_us is not None:
                known_us = max(known_us, found_us)
                self._known_us = known_us, now_us
        return known_us

    def _lock_for_a_moment(self, db: sqlite3.Connection) -> int:
        with transaction(db):
            return microseconds(self._clock.now()) - GRACE_US

    def _open(self, *, makes: bool) -> SqliteFile:
        prepare = partial(layout.prepare, where=str(self._path), makes=makes)
        return SqliteFile(self._path, repr(self), Kind(InvalidStream, prepare, makes), self._clock)

    def _look_up(self, db: sqlite3.Connection) -> Topic:
        found = layout.topic(db, self._topic)
        if found is None:
            raise InvalidStream(
                f"{self!r}: the file has no such topic; it has {layout.names(db)}. log.grow(4) makes it, of 4 partitions"
            )
        if self._incarnation not in (None, found.incarnation):
            raise InvalidStream(f"{self!r}: the topic was made anew meanwhile; open it again to read the new one")
        self._incarnation = found.incarnation
        return found

    def _no_partition(self, partition: int) -> ShardGone:
        return ShardGone(f"{self!r} has no partition {partition}: they are numbered from 0 on")

    def __repr__(self) -> str:
        return f"SqliteLog({str(self._path)!r}, {self._topic!r})"


def _up_to(cursor: sqlite3.Cursor, limit: int) -> list[layout.Row]:
    """The rows, up to as many bytes as a page may have; one at least."""
    rows: list[layout.Row] = []
    left = PAGE_BYTES
    while len(rows) < limit and left > 0:
        part = cursor.fetchmany(min(PART, limit - len(rows)))
        if not part:
            break
        rows += part
        left -= sum([len(row[2] or b"") for row in part])
    return rows
