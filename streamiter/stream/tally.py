"""The tally: what a stream has counted over all its readings, and the value that `stats` gives of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from streamiter.driving import Driver
from streamiter.merge import Standing
from streamiter.reading import Reading
from streamiter.stream.sieve import Sieve
from streamiter.stream.stats import Stats
from streamiter.stream.undo import Undo


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
        self.records += standing.clock - reading.clock_before
        self.late += standing.late
        self.gaps += reading.gaps_accepted
        self.gone += reading.shards_gone
        self.retries += reading.retries
        self.throttles += reading.throttles

    def stats(self, driver: Driver, sieve: Sieve, undo: Undo | None = None) -> Stats:
        """Counts so far, and what the merge waits for; after Ctrl-C the latter is unknown until reading goes on."""
        reading = driver.reading
        snapshot = reading.snapshot(None if undo is None else undo.standing, is_whole=not driver.is_changing)
        duplicates = sieve.duplicates if undo is None else undo.duplicates
        calls = driver.calls + Counter(list_shards=self.listings)
        return Stats(
            calls=dict(calls),
            pages=driver.pages,
            records=self.records + snapshot.records - duplicates,
            late=self.late + snapshot.late,
            gaps=self.gaps + snapshot.gaps,
            gone=self.gone + snapshot.gone,
            poison=sieve.poison,
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
