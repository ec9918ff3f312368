"""Sending: waits until one value, or many, are written, and tells where."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from streamiter.clock import Clock
from streamiter.errors import SendFailed, StreamiterError
from streamiter.topic.sent import Written
from streamiter.topic.writer import Job, Sender


class One(Sender):
    """A single value on its way."""

    def __init__(self, clock: Clock, wake: Callable[[One], object]) -> None:
        """A thread of the crew calls `wake` once the value is written, or has failed."""
        self._since = clock.monotonic()
        self._wake = wake
        self._job: Job | None = None

    @property
    def waits_since(self) -> float:
        """The moment it was sent."""
        return self._since

    def settled(self, job: Job) -> None:
        """Wakes the sender."""
        self._job = job
        self._wake(self)

    def written(self) -> Written:
        """Where it was written; raises its error if it failed. Ask only after `wake`."""
        job = self._job
        assert job is not None
        if job.numbers is None:
            assert job.error is not None
            raise _own(job.error)
        return Written(job.partition, job.numbers[0])


def waited(clock: Clock, begin: Callable[[One], object]) -> Written:
    """Begins a send, and waits until the value is written."""
    over = threading.Event()
    one = One(clock, lambda _: over.set())
    begin(one)
    over.wait()
    return one.written()


def awaited(clock: Clock, begin: Callable[[One], object]) -> asyncio.Future[Written]:
    """Begins a send inside an event loop; returns the future to await."""
    loop = asyncio.get_running_loop()
    coming: asyncio.Future[Written] = loop.create_future()
    begin(One(clock, lambda one: _on_loop(loop, lambda: _hand_over(one, coming))))
    return coming


def _hand_over(one: One, coming: asyncio.Future[Written]) -> None:
    if coming.done():
        return
    try:
        coming.set_result(one.written())
    except BaseException as error:
        coming.set_exception(error)


class Many(Sender):
    """Many values on their way: bounded in number and size, and told apart by their place in the sequence."""

    def __init__(
        self,
        clock: Clock,
        *,
        most: int,
        most_bytes: int,
        keep: list[Written] | None = None,
        on_written: Callable[[int], object] | None = None,
    ) -> None:
        """`keep` gets the places in order; `on_written` is told how many of the first values are all written."""
        self._clock = clock
        self._most, self._most_bytes = most, most_bytes
        self._keep = keep
        self._on_written = on_written
        self._since = clock.monotonic()
        self._news = threading.Condition()
        self._wakers: list[Callable[[], object]] = []
        self._in_flight = self._bytes = 0
        self.taken = 0  # how many values were taken
        self.written = 0  # how many of the first values are all written
        self._beyond: dict[int, Written] = {}  # written, although an earlier one is not
        self._doubtful: set[int] = set()
        self.error: BaseException | None = None

    @property
    def waits_since(self) -> float:
        """The moment of the last write."""
        return self._since

    def take(self, size: int) -> int:
        """Counts the next value; returns its index."""
        with self._news:
            index = self.taken
            self.taken += 1
            if not self._in_flight:
                self._since = self._clock.monotonic()  # it was not waiting until now
            self._in_flight += 1
            self._bytes += size
            return index

    @property
    def has_room(self) -> bool:
        """Whether another value may be taken. False after a failure, which the caller then has to look at."""
        return self._in_flight < self._most and self._bytes < self._most_bytes and not self.has_failed

    def settled(self, job: Job) -> None:
        """Notes the values that were written, and wakes the sender if it waits for room."""
        with self._news:
            self._in_flight -= len(job.entries)
            self._bytes -= job.size
            if job.numbers is None:
                self.error = self.error or job.error
                self._doubtful.update(job.indices if job.is_doubtful else ())
            else:
                self._since = self._clock.monotonic()
                for index, number in zip(job.indices, job.numbers, strict=True):
                    self._beyond[index] = Written(job.partition, number)
                self._move_on()
            wakers, self._wakers = self._wakers, []
            self._news.notify_all()
        for wake in wakers:
            wake()

    def fail(self, error: BaseException) -> None:
        """A value cannot be sent: no other one begins."""
        with self._news:
            self.error = self.error or error
            self.has_failed = True

    def wait_for_room(self) -> bool:
        """Waits until there is room for another value; False: something failed, so take no more values."""
        with self._news:
            self._news.wait_for(self._may_go_on)
        return not self.has_failed

    def wait_until_written(self, count: int) -> bool:
        """Waits until so many of the first values are all written; False: something failed."""
        with self._news:
            self._news.wait_for(lambda: self.written >= count or self.has_failed)
        return not self.has_failed

    def wait_for_all(self, seconds: float | None = None) -> bool:
        """Waits until nothing is on its way, for so many seconds at most; then False."""
        with self._news:
            return self._news.wait_for(self._is_still, seconds)

    async def room_awaited(self) -> bool:
        """As `wait_for_room`, inside an event loop."""
        await self._awaited(self._may_go_on)
        return not self.has_failed

    async def all_awaited(self) -> None:
        """As `wait_for_all`, inside an event loop."""
        await self._awaited(self._is_still)

    def check(self, topic: str, failed: BaseException | None = None) -> None:
        """Raises SendFailed if something went wrong with what was taken, or, as `failed` tells, with what comes next."""
        cause = self.error or failed
        if cause is not None:
            raise SendFailed(topic, self._places(), self._doubtful, cause)

    def beyond(self) -> list[int]:
        """The values that are written although an earlier one is not."""
        with self._news:
            return sorted(self._beyond)

    def doubtful(self) -> list[int]:
        """The values that may have been written, in spite of the error."""
        with self._news:
            return sorted(self._doubtful)

    # -- inside

    async def _awaited(self, is_over: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        while True:
            with self._news:
                if is_over():
                    return
                coming: asyncio.Future[None] = loop.create_future()
                self._wakers.append(partial(_on_loop, loop, partial(_set, coming)))
            await coming

    def _is_still(self) -> bool:
        return self._in_flight == 0

    def _may_go_on(self) -> bool:
        return self.has_room or self.has_failed

    def _move_on(self) -> None:
        before = self.written
        while self.written in self._beyond:
            place = self._beyond.pop(self.written)
            if self._keep is not None:
                self._keep.append(place)
            self.written += 1
        if self._on_written is not None and self.written > before:
            self._on_written(self.written)

    def _places(self) -> list[Written | None]:
        first: list[Written | None] = list(self._keep or ())
        return first + [self._beyond.get(index) for index in range(len(first), self.taken)]


def _on_loop(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    if asyncio._get_running_loop() is loop:
        call()
        return
    with suppress(RuntimeError):  # the loop is closed, so no caller waits any more
        loop.call_soon_threadsafe(call)


def _set(coming: asyncio.Future[None]) -> None:
    if not coming.done():
        coming.set_result(None)


def _own(error: BaseException) -> BaseException:
    """A copy of the error for this sender alone: senders on several threads may get it, and each adds to its traceback."""
    if not isinstance(error, StreamiterError):
        return error
    own = copy.copy(error)
    own.__cause__ = error
    return own
