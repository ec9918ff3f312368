"""Readings: a stream has one after the other, each from a token, such as the one of this moment; the tally adds them up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from streamiter.clock import microseconds
from streamiter.driving import Driver
from streamiter.driving.list_now import listing
from streamiter.driving.threads import Calls, Threads
from streamiter.merge import Standing
from streamiter.reading import Reading
from streamiter.reading.listing import Pace
from streamiter.reading.patience import Patience, retried
from streamiter.reading.resume import token_at_latest
from streamiter.source.base import Source
from streamiter.steps import Steps
from streamiter.stream.notices import Listener
from streamiter.stream.options import Settings
from streamiter.stream.stats import Stats
from streamiter.token import Token


@dataclass(slots=True)
class Tally:
    """Counts of the readings before the present one. Each `move_to` begins another reading."""

    listings: int = 0  # calls made to list the shards without a reading
    records: int = 0
    late: int = 0
    gaps: int = 0
    gone: int = 0
    retries: int = 0
    throttles: int = 0

    def add(self, reading: Reading, standing: Standing) -> None:
        """A reading ended; `standing`: how many of its records were returned."""
        self.records += standing.clock - reading.book.token.clock
        self.late += standing.late
        self.gaps += reading.gaps_accepted
        self.gone += reading.shards_gone
        self.retries += reading.retries
        self.throttles += reading.throttles

    def stats(self, driver: Driver, poison: int, duplicates: int, standing: Standing | None) -> Stats:
        """Counts so far, and what the merge waits for; after Ctrl-C the latter is unknown until reading goes on."""
        reading = driver.reading
        snapshot = reading.snapshot(standing, is_whole=not driver.is_changing)
        calls = driver.calls + Counter(list_shards=self.listings)
        return Stats(
            calls=dict(calls),
            pages=driver.pages,
            records=self.records + snapshot.records - duplicates,
            late=self.late + snapshot.late,
            gaps=self.gaps + snapshot.gaps,
            gone=self.gone + snapshot.gone,
            poison=poison,
            duplicates=duplicates,
            retries=self.retries + reading.retries,
            throttles=self.throttles + reading.throttles,
            held_by=snapshot.held_by,
            lag=snapshot.lag,
            waiting=snapshot.waiting,
            waiting_bytes=snapshot.waiting_bytes,
            open_shards=snapshot.open_shards,
            held_ahead=snapshot.held_ahead,
        )


class Latest:
    """Lists the shards, before there is a reading of them, or beside one. Its pace is that of all listings of the stream."""

    def __init__(self, source: Source, settings: Settings, listener: Listener, tally: Tally) -> None:
        self.name = source.name
        self.pace = Pace(source.listings_per_second)
        self.listener = listener
        self.tally = tally
        self._source = source
        self._settings = settings

    def token(self) -> Steps[Token]:
        """The token from which everything is read that is written after this returned."""
        source, settings = self._source, self._settings
        patience = self.patience()
        try:
            listed = yield from listing(source, settings.clock, self.pace, patience)
        finally:
            self.tally.retries += patience.retries
            self.tally.throttles += patience.throttles
        self.tally.listings += listed.calls
        precision = source.precision(settings.lateness)
        token = token_at_latest(source.name, listed.shards, listed.service_us, precision, source.retention_us)
        return (yield from self._anchored(token, patience)) if source.is_counted else token

    def _anchored(self, token: Token, patience: Patience) -> Steps[Token]:
        """The token with the places that its time stands for: from now on, what is lost behind them is told."""
        lanes = []
        for lane in token.lanes:
            call = partial(self._source.open_iterator, lane.shard, lane.position)
            behind = self._source.place_behind((yield from retried(call, self._settings.clock, patience)))
            if behind is not None:
                lane = replace(lane, place=(behind.text, behind.since), time=None, opened=None)
            lanes.append(lane)
        return replace(token, lanes=tuple(lanes))

    def patience(self) -> Patience:
        """The patience that a stream has with its calls; the listener is told of those that fail."""
        return Patience(self._settings.patience_us, self.listener.retry)


class Readings:
    """The driver, the reading that it drives now, and how another one begins."""

    def __init__(
        self, source: Source, settings: Settings, latest: Latest, token: Token, calls: Callable[[int], Calls] = Threads
    ) -> None:
        self.tally = latest.tally
        self._source = source
        self._settings = settings
        self._latest = latest
        self.driver = Driver(
            source, self._read_from(token), settings.clock, concurrency=settings.calls_of(source), calls=calls
        )

    def begin(self, token: Token, returned: Standing) -> None:
        """Goes on from a token; `returned`: how far records count as returned of the reading that ends."""
        ended = self.driver.reading
        self.driver.restart(self._read_from(token))
        self.tally.add(ended, returned)

    def mended(self) -> Reading:
        """The reading, in a state that has a token. The calling thread holds the driver's lock."""
        reading = self.driver.reading
        if self.driver.is_changing:  # no other thread can be changing it now, so that change broke off
            reading.mend()
        return reading

    def _read_from(self, token: Token) -> Reading:
        source, settings = self._source, self._settings
        return Reading(
            token,
            precision=source.precision(settings.lateness),
            holds=settings.holds,
            retention_us=source.retention_us,
            poll_us=settings.poll_us_of(source),
            listing_us=microseconds(source.listing_interval),
            idle_us=microseconds(source.idle_interval),
            prefetch_bytes=settings.prefetch_bytes,
            page_limit=source.page_limit,
            pace=self._latest.pace,
            patience=self._latest.patience(),
            now_us=microseconds(settings.clock.monotonic()),
        )
