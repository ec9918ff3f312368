"""The pilot: a thread reads on between micro-batches, so that Spark gets offsets from memory, without waiting for calls."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from streamiter.clock import SystemClock
from streamiter.reading import Mark
from streamiter.source.base import Source
from streamiter.spark.options import Options
from streamiter.spark.planning.offsets import offset_of, token_of
from streamiter.spark.planning.parts import Partition
from streamiter.spark.planning.planner import Harvest, Planner

Offset = dict[str, Any]

GATHER_SECONDS = 1.0  # while shards are being caught up with, a micro-batch is gathered for so long
TICK_SECONDS = 0.005  # how often answers are looked for, while a call is under way
LONGEST_TICK_SECONDS = 0.1
RENEW_SECONDS = 6 * 3600.0  # an idle query's offset is renewed so often: one older than retention could not be resumed


class _Planned(NamedTuple):
    start: Offset
    end: Offset
    harvest: Harvest


class Pilot:
    """Gives the end of the next micro-batch, and keeps its records until Spark has planned it."""

    def __init__(self, source: Source, options: Options, *, ends: bool) -> None:
        self._source = source
        self._options = options
        self._ends = ends
        self._clock = SystemClock()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._planner: Planner | None = None
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._is_closed = False
        self._at: Offset = {}  # the end of the last micro-batch, where the planner stands
        self._planned: _Planned | None = None
        self._mark: Mark | None = None
        self._renewed = 0.0
        self._is_new = True  # nothing came out yet

    def latest(self, start: Offset, most_records: int | None, most_bytes: int | None) -> Offset:
        """The end of the micro-batch that begins here; its start where there is nothing new."""
        if self._planned is not None and self._planned.start == start:
            return self._planned.end  # Spark asks again for what it has not planned yet.
        if self._planner is None or self._at != start:
            self._begin(start)
        since = self._clock.monotonic()
        while True:
            with self._lock:
                self._raise()
                assert self._planner is not None
                if self._is_due(self._planner, since):
                    return self._take(start, most_records, most_bytes)
                if self._has_none(self._planner, since):
                    return start
            self._clock.sleep(TICK_SECONDS)

    def planned(self, start: Offset, end: Offset) -> list[Partition] | None:
        """The partitions of a micro-batch whose end was given; None where it was not planned here."""
        planned, planner = self._planned, self._planner
        if planned is None or planner is None or (planned.start, planned.end) != (start, end):
            return None
        with self._lock:
            return planner.plan(planned.harvest)

    def forget(self, end: Offset) -> None:
        """The micro-batch is done: lets go of its records."""
        if self._planned is not None and self._planned.end == end:
            self._planned = None

    def close(self) -> None:
        """Ends the thread and the planner's own."""
        self._is_closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(2.0)
        if self._planner is not None:
            self._planner.close()

    # -- inside

    def _begin(self, start: Offset) -> None:
        """Reads on from an offset: the first one, or that of a checkpoint."""
        with self._lock:
            if self._planner is not None:
                self._planner.close()
            self._planned = self._error = None
            self._is_new = True
            self._at = start
            self._planner = Planner(
                self._source,
                token_of(start, self._source),
                self._options,
                self._clock,
                hands_over=not self._options.has_limit,
                lateness=self._options.lateness,
            )
            self._mark = self._planner.mark() if self._ends else None
            self._renewed = self._clock.monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="streamiter-planner", daemon=True)
            self._thread.start()

    def _is_due(self, planner: Planner, since: float) -> bool:
        """Whether a micro-batch is to be made now."""
        now = self._clock.monotonic()
        if self._mark is not None and planner.is_past(self._mark):
            return planner.has_handed  # Later records are left: while the table is written to, it would never end.
        if planner.has_news:
            return not planner.is_filling or now - since >= GATHER_SECONDS
        return self._mark is None and now - self._renewed >= RENEW_SECONDS

    def _has_none(self, planner: Planner, since: float) -> bool:
        """Whether it is known that there is nothing new."""
        if self._mark is not None:
            return planner.is_past(self._mark)
        if planner.has_news:
            return False
        # The first shards get some time to answer, or a query's first batch would be empty.
        return not self._is_new or not planner.is_filling or self._clock.monotonic() - since >= GATHER_SECONDS

    def _take(self, start: Offset, most_records: int | None, most_bytes: int | None) -> Offset:
        assert self._planner is not None
        harvest = self._planner.harvest(most_records, most_bytes, self._mark)
        end = offset_of(harvest.token)
        self._planned = _Planned(start, end, harvest)
        self._at = end
        self._is_new = False
        self._renewed = self._clock.monotonic()
        self._wake.set()  # There is room for more.
        return end

    def _raise(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _run(self) -> None:
        while not self._is_closed:
            pause = LONGEST_TICK_SECONDS
            with self._lock:
                planner = self._planner
                if planner is not None and self._error is None and not self._is_closed:
                    try:
                        planner.turn()
                        pause = min(max(planner.pause_seconds, TICK_SECONDS), LONGEST_TICK_SECONDS)
                    except Exception as error:  # Each kind of error is the query's to see.
                        self._error = error
            self._wake.wait(pause)
            self._wake.clear()
