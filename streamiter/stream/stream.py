"""The stream: what users iterate; it drives a source, keeps the order, and knows its token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

import arrow

from streamiter.clock import Clock, SystemClock, microseconds
from streamiter.errors import StreamiterError
from streamiter.lineage import Lineage
from streamiter.record import Record
from streamiter.source.base import Source
from streamiter.source.locate import locate
from streamiter.stream import options
from streamiter.stream.batch import Batch
from streamiter.stream.driver import Driver
from streamiter.stream.events import Event
from streamiter.stream.iterations import Iterations
from streamiter.stream.listener import Listener
from streamiter.stream.lookup import look_up
from streamiter.stream.model import Model
from streamiter.stream.outlet import Outlet
from streamiter.stream.position import parse_end, parse_position
from streamiter.stream.reading import Reading
from streamiter.stream.resume import token_at_latest, token_at_start
from streamiter.stream.seen import Seen
from streamiter.stream.sieve import Sieve
from streamiter.stream.stats import Stats
from streamiter.stream.stops import Stops
from streamiter.stream.tally import Tally
from streamiter.stream.telling import Telling
from streamiter.token import Token

if TYPE_CHECKING:
    import pyarrow

Start = str | dict[str, Any] | datetime | arrow.Arrow
Until = str | datetime | arrow.Arrow | None


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
        concurrency: int = 32,
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
        self._clock: Clock = SystemClock() if clock is None else clock
        self._lateness_us = None if lateness is None else microseconds(lateness)
        self._poll_us = max(1, microseconds(poll_interval))
        name = look_up(self._source, self._clock, patience)
        start = parse_position(position, name)
        self._listener = Listener(on_event, name, self._clock)
        reading = self._read_from(start if isinstance(start, Token) else token_at_start(name))
        self._driver = Driver(
            *(self._source, reading, self._clock, self._listener),
            concurrency=min(concurrency, getattr(self._source, "connections", concurrency)),
            prefetch_bytes=prefetch_bytes,
            patience=patience,
        )
        self._tally = Tally()
        seen = Seen(self._source) if getattr(self._source, "drops_duplicates", False) else None
        self._sieve = Sieve(known_model, seen, self._tally)
        self._telling = Telling(self._listener, self._driver, self._tally, is_ordered=lateness is not None)
        self._stops = Stops(self._driver, self._listener, self._sieve, skips_gaps=on_gap == "skip")
        self._outlet = Outlet(
            *(self._driver, self._listener, self._telling, self._sieve, self._stops), self._begin_anew
        )
        self._iterations = Iterations(
            *(self._outlet, self._driver, self._clock, self._telling), lateness_us=self._lateness_us
        )
        if not isinstance(start, Token):
            try:
                self._move_to_latest()
            except BaseException:
                self._driver.close()
                raise

    def __repr__(self) -> str:
        return f"<Stream {self._source.name}{', closed' if self._outlet.is_closed else ''}>"

    # -- records

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        """The next record, or None: at this moment nothing is due."""
        outlet = self._outlet
        for record in outlet.ready:
            return record  # nearly always: what the merge has sorted already costs no more than this
        if outlet.is_closed:
            raise StreamiterError("this stream is closed; make a new one from its token to read on")
        return outlet.next()

    def follow(self, until: Until = None) -> Iterator[Any]:
        """Records as they come: waits, never gives None. Ends with close(), or when a disabled stream is drained.

        With `until` it ends before: "caught_up" when all was returned that the service held as it began, a time when all
        was returned whose order time is before it. The token then stands before the first record that is not.
        """
        end = parse_end(until)
        self._outlet.put_back()
        return self._iterations.records(end)

    def batches(self, size: int, until: Until = None) -> Iterator[Batch]:
        """Lists of up to `size` records, each with `batch.token`, the token after its last record.

        With `until` ("caught_up", or a time) it ends as `follow` does; without, it goes on like `follow`, and gives what
        there is rather than wait for a full batch. An error comes after the batch of what precedes it.
        """
        options.check_count("size", size)
        end = parse_end(until)
        self._outlet.put_back()
        return self._iterations.batches(size, end, self._restart)

    def to_arrow(self, until: str = "caught_up") -> pyarrow.Table:
        """All that the service held when the call began, as a pyarrow.Table, in order. The token moves when it returns."""
        from streamiter.stream.table import records_to_table

        options.check_choice("until", until, ("caught_up",))
        before = self._driver.reading.token()
        stop_before, passed_before = self._stops.last, set(self._sieve.passed_over)
        try:
            records = [record for batch in self._iterations.batches(1 << 30, until, self._restart) for record in batch]
            return records_to_table(records, self._source.name, getattr(self._source, "record_type", Record))
        except BaseException:
            stop = self._stops.last
            self._restart(before)
            self._sieve.passed_over = passed_before  # what skip() named is still to be passed over
            self._stops.last = stop if stop is not stop_before else None
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
        self._stops.skip()

    def heartbeat(self) -> None:
        """Renews the iterators that are near their expiry. Safe in a tight loop: it calls out for these alone."""
        if not self._outlet.is_closed:
            self._outlet.mend()
            self._driver.heartbeat()
            self._telling.tell_noted()

    @property
    def lineage(self) -> Lineage:
        """The shards known so far, as they were listed; a value of its own."""
        known = self._driver.reading.lineage
        return Lineage(known[shard_id] for shard_id in known)

    @property
    def ended(self) -> bool:
        """Whether the stream is disabled and drained: `next` gives None for good."""
        return self._driver.is_drained

    @property
    def stats(self) -> Stats:
        """What was done so far, and what is waited for."""
        return self._tally.stats(self._driver)

    def close(self) -> None:
        """Ends the stream: wakes `follow`, ends the threads, closes the clients made here. Its token stays readable."""
        if self._outlet.is_closed:
            return
        self._outlet.close()
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
            self._telling.tell_last()

    # -- inside

    def _read_from(self, token: Token) -> Reading:
        return Reading(
            token,
            lateness_us=self._lateness_us,
            retention_us=self._source.retention_us,
            poll_us=self._poll_us,
            now_us=microseconds(self._clock.monotonic()),
        )

    def _restart(self, token: Token) -> None:
        self._begin(token)
        self._stops.last = None
        self._sieve.clear()

    def _begin_anew(self) -> None:
        self._begin(self._driver.reading.token())

    def _begin(self, token: Token) -> None:
        old, new = self._driver.reading, self._read_from(token)
        old.settle()
        self._outlet.put_back()
        self._tally.add(old)
        self._driver.restart(new)

    def _move_to_latest(self) -> None:
        """Lists the shards, and waits for it: what is written after this returns is to be seen."""
        rows, service_us = self._driver.list_now()
        token = token_at_latest(self._source.name, rows, service_us, self._lateness_us, self._source.retention_us)
        self._restart(token)
