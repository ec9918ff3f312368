"""The tally: what a stream has counted over all its readings, and the snapshot that `stats` gives of it."""

from __future__ import annotations

from dataclasses import dataclass

from streamiter.clock import SECOND_US
from streamiter.merge import Lane
from streamiter.stream.driver import Driver
from streamiter.stream.reading import Reading
from streamiter.stream.stats import Stats


@dataclass(slots=True)
class Tally:
    """Counts of readings that are over, and of what no reading sees. Each `move_to` begins another reading."""

    records: int = 0
    late: int = 0
    gaps: int = 0
    gone: int = 0
    poison: int = 0
    duplicates: int = 0

    def add(self, reading: Reading) -> None:
        """A reading is over."""
        self.records += reading.merge.clock - reading.clock_before
        self.late += reading.merge.late
        self.gaps += reading.gaps
        self.gone += reading.gone

    def stats(self, driver: Driver) -> Stats:
        """What was done so far, and what is waited for."""
        reading = driver.reading
        reading.settle()
        lanes = [lane for lane in reading.lanes.values() if not lane.is_drained]
        return Stats(
            calls=dict(driver.calls),
            pages=driver.pages,
            records=self.records + reading.merge.clock - reading.clock_before - self.duplicates,
            late=self.late + reading.merge.late,
            gaps=self.gaps + reading.gaps,
            gone=self.gone + reading.gone,
            poison=self.poison,
            duplicates=self.duplicates,
            retries=driver.faults.retries,
            throttles=driver.faults.throttles,
            held_by=reading.held_by,
            lag={lane.shard_id: _lag_seconds(lane, reading.service_us) for lane in lanes},
            waiting=sum(map(len, lanes)),
            waiting_bytes=round(reading.waiting_bytes),
            open_shards=sum(not lane.ended for lane in lanes),
        )


def _lag_seconds(lane: Lane, service_us: int | None) -> float:
    """How old the first record is that was not returned; where none waits, since when none is known to be missing."""
    if service_us is None or (lane.is_at_tip and not len(lane)):
        return 0.0
    if len(lane):
        return max(0.0, (service_us - lane.times[lane.head]) / SECOND_US)
    # A lane that was idle is known up to its tip, however old the last record is that it returned.
    known = [time_us for time_us in (lane.emitted_us, lane.idle_us) if time_us is not None]
    since_us = max(known) if known else lane.opened_us
    return 0.0 if since_us is None else max(0.0, (service_us - since_us) / SECOND_US)
