"""The outlet: where records leave the merge, one by one or in runs, while calls are made and what was noted is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from streamiter.record import Record
from streamiter.stream.driver import Driver
from streamiter.stream.ending import Ending
from streamiter.stream.listener import Listener
from streamiter.stream.sieve import Sieve
from streamiter.stream.stops import Stops
from streamiter.stream.telling import Telling

RUN = 512  # so many records come out before answers are looked at again
_NOTHING: Iterator[Record] = iter(())


class Outlet:
    """Gives the next record. What `ready` gives has come out already, but for being asked for: nearly all records."""

    def __init__(
        self,
        driver: Driver,
        listener: Listener,
        telling: Telling,
        sieve: Sieve,
        stops: Stops,
        begin_anew: Callable[[], None],
    ) -> None:
        self.ready: Iterator[Record] = _NOTHING
        self.is_closed = False
        self._driver = driver
        self._listener = listener
        self._telling = telling
        self._sieve = sieve
        self._stops = stops
        self._begin_anew = begin_anew

    def put_back(self) -> None:
        """What is ready is to be asked for anew: it may go beyond an ending."""
        self.ready = _NOTHING

    def close(self) -> None:
        """Nothing comes out any more. May come from another thread."""
        self.is_closed = True
        self.ready = _NOTHING

    def mend(self) -> None:
        """Where Ctrl-C or the like broke work off half way, reading goes on from the token, which no such thing changes."""
        if self._driver.is_torn:
            self._begin_anew()

    def next(self, ending: Ending | None = None) -> Record | None:
        """The next record, up to an ending; None: at this moment nothing is due. Raises what must be told."""
        self._listener.check_not_telling()
        self.mend()
        driver = self._driver
        driver.turn(wait=False)
        while True:
            record = self._take(ending)
            if record is not None:
                return record
            if driver.turn(wait=False):
                record = self._take(ending)
                if record is not None:
                    return record
            if ending is not None and ending.stands_before(driver.reading.peek()):
                return None
            if self._stops.meets_gap():
                continue
            driver.raise_fault()
            if not driver.is_asking:
                return self._take(ending)
            driver.turn(wait=True)

    def _take(self, ending: Ending | None) -> Record | None:
        """The next record that can come out, if there is one; those right behind it are then ready."""
        self.ready = _NOTHING
        tells_late = self._telling.tell()
        if self.is_closed:  # by on_event
            return None
        is_bounded = ending is not None and ending.before_us is not None
        if self._sieve.is_open and not is_bounded:
            return self._take_run(tells_late=tells_late)
        record = self._stops.pop(ending)
        if record is not None:
            self._stops.last = None
        return record

    def _take_run(self, *, tells_late: bool) -> Record | None:
        run = islice(self._driver.reading.records(), RUN)
        record = next(run, None)
        if record is not None:
            self._stops.last = None
            if not (tells_late and record.late):  # else the next one may have to be told of, too
                self.ready = run
        return record
