"""The wire: the calls that a reading wishes for, under way to a world; each answer arrives when it is delivered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from streamiter.errors import IteratorExpired, SourceError, TransientError
from streamiter.reading import Ask, Reading
from streamiter.shard import Shard
from streamiter.source.base import Page, ShardPage
from tests.worlds.pages import Pages
from tests.worlds.tape import Tape
from tests.worlds.world import NOW, Lag, World


@dataclass
class Flight:
    """A call under way."""

    shard: str | None  # None: a listing
    answer: Callable[[], Callable[[], None]]  # asks the service; what it gives hands the answer to the reading
    answered: Callable[[], None] | None = None


class Wire:
    """Makes a reading's calls to a world, by a clock turned by hand. With `faults` some of them fail."""

    def __init__(self, world: World, reading: Reading, tape: Tape, lag: Lag, *, now_us: int, faults: bool) -> None:
        self.world = world
        self.reading = reading
        self.tape = tape
        self.lag = lag
        self.now_us = now_us
        self.pages = Pages(world, tape, reading.book.lateness_us)
        self.flights: list[Flight] = []
        self.iterators: dict[str, int] = {}
        self.listings = 0
        self.tells_closed = False  # listings tell of every closed shard that it is
        self._rests: dict[str, int] = {}  # until when a shard is to be left alone
        self._faults = faults

    @property
    def service_us(self) -> int:
        return NOW + self.now_us

    def begin(self, room: int | None = None) -> None:
        """Starts the calls that the reading wishes for, at most so many."""
        wishes = self.reading.wishes(self.now_us, room or self.tape.draw(4) or 1 << 30)
        if wishes.listing is not None:
            call, self.listings = self.listings, self.listings + 1
            self._fly(None, lambda: self._list(call))
        for ask in wishes.asks:
            assert self.now_us >= self._rests.get(ask.shard_id, self.now_us), f"{ask.shard_id} was to rest"
            self._fly(ask.shard_id, partial(self._fetch, ask))

    def deliver(self, which: int) -> None:
        """Hands the answer of one of the calls under way to the reading."""
        flight = self.flights.pop(which)
        (flight.answered or flight.answer())()

    def _fly(self, shard_id: str | None, answer: Callable[[], Callable[[], None]]) -> None:
        flight = Flight(shard_id, answer)
        if self.tape.once_in(3):
            flight.answered = answer()  # The service answers at once, and the answer takes its time to arrive.
        self.flights.append(flight)

    def _list(self, call: int) -> Callable[[], None]:
        service_us = self.service_us
        rows: list[Shard] = []
        for row in self.world.rows(service_us, self.lag.hidden(self.world, call, service_us)):
            is_told = not row.closed or self.tells_closed or not self.tape.once_in(4)
            rows.insert(self.tape.draw(len(rows) + 1), row if is_told else Shard(row.id, row.parents))
        if rows and self.tape.once_in(4):
            rows.append(rows[self.tape.draw(len(rows))])
        if self._faults and self.tape.once_in(8):
            return lambda: self.reading.listing_failed(TransientError("a fault"), self.now_us)
        return lambda: self.reading.listed(ShardPage(tuple(rows), None, service_us), self.now_us)

    def _fetch(self, ask: Ask) -> Callable[[], None]:
        shard_id, start = ask.shard_id, self.iterators.get(ask.shard_id)
        try:
            if ask.open_at is not None:
                start = None
                start = self.world.open(shard_id, ask.open_at, self.service_us)
                self.pages.opened(shard_id)
            elif self._faults and self.tape.once_in(12):
                raise IteratorExpired("a fault")
            if self._faults and self.tape.once_in(12):
                raise TransientError("a fault")
            assert start is not None
            page, following = self.pages.fetch(shard_id, start, self.service_us)
        except SourceError as error:
            told = error
            return lambda: self._tell(ask, told, start)
        return lambda: self._tell(ask, page, following)

    def _tell(self, ask: Ask, answer: Page | SourceError, following: int | None) -> None:
        """Hands an answer to the reading; `following` is the iterator as it stands now."""
        if following is not None:
            self.iterators[ask.shard_id] = following
            if ask.open_at is not None:
                self.reading.opened(ask.shard_id)
        if isinstance(answer, SourceError):
            self.reading.failed(ask.shard_id, answer, self.now_us)
            return
        self._rests[ask.shard_id] = self.now_us + answer.rest_us
        self.reading.paged(ask.shard_id, answer, self.now_us)
