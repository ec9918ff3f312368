"""The stream: what users iterate; it drives a source, keeps the order, and knows its token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, Unpack, cast, overload

import arrow

from streamiter.clock import Clock, SystemClock
from streamiter.driving.list_now import finish_aside
from streamiter.errors import StreamiterError
from streamiter.lineage import Lineage
from streamiter.locate import locate
from streamiter.log import Log, LogRecord
from streamiter.record import ChangeRecord, Record
from streamiter.source.base import Source
from streamiter.source.dynamodb import DynamoDBStreams
from streamiter.source.kinesis import KinesisStreams
from streamiter.source.kinesis_record import KinesisChange, KinesisRecord
from streamiter.stream.claim import claimed
from streamiter.stream.course import on_threads, opened
from streamiter.stream.events import Event
from streamiter.stream.iteration import Batch, Batches, Looks, Runs, unwrapped
from streamiter.stream.options import Options, Settings, check_choice, check_count
from streamiter.stream.output import BATCH
from streamiter.stream.starting import parse_end, parse_position
from streamiter.stream.stats import Stats
from streamiter.stream.table import tabled

if TYPE_CHECKING:
    import pyarrow

Start = str | dict[str, Any] | datetime | arrow.Arrow
Until = str | datetime | arrow.Arrow | None

M = TypeVar("M")
if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    R_co = TypeVarWithDefault("R_co", bound=Record, covariant=True, default=ChangeRecord)
else:
    R_co = TypeVar("R_co", covariant=True)


class Stream(Generic[R_co]):
    """One ordered, resumable iterator over a sharded change stream.

    `next(stream)` gives a record, or None when nothing is due at this moment. `stream.token` is always after the last
    record returned: save it, hand it to `Stream(source, token)` or `move_to`, and each record that the service still
    holds comes out exactly once. `position` is "trim_horizon", "latest", a token (a dict, or its JSON), or a time: a datetime,
    an arrow, or text such as "2 hours ago" and "2026-11-18T10:30:00Z".

    `on_event` is called with each event (a gap, a late record, a call made again, progress), between records, on the
    thread that reads.

    One thread at a time may read or move a Stream; a second one is refused. `stats`, `token`, `ended`, `lineage` and `close()`
    are free to all threads. A process that was forked off has to make a Stream of its own.
    """

    @overload
    def __init__(
        self: Stream[ChangeRecord],
        source: str | DynamoDBStreams,
        position: Start = ...,
        *,
        model: None = None,
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: Stream[ChangeRecord[M]],
        source: str | DynamoDBStreams,
        position: Start = ...,
        *,
        model: type[M] | Callable[..., M],
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: Stream[KinesisRecord],
        source: KinesisStreams[Literal["payload"]],
        position: Start = ...,
        *,
        model: None = None,
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: Stream[KinesisRecord[M]],
        source: KinesisStreams[Literal["payload"]],
        position: Start = ...,
        *,
        model: type[M] | Callable[..., M],
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: Stream[KinesisChange | KinesisRecord],
        source: KinesisStreams[Literal["dynamodb"]],
        position: Start = ...,
        *,
        model: None = None,
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: Stream[KinesisChange[M] | KinesisRecord[M]],
        source: KinesisStreams[Literal["dynamodb"]],
        position: Start = ...,
        *,
        model: type[M] | Callable[..., M],
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: Stream[LogRecord[M]],
        source: Log,
        position: Start = ...,
        *,
        model: type[M] | Callable[..., M],
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: Stream[R_co],
        source: Source[R_co],
        position: Start = ...,
        *,
        model: None = None,
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: Stream[Any],
        source: Source[Any],
        position: Start = ...,
        *,
        model: type[Any] | Callable[..., Any],
        **options: Unpack[Options],
    ) -> None: ...

    def __init__(
        self,
        source: str | Source[Record],
        position: Start = "trim_horizon",
        *,
        lateness: float | Literal["auto"] | None = "auto",
        on_gap: Literal["raise", "skip"] = "raise",
        concurrency: int = 64,
        prefetch_bytes: int = 64 * 1024 * 1024,
        poll_interval: float | Literal["auto"] = "auto",
        patience: float = 60.0,
        model: type[Any] | Callable[..., Any] | None = None,
        clock: Clock | None = None,
        on_event: Callable[[Event], Any] | None = None,
    ) -> None:
        settings = Settings.checked(
            lateness=lateness,
            on_gap=on_gap,
            concurrency=concurrency,
            prefetch_bytes=prefetch_bytes,
            poll_interval=poll_interval,
            patience=patience,
            model=model,
            clock=clock,
            on_event=on_event,
        )
        found = self._source = locate(source)
        self._clock = settings.clock
        begin = partial(on_threads, found, settings)
        self._course = finish_aside(opened(found, position, settings, begin, found.close), self._clock)
        self._outlet = self._course.outlet
        self._waiting = self._course.waiting

    def __repr__(self) -> str:
        return f"<Stream {self._source.name}{', closed' if self._outlet.is_closed else ''}>"

    def __reduce__(self) -> NoReturn:
        raise StreamiterError(
            "a Stream cannot be pickled or copied: its threads and connections stay where they are. Send its source's name and "
            "stream.token instead, and make a Stream of these there: Stream(source, token)"
        )

    # -- records

    def __iter__(self) -> Iterator[R_co | None]:
        """As `next`, again and again; where nothing is due twice in a row, it rests until a call is, a second at most."""
        return cast("Iterator[R_co | None]", chain.from_iterable(Looks(self._waiting)))

    def __next__(self) -> R_co | None:
        """The next record, or None: at this moment nothing is due."""
        outlet = self._outlet
        record: R_co
        for record in outlet.ready:
            return record  # nearly always: what the merge has sorted already costs no more than this
        while self._prepare():
            for record in outlet.ready:  # Ctrl-C cannot come between this and the caller
                return record
        return None

    @claimed("next")
    def _prepare(self) -> bool:
        outlet = self._outlet
        outlet.check_open()
        run = self._waiting.finish(outlet.prepare())
        if run is None:
            return False
        outlet.ready = run
        if outlet.is_closed:  # meanwhile
            outlet.put_back()
        return True

    def follow(self, until: Until = None) -> Iterator[R_co]:
        """Records as they come: waits, never gives None. Ends with close(), or when a disabled stream is drained.

        With `until` it ends before: "caught_up" when all was returned that the service held as it began, a time when all
        was returned whose order time is before it. The token then stands before the first record that is not.
        """
        end = parse_end(until, self._clock, grain_us=self._source.grain_us)
        self._check_readable("follow")
        return chain.from_iterable(cast("Iterator[Iterator[R_co]]", Runs(self._waiting, end)))

    def batches(self, size: int, until: Until = None) -> Iterator[Batch[R_co]]:
        """Lists of up to `size` records, each with `batch.token`, the token after its last record.

        With `until` ("caught_up", or a time) it ends as `follow` does; without, it goes on like `follow`, and gives what
        there is rather than wait for a full batch. An error comes after the batch of what precedes it. What Ctrl-C breaks off
        comes again: the token is before it.
        """
        check_count("size", size)
        end = parse_end(until, self._clock, grain_us=self._source.grain_us)
        self._check_readable("batches")
        return cast("Iterator[Batch[R_co]]", unwrapped(Batches(self._waiting, size, end)))

    def to_arrow(self, until: Literal["caught_up"] = "caught_up") -> pyarrow.Table:
        """All that the service held when the call began, as a pyarrow.Table, in order. The token moves when it returns."""
        check_choice("until", until, ("caught_up",))
        self._check_readable("to_arrow")
        made = self._waiting.finish(tabled(self._course, self._source))
        return made.pop(BATCH)  # from here on it counts as returned

    def _check_readable(self, what: str) -> None:
        self._outlet.check_open()
        self._outlet.check(what)

    # -- where it stands

    @property
    def token(self) -> dict[str, Any]:
        """The state after the last record returned: a small JSON-friendly dict, for a Stream or `move_to`."""
        return self._course.token().to_dict()

    @claimed("move_to")
    def move_to(self, position: Start) -> None:
        """Goes on from "trim_horizon", "latest", a token of this stream, or the records of a time and later.

        "latest" means from now on: it may repeat about `lateness` + 1 s of earlier writes, and misses none after it returns.
        """
        start = parse_position(position, self._source.name, self._clock, grain_us=self._source.grain_us)
        finish_aside(self._course.move_to(start), self._clock, lambda: self._outlet.is_closed)

    @claimed("skip")
    def skip(self) -> None:
        """Goes past what the last error named: accepts the gap, or passes the poison record over.

        Without an error: past a record that is far ahead of the service's clock, where `stats.held_ahead` tells of one.
        """
        self._course.skip()

    def heartbeat(self) -> None:
        """Renews the iterators that are near their expiry. Safe in a tight loop: it calls out for these alone."""
        if not self._outlet.is_closed and not self._outlet.is_telling_here:
            self._heartbeat()

    @claimed("heartbeat")
    def _heartbeat(self) -> None:
        self._waiting.finish(self._course.heartbeat())

    @property
    def lineage(self) -> Lineage:
        """The shards known so far, as they were listed; a value of its own."""
        return self._course.lineage()

    @property
    def ended(self) -> bool:
        """Whether the stream is disabled and drained: `next` gives None for good."""
        return self._course.has_ended

    @property
    def stats(self) -> Stats:
        """What was done so far, and what is waited for."""
        return self._course.stats()

    def close(self) -> None:
        """Ends the stream: wakes `follow`, ends the threads, closes the clients made here. Its token stays readable."""
        if self._outlet.is_closed:
            return
        self._outlet.close()
        if self._outlet.is_forked:
            return  # threads and connections are the parent's
        if isinstance(self._clock, SystemClock):
            self._clock.wake.set()
        self._course.driver.close()

    def __enter__(self) -> Stream[R_co]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if self._outlet.is_forked:
            return
        if error is None or isinstance(error, Exception):  # after Ctrl-C the state may be anything
            self._waiting.end()
