"""The stream: what users iterate; it drives a source, keeps the order, and knows its token."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from datetime import datetime
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any

import arrow

from streamiter.clock import SECOND_US, Clock, SystemClock, microseconds
from streamiter.errors import InvalidOption, PoisonRecord, RecordsExpired, StreamiterError, TransientError
from streamiter.lineage import Lineage
from streamiter.record import Record
from streamiter.source.base import Source
from streamiter.source.locate import locate
from streamiter.stream import options
from streamiter.stream.batch import Batch
from streamiter.stream.driver import Driver
from streamiter.stream.ending import Ending
from streamiter.stream.events import Event
from streamiter.stream.listener import Listener
from streamiter.stream.model import Model
from streamiter.stream.position import parse_end, parse_position
from streamiter.stream.reading import Reading
from streamiter.stream.resume import token_at_latest, token_at_start
from streamiter.stream.seen import Seen
from streamiter.stream.sieve import Sieve
from streamiter.stream.stats import Stats
from streamiter.stream.tally import Tally
from streamiter.token import Token

if TYPE_CHECKING:
    import pyarrow

logger = logging.getLogger("streamiter.stream")

Start = str | dict[str, Any] | datetime | arrow.Arrow
Until = str | datetime | arrow.Arrow | None


RUN = 512  # so many records come out before answers are looked at again
_NOTHING: Iterator[Record] = iter(())


class Stream:
    """One ordered, resumable iterator over a sharded change stream.

    `next(stream)` gives a record, or None when nothing is due at this moment. `stream.token` is always after the last
    record returned: save it, hand it to `Stream(source, token)` or `move_to`, and each record that the service still
    holds comes out exactly once. `position` is "trim_horizon", "latest", a token, or a time.

    `on_event` is called with each event (a gap, a late record, a call made again, progress), between records, on the
    thread that reads.

    A Stream belongs to one thread, but for `close()`.
    """

    def __init__(
        self,
        source: str | Source,
        position: Start = "trim_horizon",
        *,
        lateness: float | None = 1.0,
        on_gap: str = "raise",
        concurrency: int = 16,
        prefetch_bytes: int = 64 * 1024 * 1024,
        poll_interval: float = 0.25,
        patience: float = 60.0,
        model: Any = None,
        clock: Clock | None = None,
        on_event: Callable[[Event], Any] | None = None,
    ) -> None:
        options.check_seconds("lateness", lateness, may_be_none=True)
        options.check_seconds("poll_interval", poll_interval)
        options.check_seconds("patience", patience)
        options.check_count("concurrency", concurrency)
        options.check_count("prefetch_bytes", prefetch_bytes)
        options.check_choice("on_gap", on_gap, ("raise", "skip"))
        options.check_clock(clock)
        known_model = None if model is None else Model(model)
        self._source = locate(source)
        self._tally = Tally()
        seen = Seen(self._source) if getattr(self._source, "drops_duplicates", False) else None
        self._sieve = Sieve(known_model, seen, self._tally)
        self._clock: Clock = SystemClock() if clock is None else clock
        self._lateness_us = None if lateness is None else microseconds(lateness)
        self._skips_gaps = on_gap == "skip"
        self._poll_us = max(1, microseconds(poll_interval))
        self._is_closed = False
        self._stop: RecordsExpired | PoisonRecord | None = None  # what the last error named, for skip()
        self._ready: Iterator[Record] = _NOTHING  # records that came out of the merge, but for being asked for
        name = self._find(patience)
        self._listener = Listener(on_event, name, self._clock)
        start = parse_position(position, name)
        first = start if isinstance(start, Token) else token_at_start(name)
        self._driver = Driver(
            self._source,
            self._read_from(first),
            self._clock,
            self._listener,
            concurrency=concurrency,
            prefetch_bytes=prefetch_bytes,
            patience=patience,
        )
        if not isinstance(start, Token):
            try:
                self._move_to_latest()
            except BaseException:
                self._driver.close()
                raise

    def __repr__(self) -> str:
        return f"<Stream {self._source.name}{', closed' if self._is_closed else ''}>"

    # -- records

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        """The next record, or None: at this moment nothing is due."""
        for record in self._ready:
            return record  # nearly always: what the merge has sorted already costs no more than this
        if self._is_closed:
            raise StreamiterError("this stream is closed; make a new one from its token to read on")
        return self._next()

    def _next(self, ending: Ending | None = None) -> Record | None:
        self._listener.check_not_telling()
        driver = self._driver
        driver.turn(wait=False)
        while True:
            record = self._take(ending)
            if record is not None:
                return record
            if driver.turn(wait=False):
                record = self._take(ending)
                if record is not None:
                    return record
            if ending is not None and ending.stands_before(driver.reading.peek()):
                return None
            if self._stands_at_gap():
                continue
            driver.raise_fault()
            if not driver.is_asking:
                return self._take(ending)
            driver.turn(wait=True)

    def follow(self, until: Until = None) -> Iterator[Any]:
        """Records as they come: waits, never gives None. Ends with close(), or when a disabled stream is drained.

        With `until` it ends before: "caught_up" when all was returned that the service held as it began, a time when all
        was returned whose order time is before it. The token then stands before the first record that is not.
        """
        end = parse_end(until)
        self._ready = _NOTHING  # what was sorted already may go beyond the end
        return self._follow(end)

    def _follow(self, end: int | str | None) -> Iterator[Any]:
        ending = self._ending(end)
        while not self._is_closed:
            record = next(self._ready, None) or self._next(ending)
            if record is not None:
                yield record
            elif self.ended or self._is_over(ending):
                break
            else:
                self._sleep()
        self._tell_last_progress()

    def batches(self, size: int, until: Until = None) -> Iterator[Batch]:
        """Lists of up to `size` records, each with `batch.token`, the token after its last record.

        With `until` ("caught_up", or a time) it ends as `follow` does; without, it goes on like `follow`, and gives what
        there is rather than wait for a full batch. An error comes after the batch of what precedes it.
        """
        options.check_count("size", size)
        end = parse_end(until)
        self._ready = _NOTHING
        return self._batches(size, end)

    def to_arrow(self, until: str = "caught_up") -> pyarrow.Table:
        """All that the service held when the call began, as a pyarrow.Table, in order. The token moves when it returns."""
        from streamiter.stream.table import records_to_table

        options.check_choice("until", until, ("caught_up",))
        before = self._driver.reading.token()
        stop_before, passed_before = self._stop, set(self._sieve.passed_over)
        try:
            records = [record for batch in self._batches(1 << 30, until) for record in batch]
            return records_to_table(records, self._source.name, getattr(self._source, "record_type", Record))
        except BaseException:
            stop = self._stop
            self._restart(before)
            self._sieve.passed_over = passed_before  # what skip() named is still to be passed over
            self._stop = stop if stop is not stop_before else None
            raise

    # -- where it stands

    @property
    def token(self) -> dict[str, Any]:
        """The state after the last record returned: a small JSON-friendly dict, for a Stream or `move_to`."""
        return self._driver.reading.token().to_dict()

    def move_to(self, position: Start) -> None:
        """Goes on from "trim_horizon", "latest", a token of this stream, or the records of a time and later.

        "latest" means from now on: it may repeat about `lateness` + 1 s of earlier writes, and misses none after it returns.
        """
        self._listener.check_not_telling()
        start = parse_position(position, self._source.name)
        self._listener.moved()
        if isinstance(start, Token):
            self._restart(start)
        else:
            self._move_to_latest()

    def skip(self) -> None:
        """Goes past what the last error named: accepts the gap, or passes the poison record over."""
        self._listener.check_not_telling()
        stop, self._stop = self._stop, None
        self._driver.reading.settle()
        if isinstance(stop, RecordsExpired):
            self._accept_gap(stop, logging.INFO)
        elif isinstance(stop, PoisonRecord):
            self._sieve.pass_over(self._driver.reading)
        else:
            raise InvalidOption("there is nothing to skip: skip() goes past the gap or the record that an error named")

    def heartbeat(self) -> None:
        """Renews the iterators that are near their expiry. Safe in a tight loop: it calls out for these alone."""
        if not self._is_closed:
            self._driver.heartbeat()
            self._tell_noted()

    @property
    def lineage(self) -> Lineage:
        """The shards known so far, as they were listed; a value of its own."""
        known = self._driver.reading.lineage
        return Lineage(known[shard_id] for shard_id in known)

    @property
    def ended(self) -> bool:
        """Whether the stream is disabled and drained: `next` gives None for good."""
        self._driver.reading.settle()
        return self._driver.is_final and self._driver.reading.is_drained

    @property
    def stats(self) -> Stats:
        """What was done so far, and what is waited for."""
        self._driver.reading.settle()
        return self._tally.stats(self._driver)

    def close(self) -> None:
        """Ends the stream: wakes `follow`, ends the threads, closes the clients made here. Its token stays readable."""
        if self._is_closed:
            return
        self._is_closed = True
        self._ready = _NOTHING
        if isinstance(self._clock, SystemClock):
            self._clock.wake.set()
        self._driver.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if error is None or isinstance(error, Exception):  # after Ctrl-C the state may be anything
            self._tell_last_progress()

    # -- inside

    def _find(self, patience: float) -> str:
        """The stream's name; looking it up may take calls, which have the patience that all else has."""
        since, pause = self._clock.monotonic(), 0.1
        while True:
            try:
                return self._source.name
            except TransientError:
                if self._clock.monotonic() - since >= patience:
                    raise
                logger.info("the stream cannot be looked up yet; asked again in %.1f s", pause)
                self._clock.sleep(pause)
                pause = min(2 * pause, 2.0)

    def _take(self, ending: Ending | None = None) -> Record | None:
        """The next record that can come out, if there is one; those right behind it are then ready for `__next__`."""
        self._ready = _NOTHING
        tells_late = self._tell()
        if self._is_closed:  # by on_event
            return None
        reading = self._driver.reading
        is_bounded = ending is not None and ending.before_us is not None
        if self._sieve.is_open and not is_bounded:
            ready = islice(reading.records(), RUN)
            for first in ready:
                self._stop = None
                if not (tells_late and first.late):
                    self._ready = ready
                return first
            return None
        try:
            record = self._sieve.pop(reading, ending)
        except PoisonRecord as poison:
            self._stop = poison
            raise
        if record is not None:
            self._stop = None
        return record

    def _stands_at_gap(self) -> bool:
        """Raises where a gap stands before all else; gives True where it was skipped, as `on_gap` says."""
        reading = self._driver.reading
        lane = reading.gap
        if lane is None:
            return False
        gap = RecordsExpired(lane.shard_id, lane.position, reason=lane.gap or "")
        self._listener.gap_found(gap)
        if not self._skips_gaps:
            self._stop = gap
            raise gap
        self._accept_gap(gap, logging.WARNING)
        return True

    def _accept_gap(self, gap: RecordsExpired, level: int) -> None:
        before = self._driver.reading.gaps
        self._driver.reading.skip_gap(self._driver.now_us, gap.shard_id)
        if self._driver.reading.gaps > before:
            self._listener.gap_accepted(gap, level)

    # -- what on_event is told

    def _tell(self) -> bool:
        """Tells what was noted, and of the record that comes next if it is late; gives whether late ones are told."""
        listener = self._listener
        self._tell_noted()
        if self._lateness_us is None or not listener.tells_late:
            return False
        reading = self._driver.reading
        record = reading.peek()
        if record is not None and record.late:
            listener.late(record, reading.age_us(record) / SECOND_US)
        return True

    def _tell_noted(self) -> None:
        listener = self._listener
        if listener.listens:
            listener.tell()
            if listener.is_progress_due(self._driver.now_us):
                listener.progress(self.stats, self._driver.now_us)

    def _tell_last_progress(self) -> None:
        if self._listener.listens:
            self._listener.last_progress(self.stats, self._driver.now_us)

    def _batches(self, size: int, end: int | str | None) -> Generator[Batch, None, None]:
        ending = self._ending(end)
        is_done = False
        while not (is_done or self._is_closed):
            before = self._driver.reading.token()
            records: list[Record] = []
            error: Exception | None = None
            try:
                is_done = self._fill(records, size, ending)
            except Exception as caught:
                error = caught  # It comes after the records before it.
            except BaseException:
                self._restart(before)  # Nobody gets to see these records: the token must not be after them.
                raise
            if records:
                yield Batch(records, self.token)
            if error is not None:
                raise error
        self._tell_last_progress()

    def _fill(self, records: list[Record], size: int, ending: Ending | None) -> bool:
        """Fills a batch; gives whether it is the last one."""
        while len(records) < size and not self._is_closed:
            records += islice(self._ready, size - len(records))
            if len(records) == size:
                break
            record = self._next(ending)
            if record is not None:
                records.append(record)
            elif self.ended or self._is_over(ending):
                return True
            elif records and (ending is None or ending.mark is None):
                return False
            else:
                self._sleep()
        return False

    def _ending(self, end: int | str | None) -> Ending | None:
        if end is None:
            return None
        if isinstance(end, int):
            return Ending(end, None)
        return Ending(None, self._driver.reading.mark(self._driver.now_us))

    def _is_over(self, ending: Ending | None) -> bool:
        return ending is not None and ending.is_over(self._driver.reading, self._driver.now_us, self._lateness_us)

    def _sleep(self) -> None:
        pause_us = self._driver.next_due_us - self._driver.now_us
        self._clock.sleep(max(0.001, pause_us / SECOND_US))

    def _read_from(self, token: Token) -> Reading:
        return Reading(
            token,
            lateness_us=self._lateness_us,
            retention_us=self._source.retention_us,
            poll_us=self._poll_us,
            now_us=microseconds(self._clock.monotonic()),
        )

    def _restart(self, token: Token) -> None:
        old = self._driver.reading
        old.settle()
        self._ready = _NOTHING
        self._tally.add(old)
        self._stop = None
        self._sieve.clear()
        self._driver.restart(self._read_from(token))

    def _move_to_latest(self) -> None:
        """Lists the shards, and waits for it: what is written after this returns is to be seen."""
        rows, service_us = self._driver.list_now()
        token = token_at_latest(self._source.name, rows, service_us, self._lateness_us, self._source.retention_us)
        self._restart(token)
