"""The wire: the calls that a reading wishes for, under way to a world; each answer arrives when it is delivered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from streamiter.errors import PositionTrimmed, ShardGone, TimeUnsupported
from streamiter.shard import Shard
from streamiter.stream.reading import Reading
from tests.worlds.pages import Page, Pages
from tests.worlds.tape import Tape
from tests.worlds.world import NOW, SECOND, Lag, World


@dataclass
class Flight:
    """A call under way."""

    shard: str | None  # None: a listing
    answer: Callable[[], Callable[[], None]]  # asks the service; what it gives hands the answer to the reading
    answered: Callable[[], None] | None = None


class Wire:
    """Makes a reading's calls to a world, by a clock turned by hand. With `faults` some of them fail."""

    def __init__(
        self,
        world: World,
        reading: Reading,
        tape: Tape,
        lag: Lag,
        *,
        now_us: int,
        lateness_us: int,
        faults: bool,
        tells_closed: bool,
    ) -> None:
        self.world = world
        self.reading = reading
        self.tape = tape
        self.lag = lag
        self.now_us = now_us
        self.pages = Pages(world, tape, lateness_us)
        self.flights: list[Flight] = []
        self.iterators: dict[str, int] = {}
        self.listings = 0
        self._rests: dict[str, int] = {}  # until when a shard is to be left alone
        self._faults = faults
        self._tells_closed = tells_closed  # listings tell of every closed shard that it is

    @property
    def service_us(self) -> int:
        return NOW + self.now_us

    def begin(self) -> None:
        """Starts the calls that the reading wishes for."""
        if self.reading.wants_listing(self.now_us):
            self._begin_listing()
        most = self.tape.draw(4) or 1 << 30
        for shard_id in self.reading.wishes(self.now_us)[:most]:
            assert self.now_us >= self._rests.get(shard_id, self.now_us), f"{shard_id} was to rest"
            self._begin_page(shard_id)

    def deliver(self, which: int) -> None:
        """Hands the answer of one of the calls under way to the reading."""
        flight = self.flights.pop(which)
        (flight.answered or flight.answer())()

    def _fly(self, shard_id: str | None, answer: Callable[[], Callable[[], None]]) -> None:
        flight = Flight(shard_id, answer)
        if self.tape.once_in(3):
            flight.answered = answer()  # The service answers at once, and the answer takes its time to arrive.
        self.flights.append(flight)

    def _begin_listing(self) -> None:
        ticket = self.reading.discovery.begin(self.now_us)
        call = self.listings
        self.listings += 1

        def answer() -> Callable[[], None]:
            service_us = self.service_us
            rows = self._rows(self.lag.hidden(self.world, call, service_us), service_us)
            if self._faults and self.tape.once_in(8):
                kept = rows[: self.tape.draw(len(rows) + 1)]
                return lambda: self._broken_listing(kept)
            return lambda: self.reading.listed(ticket, rows, service_us, self.now_us)

        self._fly(None, answer)

    def _rows(self, hidden: Iterable[str], service_us: int) -> list[Shard]:
        rows = []
        for row in self.world.rows(service_us, hidden):
            if row.closed and not self._tells_closed and self.tape.once_in(4):
                row = Shard(row.id, row.parents)  # Its end is not told yet.
            rows.insert(self.tape.draw(len(rows) + 1), row)
        if rows and self.tape.once_in(4):
            rows.append(rows[self.tape.draw(len(rows))])
        return rows

    def _broken_listing(self, rows: list[Shard]) -> None:
        self.reading.see(rows)
        self.reading.discovery.fail()

    def _begin_page(self, shard_id: str) -> None:
        at = self.iterators.get(shard_id)
        position = self.reading.opening(shard_id) if at is None else None
        if at is None and position is None:
            return  # A gap stands.
        self.reading.asked(shard_id)

        def answer() -> Callable[[], None]:
            try:
                start = at
                if start is None:
                    assert position is not None
                    start = self.world.open(shard_id, position, self.service_us)
                    self.pages.opened(shard_id)
                page = self.pages.fetch(shard_id, start, self.service_us)
            except PositionTrimmed:
                return lambda: self._trimmed(shard_id)
            except TimeUnsupported:
                return lambda: self.reading.refuse_time(shard_id, self.now_us)
            except ShardGone:
                return lambda: self._gone(shard_id)
            if self._faults and at is not None and self.tape.once_in(12):
                return lambda: self._expired(shard_id)
            if self._faults and self.tape.once_in(12):
                return lambda: self.reading.failed(shard_id, self.now_us + SECOND)
            return lambda: self._page(shard_id, page)

        self._fly(shard_id, answer)

    def _page(self, shard_id: str, page: Page) -> None:
        self.iterators[shard_id] = page.next
        goes_on = self.reading.push(
            *(shard_id, page.records, page.service_us, self.now_us),
            ended=page.ended,
            caught_up=page.caught_up,
            size_bytes=100 * len(page.records),
            children=page.children,
            rest_us=page.rest_us,
        )
        if page.rest_us:
            self._rests[shard_id] = self.now_us + page.rest_us
        if page.ended or not goes_on:
            del self.iterators[shard_id]

    def _expired(self, shard_id: str) -> None:
        del self.iterators[shard_id]
        self.reading.expired(shard_id, self.now_us)

    def _trimmed(self, shard_id: str) -> None:
        self.iterators.pop(shard_id, None)
        if self.reading.trimmed(shard_id, self.now_us) and not self.reading.lane(shard_id).ended:
            self.reading.failed(shard_id, self.now_us)  # It opens again at once.

    def _gone(self, shard_id: str) -> None:
        self.iterators.pop(shard_id, None)
        self.reading.unreachable(shard_id, self.now_us)
