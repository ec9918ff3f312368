"""The course of a stream: from its start on, and on from elsewhere; it is what Stream and AsyncStream have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamiter.lineage import Lineage
from streamiter.source.base import Source
from streamiter.steps import Steps
from streamiter.stream.acceptance import Acceptance, Duplicates
from streamiter.stream.claim import Claim
from streamiter.stream.iteration import Waiting
from streamiter.stream.notices import Listener, Notices
from streamiter.stream.options import Settings
from streamiter.stream.output import Outlet, Stops
from streamiter.stream.readings import Latest, Readings, Tally
from streamiter.stream.starting import naming, parse_position
from streamiter.stream.stats import Stats
from streamiter.token import Token


class Course:
    """A stream, but for its face: its readings, the outlet that records leave them by, and the waiting for them."""

    def __init__(self, source: Source, settings: Settings, readings: Readings, latest: Latest, claim: Claim) -> None:
        self._readings = readings
        self._latest = latest
        self.driver = readings.driver
        self.notices = Notices(latest.listener, self.driver, self.stats, is_ordered=settings.holds)
        acceptance = Acceptance(settings.model_of(source), Duplicates(source) if source.drops_duplicates else None)
        self.stops = Stops(self.driver, latest.listener, acceptance, skips_gaps=settings.skips_gaps)
        self.outlet = Outlet(readings, self.notices, self.stops, claim)
        self.waiting = Waiting(self.outlet, self.notices)

    # -- where it stands

    def token(self) -> Token:
        """The state after the last record returned."""
        with self.driver.lock:
            undo = self.outlet.undo
            return self._readings.mended().token() if undo is None else undo.token

    def stats(self) -> Stats:
        """What was done so far, and what is waited for."""
        with self.driver.lock:
            self._readings.mended()
            acceptance, undo = self.stops.acceptance, self.outlet.undo
            duplicates, standing = (acceptance.duplicates, None) if undo is None else (undo.duplicates, undo.standing)
            return self._readings.tally.stats(self.driver, acceptance.poison, duplicates, standing)

    def lineage(self) -> Lineage:
        """The shards known so far, as they were listed; a value of its own."""
        with self.driver.lock:
            known = self.driver.reading.book.lineage
            return Lineage(known[shard_id] for shard_id in known)

    @property
    def has_ended(self) -> bool:
        """Whether the stream is disabled and drained."""
        with self.driver.lock:
            is_whole = not self.driver.is_changing and self.outlet.undo is None
            return is_whole and self.driver.is_drained

    # -- going on

    def move_to(self, start: Token | str) -> Steps[None]:
        """Goes on from a token, or from "latest": from now on."""
        self._latest.listener.moved()
        token = start if isinstance(start, Token) else (yield from self._latest.token())
        self.outlet.begin(token, self.driver.reading.standing())
        self.stops.clear()

    def skip(self) -> None:
        """Goes past what the last error named, or past a record that is far ahead of the service's clock."""
        past = self.stops.skip()
        if past is not None:
            self.outlet.begin(past, self.driver.reading.standing())

    def heartbeat(self) -> Steps[None]:
        """Renews the iterators that are near their expiry."""
        yield from self.driver.heartbeat()
        self.notices.tell_noted()


Begin = Callable[[Latest, Token], Course]


def opened(
    source: Source, position: Any, settings: Settings, begin: Begin, give_up: Callable[[], None]
) -> Steps[Course]:
    """A course that begins at a position; `give_up` is called where "latest" cannot be told."""
    clock = settings.clock
    name = yield from naming(source, clock, settings.patience_seconds)
    start = parse_position(position, name, clock, grain_us=source.grain_us)
    listener = Listener(settings.on_event, name, clock, patience_seconds=settings.patience_seconds)
    latest = Latest(source, settings, listener, Tally())
    if isinstance(start, Token):
        return begin(latest, start)
    try:
        token = yield from latest.token()
    except BaseException:
        give_up()
        raise
    return begin(latest, token)


def on_threads(source: Source, settings: Settings, latest: Latest, token: Token) -> Course:
    """A course whose calls are made by threads, and that lets one thread in at a time."""
    return Course(source, settings, Readings(source, settings, latest, token), latest, Claim(latest.name))
