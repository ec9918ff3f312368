"""The feed: the iterator that an `events` processor gets; a record counts as processed when the next one is asked for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, Protocol

from streamiter.app.value import value_of
from streamiter.errors import InvalidOption
from streamiter.record import Record

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from streamiter.app.held import HeldLease
    from streamiter.lease.wishes import Entry

    R = TypeVar("R", bound=Record, default=Record)
else:
    from typing import TypeVar

    R = TypeVar("R")


ACKS = 256  # a run that never waits reports so many acks at once; other pages can be fetched in between


class Giver(Protocol):
    """What the feed may ask and report about its lease."""

    def may_begin(self, number: int) -> bool:
        """Whether this record may be handed over at this very moment. If so, the processor has it."""

    def end(self, number: int) -> None:
        """The processor is done with it."""

    def ack(self, entries: Sequence[Entry]) -> None:
        """These are processed."""

    def give_back(self, entries: Sequence[Entry]) -> None:
        """These were not handed over."""


class Feed:
    """Entries on their way to one run of the processor, which gets up to `most` of them at a time."""

    def __init__(self, giver: Giver, most: int) -> None:
        self._giver = giver
        self._most = most
        self._waiting: deque[Entry] = deque()
        self._handed: dict[int, Entry] = {}  # those that the processor has
        self._acked: list[Entry] = []  # those that are processed, which the engine does not know yet
        self._news = asyncio.Event()
        self._is_ended = False
        self._has_returned = False  # some that waited went back: they come again once those that are out are acked
        self.is_closed = False

    # -- the runtime's side

    def put(self, entries: Sequence[Entry]) -> None:
        """Adds entries. A closed feed gives them back."""
        if self.is_closed:
            self._giver.give_back(entries)
            return
        self._waiting.extend(entries)
        self._has_returned = False
        self._news.set()

    def end(self) -> None:
        """The shard was read to its end: no more entries will come."""
        self._is_ended = True
        self._news.set()

    def close(self) -> None:
        """Hands over no more, and gives back the entries that wait."""
        self.tell_acked()
        self.is_closed = True
        self._return_waiting()
        self._news.set()

    def take_unacked(self) -> list[Entry]:
        """Takes away the entries that the processor has and did not ack."""
        unacked, self._handed = list(self._handed.values()), {}
        for entry in unacked:
            self._giver.end(entry.number)
        return unacked

    # -- the processor's side

    async def next(self) -> Entry | None:
        """Hands over the next entry; None when no more will come."""
        while True:
            self._news.clear()
            entry = self.next_now()
            if entry is not None or self.is_closed:
                return entry
            await self._news.wait()

    async def more(self) -> Entry | None:
        """As `next`; None also if no entry can come before the processor acks those that it has."""
        while True:
            self._news.clear()
            entry = self.next_now()
            is_dry = self._is_ended or self._has_returned or len(self._handed) >= self._most
            if entry is not None or self.is_closed or is_dry:
                return entry
            await self._news.wait()

    def take_back(self, entry: Entry) -> None:
        """The processor did not get this one after all: it comes next again."""
        del self._handed[entry.number]
        self._giver.end(entry.number)
        self._waiting.appendleft(entry)

    def next_now(self) -> Entry | None:
        """The next entry, if one is here and may be handed over."""
        if not self._waiting or self.is_closed:
            return None
        entry = self._waiting[0]
        if not self._giver.may_begin(entry.number):
            self._return_waiting()  # they come again once the lease is certain
            return None
        self._waiting.popleft()
        self._handed[entry.number] = entry
        return entry

    def ack_all(self) -> None:
        """All entries that the processor has are processed. The engine hears of it in the loop's next turn at the latest."""
        if self._handed:
            if not self._acked:
                asyncio.get_running_loop().call_soon(self.tell_acked)
            self._acked += self._handed.values()
            for number in self._handed:
                self._giver.end(number)
            self._handed.clear()
            if len(self._acked) >= ACKS:
                self.tell_acked()

    def tell_acked(self) -> None:
        """Reports to the engine at once which entries are processed."""
        if self._acked:
            acked, self._acked = self._acked, []
            self._giver.ack(acked)

    def ack(self, record: Record) -> None:
        """This record is processed."""
        for number, entry in self._handed.items():
            if entry.record is record:
                del self._handed[number]
                self._giver.end(number)
                self._giver.ack([entry])
                return

    def _return_waiting(self) -> None:
        if self._waiting:
            waiting, self._waiting = list(self._waiting), deque()
            self._has_returned = True
            self._giver.give_back(waiting)


class Events(Generic[R]):
    """The records of one lease, as they come: `async for record in events.records()`, or `await events.take(100, within=0.5)`.

    It ends when the lease does: its shard is read to its end, another worker gets it, or the app stops.
    """

    def __init__(self, feed: Feed, lease: HeldLease, model: Callable[[Record], object] | None = None) -> None:
        self.lease = lease
        """The lease whose records these are."""
        self._feed = feed
        self._model = model

    async def records(self) -> AsyncGenerator[R, None]:
        """One record after the other; each counts as processed once the next is asked for."""
        # If an entry is here already, as nearly always in a backlog, we need not await.
        while (entry := self._feed.next_now() or await self._feed.next()) is not None:
            yield self._given(entry)
            self._feed.ack_all()

    async def values(self) -> AsyncIterator[Any]:
        """As `records`, but what the records carry: a topic's values, or what `model=` makes of them."""
        async with aclosing(self.records()) as records:
            async for record in records:
                yield value_of(record)

    def __aiter__(self) -> AsyncIterator[R]:
        return self.records()

    async def take(self, n: int, within: float | None = None) -> list[R]:
        """Up to `n` records at once; waits for the first, and `within` seconds for more. Empty only when there are no more.

        What was taken before counts as processed. Fewer come where no other follows as long as these are not processed: at the
        shard's end, where `in_flight` allows no more, while the lease is uncertain, and before a record that cannot be read.
        """
        if n < 1:
            raise InvalidOption(f"events.take(n) takes 1 record or more, not {n}")
        self._feed.ack_all()
        first = await self._feed.next()
        if first is None:
            return []
        found = [self._given(first)]
        try:
            async with asyncio.timeout(within):
                while len(found) < n and (entry := await self._feed.more()) is not None:
                    try:
                        found.append(self._given(entry))
                    except Exception:  # the next call raises it, so that the bad record fails alone
                        self._feed.take_back(entry)
                        break
        except TimeoutError:
            pass
        return found

    def ack(self, record: Record) -> None:
        """This record is processed, even if others that were given before it are not."""
        self._feed.ack(record)

    def _given(self, entry: Entry) -> R:
        if self._model is not None:
            self._model(entry.record)
        record: R = entry.record
        return record
