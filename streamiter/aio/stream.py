"""The stream of asyncio: Stream's face with await, over the same course; nothing that it does blocks the event loop."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NoReturn, Unpack, cast, overload

from streamiter.aio.alone import alone, awaited, due
from streamiter.aio.claim import TaskClaim
from streamiter.aio.iterations import Follow, InBatches
from streamiter.aio.loop import LoopClock, OnLoop
from streamiter.aio.taking import Taking, fitting
from streamiter.driving.inline import Inline
from streamiter.driving.threads import Calls, Threads
from streamiter.errors import InvalidOption, StreamiterError
from streamiter.lineage import Lineage
from streamiter.locate import locate
from streamiter.log import Log, LogRecord
from streamiter.record import ChangeRecord, Record
from streamiter.source.base import Source
from streamiter.source.dynamodb import DynamoDBStreams
from streamiter.source.kinesis import KinesisStreams
from streamiter.source.kinesis_record import KinesisChange, KinesisRecord
from streamiter.steps import Steps
from streamiter.stream.course import Course, opened
from streamiter.stream.iteration import Batch, T
from streamiter.stream.options import AsyncOptions, Options, Settings, check_choice, check_count, check_seconds
from streamiter.stream.output import BATCH
from streamiter.stream.readings import Latest, Readings
from streamiter.stream.starting import parse_end, parse_position
from streamiter.stream.stats import NOTHING_YET, Stats
from streamiter.stream.stream import M, R_co, Start, Until
from streamiter.stream.table import tabled
from streamiter.token import Token

if TYPE_CHECKING:
    import pyarrow


_NEXT_AWAITED: Final = partial(alone, "anext", awaited)
_NEXT_DUE: Final = partial(alone, "next", due)


class _NotOpened:
    """Stands where the outlet will be."""

    ready: Iterator[Any] = iter(())


class AsyncStream(Generic[R_co]):
    """A Stream for asyncio: one ordered, resumable iterator over a sharded change stream, that awaits its records.

    `async for record in AsyncStream(source, token)` gives records as they come, as `Stream.follow` does. All that Stream has
    is here, with `await` where it may have to wait; options, errors, events and tokens are the same. Nothing is asked of the
    service before the first `await`: `await stream.open()` does it then, as does `async with`.

    A call that was cancelled lost nothing, and nothing comes twice: go on with the same stream, or from `stream.token`.

    One task at a time may read or move an AsyncStream; a second one is refused. `on_event` is called on the thread of the
    event loop. `inline=True` makes the source's calls on that thread, too: for sources in memory, and for virtual time.
    """

    @overload
    def __init__(
        self: AsyncStream[ChangeRecord],
        source: str | DynamoDBStreams,
        position: Start = ...,
        *,
        model: None = None,
        **options: Unpack[AsyncOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncStream[ChangeRecord[M]],
        source: str | DynamoDBStreams,
        position: Start = ...,
        *,
        model: type[M] | Callable[..., M],
        **options: Unpack[AsyncOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncStream[KinesisRecord],
        source: KinesisStreams[Literal["payload"]],
        position: Start = ...,
        *,
        model: None = None,
        **options: Unpack[AsyncOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncStream[KinesisRecord[M]],
        source: KinesisStreams[Literal["payload"]],
        position: Start = ...,
        *,
        model: type[M] | Callable[..., M],
        **options: Unpack[AsyncOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncStream[KinesisChange | KinesisRecord],
        source: KinesisStreams[Literal["dynamodb"]],
        position: Start = ...,
        *,
        model: None = None,
        **options: Unpack[AsyncOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncStream[KinesisChange[M] | KinesisRecord[M]],
        source: KinesisStreams[Literal["dynamodb"]],
        position: Start = ...,
        *,
        model: type[M] | Callable[..., M],
        **options: Unpack[AsyncOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncStream[LogRecord[M]],
        source: Log,
        position: Start = ...,
        *,
        model: type[M] | Callable[..., M],
        **options: Unpack[AsyncOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncStream[R_co],
        source: Source[R_co],
        position: Start = ...,
        *,
        model: None = None,
        **options: Unpack[AsyncOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncStream[Any],
        source: Source[Any],
        position: Start = ...,
        *,
        model: type[Any] | Callable[..., Any],
        **options: Unpack[AsyncOptions],
    ) -> None: ...

    def __init__(
        self,
        source: str | Source[Any],
        position: Start = "trim_horizon",
        *,
        model: type[Any] | Callable[..., Any] | None = None,
        inline: bool = False,
        **options: Unpack[Options],
    ) -> None:
        if options.get("clock") is None:
            options["clock"] = LoopClock()
        self._settings = Settings.checked(model=model, **options)
        check_choice("inline", inline, (True, False))
        if inspect.iscoroutinefunction(self._settings.on_event):
            raise InvalidOption(
                "on_event= takes a function that is called, not a coroutine function, which nobody awaits"
            )
        self._source: Source = locate(source)
        self._position = position
        self._clock = self._settings.clock
        self._loop = OnLoop(self._clock, _inline if inline else _on_threads)
        self._claim = TaskClaim("this AsyncStream")
        self._course: Course | None = None
        self._outlet: Any = _NotOpened()  # of the course, once there is one
        self._taking = Taking(self._clock)

    def __repr__(self) -> str:
        name = "not opened yet" if self._course is None else self._course.driver.name
        return f"<AsyncStream {name}{', closed' if self._loop.is_closed else ''}>"

    def __reduce__(self) -> NoReturn:
        raise StreamiterError(
            "an AsyncStream cannot be pickled or copied: its threads and connections stay where they are. Send its source's "
            "name and stream.token instead, and make an AsyncStream of these there: AsyncStream(source, token)"
        )

    # -- opening and closing

    async def open(self) -> AsyncStream[R_co]:
        """Looks the stream up, and for "latest" lists its shards, where that was not done yet; gives the stream itself."""
        await self._opened("open")
        return self

    async def aclose(self) -> None:
        """Ends the stream: wakes what waits for records, ends the threads, closes the clients made here. Its token stays."""
        if self._loop.is_closed:
            return
        self._loop.close()
        course = self._course
        if course is None:
            await self._loop.call_aside(self._source.close)
            return
        course.outlet.close()
        if not course.outlet.is_forked:
            course.driver.is_closed = True
            await self._loop.call_aside(course.driver.close)  # which waits for threads

    async def __aenter__(self) -> AsyncStream[R_co]:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
        course = self._course
        if course is not None and not course.outlet.is_forked and (error is None or isinstance(error, Exception)):
            course.waiting.end()

    # -- records

    def __aiter__(self) -> AsyncStream[R_co]:
        return self

    async def __anext__(self) -> R_co:
        """The next record, as soon as there is one. The iteration ends with `aclose`, or when a disabled stream is drained."""
        record: R_co
        for record in self._outlet.ready:
            return record  # nearly always
        while not (self._loop.is_closed and self._course is None) and await self._do(_NEXT_AWAITED):
            for record in self._outlet.ready:
                return record
        raise StopAsyncIteration

    async def next(self) -> R_co | None:
        """The next record, or None: at this moment nothing is due. It awaits what was asked for already, and no more."""
        record: R_co
        for record in self._outlet.ready:
            return record
        while await self._do(_NEXT_DUE):
            for record in self._outlet.ready:
                return record
        return None

    async def take(self, size: int, within: float, *, alone: Callable[[R_co], bool] | None = None) -> list[R_co]:
        """Up to `size` records: at once where so many are ready, else what there is after `within` seconds at most.

        The list is empty where nothing came. `token` is after its last record then. An error comes after the list of what
        precedes it. A `take` that was cancelled took nothing. A record for which `alone` is true makes a list by itself.
        """
        check_count("size", size)
        check_seconds("within", within)
        records: list[R_co] = list(islice(self._outlet.ready, size))
        if len(records) == size:
            count, is_whole = fitting(0, records, alone)
            if is_whole:
                self.put_back(records[count:])
            return records[:count]
        if records and self._course is not None:
            self._course.driver.reading.give_back(cast("list[Record]", records))
        return cast(
            "list[R_co]", await self._do_now(partial(self._taking.steps, size=size, seconds=within, alone=alone))
        )

    @property
    def next_due(self) -> R_co | None:
        """The record that comes next, if it is due: where `PoisonRecord` was raised, the one that `skip` goes past."""
        return None if self._course is None else cast("R_co | None", self._course.driver.peek())

    def take_now(self, size: int) -> list[R_co]:
        """Up to `size` of the records that are ready at this moment; nothing is asked of the service for it."""
        check_count("size", size)
        return list(islice(self._outlet.ready, size))

    def put_back(self, records: list[R_co]) -> None:
        """The last records that `take_now` gave come again, and `token` is before them; nothing else was done since."""
        if records and self._course is not None:
            self._course.driver.reading.give_back(cast("list[Record]", records))

    def follow(self, until: Until = None) -> AsyncIterator[R_co]:
        """As the iteration over the stream itself; with `until` it ends before, as `Stream.follow` does."""
        end = parse_end(until, self._clock, grain_us=self._source.grain_us)
        self._check_readable("follow")
        return Follow(self._do, end)

    def batches(self, size: int, until: Until = None) -> AsyncIterator[Batch[R_co]]:
        """Lists of up to `size` records, each with `batch.token`, as `Stream.batches` gives them."""
        check_count("size", size)
        end = parse_end(until, self._clock, grain_us=self._source.grain_us)
        self._check_readable("batches")
        return cast("AsyncIterator[Batch[R_co]]", InBatches(self._do, size, end))

    async def to_arrow(self, until: Literal["caught_up"] = "caught_up") -> pyarrow.Table:
        """All that the service held when the call began, as a pyarrow.Table, in order. The token moves when it returns."""
        check_choice("until", until, ("caught_up",))
        made = await self._do(partial(tabled, source=self._source))
        return made.pop(BATCH)  # it counts as returned from here on

    # -- where it stands

    @property
    def token(self) -> dict[str, Any]:
        """The state after the last record returned: a small JSON-friendly dict, for an AsyncStream, a Stream or `move_to`."""
        if self._course is None:
            raise StreamiterError("this AsyncStream is not open yet, so it has no token; await its open() first")
        return self._course.token().to_dict()

    async def move_to(self, position: Start) -> None:
        """Goes on from "trim_horizon", "latest", a token of this stream, or the records of a time and later."""
        if self._course is None:
            self._position = position
            await self._opened("move_to")
        else:
            start = parse_position(position, self._source.name, self._clock, grain_us=self._source.grain_us)
            await self._do(partial(alone, "move_to", partial(Course.move_to, start=start)))

    async def skip(self) -> None:
        """Goes past what the last error named: accepts the gap, or passes the poison record over; see `Stream.skip`."""
        course = await self._opened("skip")
        course.outlet.enter("skip")
        try:
            course.skip()
        finally:
            course.outlet.holder.clear()

    async def heartbeat(self) -> None:
        """Renews the iterators that are near their expiry. Safe in a tight loop: it calls out for these alone."""
        if not self._loop.is_closed and self._course is not None and not self._course.outlet.is_telling_here:
            await self._do(partial(alone, "heartbeat", Course.heartbeat))

    @property
    def lineage(self) -> Lineage:
        """The shards known so far, as they were listed; a value of its own."""
        return Lineage(()) if self._course is None else self._course.lineage()

    @property
    def ended(self) -> bool:
        """Whether the stream is disabled and drained: no record comes any more."""
        return self._course is not None and self._course.has_ended

    @property
    def stats(self) -> Stats:
        """What was done so far, and what is waited for."""
        return NOTHING_YET if self._course is None else self._course.stats()

    # -- inside

    async def _do(self, steps: Callable[[Course], Steps[T]]) -> T:
        """Does steps on the course; the other tasks have a turn first, where they had none for long."""
        await self._loop.turn()
        return await self._do_now(steps)

    async def _do_now(self, steps: Callable[[Course], Steps[T]]) -> T:
        course = self._course or await self._opened("open")
        return await self._loop.finish(steps(course))

    async def _opened(self, what: str) -> Course:
        if self._course is not None:
            return self._course
        self._claim.take(what)
        try:
            self._check_open()
            opening = opened(self._source, self._position, self._settings, self._begin, _stay_open)
            found = await self._loop.finish(opening)
            if self._loop.is_closed:  # meanwhile
                await self._loop.call_aside(found.driver.close)
                self._check_open()
        finally:
            self._claim.holder.clear()
        self._outlet = found.outlet
        self._loop.has_answers = lambda: found.driver.has_answers
        self._course = found
        return found

    def _begin(self, latest: Latest, token: Token) -> Course:
        readings = Readings(self._source, self._settings, latest, token, self._loop.calls)
        return Course(self._source, self._settings, readings, latest, self._claim.named(latest.name))

    def _check_open(self) -> None:
        if self._loop.is_closed:
            raise StreamiterError("this stream is closed; make a new one from its token to read on")

    def _check_readable(self, what: str) -> None:
        self._check_open()
        if self._course is not None:
            self._course.outlet.check(what)


def _on_threads(most: int, ring: Callable[[], None]) -> Calls:
    return Threads(most, bell=ring)


def _inline(most: int, _: Callable[[], None]) -> Calls:
    return Inline(most)


def _stay_open() -> None:
    """What could not be opened may be opened again."""
