"""The output: the outlet hands records out of the merge; a gap or a poison record stops it; a batch can be undone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from threading import RLock, Thread
from typing import Any

from streamiter.driving import Driver
from streamiter.errors import InvalidOption, PoisonRecord, RecordsExpired, StreamiterError
from streamiter.merge import Standing
from streamiter.reading import Reading
from streamiter.record import Record
from streamiter.steps import ANSWERS, Steps
from streamiter.stream.acceptance import Acceptance, Identity
from streamiter.stream.claim import Claim, alive
from streamiter.stream.notices import Listener, Named, Notices, named
from streamiter.stream.readings import Readings
from streamiter.stream.starting import Ending
from streamiter.token import Token


class Stops:
    """Raises the gap or the poison record, and remembers it for `skip()`. With `skips_gaps` it raises no gap."""

    def __init__(self, driver: Driver, listener: Listener, acceptance: Acceptance, *, skips_gaps: bool) -> None:
        self.last: RecordsExpired | PoisonRecord | None = None
        self.accepted: set[Named] = set()  # gaps further on that skip() named
        self.acceptance = acceptance
        self._driver = driver
        self._listener = listener
        self._skips_gaps = skips_gaps

    @property
    def is_open(self) -> bool:
        """Whether every record is returned, so that the acceptance need not look at any."""
        return self.acceptance.is_open

    def accepts(self, ending: Ending | None) -> bool:
        """Whether to return the next record; raises PoisonRecord if the acceptance refuses it."""
        try:
            return self.acceptance.accepts(self._driver, ending)
        except PoisonRecord as poison:
            self.last = poison
            raise

    def meets_gap(self) -> bool:
        """Raises if a gap comes next; returns True if `on_gap`, or an earlier `skip()`, accepted it."""
        driver = self._driver
        lane = driver.change(lambda: driver.reading.next_gap)
        if lane is None:
            return False
        gap = RecordsExpired(lane.shard_id, lane.position, reason=lane.gap or "")
        if named(gap) in self.accepted:
            self._accept(gap, logging.INFO)
            self.accepted.discard(named(gap))
            return True
        self._listener.gap_found(gap)
        if not self._skips_gaps:
            self.last = gap
            raise gap
        self._accept(gap, logging.WARNING)
        return True

    def skip(self) -> Token | None:
        """Goes past what the last error named: accepts the gap, or passes the poison record over.

        Without an error, goes past a record that is far ahead of the service's clock: returns the token to go on from.
        """
        last, self.last = self.last, None
        if isinstance(last, RecordsExpired):
            self._accept(last, logging.INFO)
        elif isinstance(last, PoisonRecord):
            self.acceptance.pass_over(self._driver)
        else:
            driver = self._driver
            past = driver.change(lambda: driver.reading.token_past_ahead())
            if past is None:
                raise InvalidOption(
                    "there is nothing to skip: skip() goes past the gap or the record that an error named"
                )
            self.acceptance.note_poison()
            return past
        return None

    def clear(self) -> None:
        """Reading goes on elsewhere: earlier gaps and poison records do not stand there."""
        self.last = None
        self.accepted.clear()
        self.acceptance.clear()

    def _accept(self, gap: RecordsExpired, level: int) -> None:
        driver = self._driver
        before = driver.reading.gaps_accepted
        driver.change(lambda: driver.reading.skip_gap(driver.now_us, gap.shard_id))
        if driver.reading.gaps_accepted > before:
            self._listener.gap_accepted(gap, level)
        else:
            self.accepted.add(named(gap))  # to_arrow() went back to before it: it is to be met again


BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Undo:
    """The stream's state before a batch, and the batch itself, from when it is made until it is taken."""

    token: Token
    standing: Standing
    passed_over: frozenset[Identity]
    accepted: frozenset[Named]
    duplicates: int
    rest: dict[str, Any]  # empty: the batch was taken, or there is none

    @classmethod
    def of(cls, reading: Reading, stops: Stops) -> Undo:
        """Where it stands now."""
        return cls(
            reading.token(),
            reading.standing(),
            frozenset(stops.acceptance.passed_over),
            frozenset(stops.accepted),
            stops.acceptance.duplicates,
            {BATCH: None},
        )

    @property
    def is_pending(self) -> bool:
        """Whether the batch is still to be taken: if work breaks off now, the stream goes back."""
        return bool(self.rest)

    def drop(self) -> None:
        """There is nothing to go back for."""
        self.rest.clear()

    def restore(self, stops: Stops) -> None:
        """Restores that state, except the token."""
        acceptance = stops.acceptance
        acceptance.clear()
        acceptance.passed_over = set(self.passed_over)
        acceptance.duplicates = self.duplicates
        stops.accepted = set(self.accepted)


# A run has at most RUN records; with many lanes, RUN_OF_LANE for each. After a run the driver takes answers in, and the merge
# tells each lane that gave records how many: with a thousand lanes, shorter runs would spend most of their time on that. The
# pages that the reading gathers before a run let about as many records of each lane out (asking.GATHERED).
RUN, RUN_OF_LANE = 512, 8
_NOTHING: Iterator[Record] = iter(())


class Outlet:
    """Hands out records. `ready` iterates over records that are released already; taking one costs no further check.

    Everything else happens between `enter`, which lets one thread in at a time, and the clearing of `holder`.
    """

    def __init__(self, readings: Readings, notices: Notices, stops: Stops, claim: Claim) -> None:
        self.ready: Iterator[Any] = _NOTHING
        self.is_closed = False
        self._undo: Undo | None = None
        self._readings = readings
        self.driver = readings.driver
        self._claim = claim
        self._notices = notices
        self._stops = stops
        alive.add(self)

    # -- one thread at a time

    @property
    def holder(self) -> dict[str, tuple[Thread, str]]:
        """The thread that reads at present, and the method that it is in."""
        return self._claim.holder

    def enter(self, what: str) -> None:
        """Claims the stream for this thread, to read or move it; refuses a second thread, and `on_event`."""
        self._notices.check_not_telling()
        self._claim.take(what)
        try:
            self.put_back()
            self.mend()
        except BaseException:
            self.holder.clear()
            raise

    @property
    def is_telling_here(self) -> bool:
        """Whether `on_event` runs at this moment, on this thread."""
        return self._notices.is_telling_here

    def check_open(self) -> None:
        """Refuses to read a closed stream."""
        if self.is_closed:
            raise StreamiterError("this stream is closed; make a new one from its token to read on")

    def check(self, what: str) -> None:
        """Refuses `on_event`, and a process that was forked off."""
        self._claim.check_process(what)
        self._notices.check_not_telling()

    def put_back(self) -> None:
        """Drops the released run, which may reach past `until`; its records stay in their lanes."""
        self.ready = _NOTHING
        self.driver.reading.take_back()

    def mend(self) -> None:
        """If Ctrl-C or the like broke work off half way, goes on from the token, which is always whole."""
        if self.driver.is_torn or self.undo is not None:
            self.driver.heal()
            self.begin_anew()

    def begin_anew(self) -> None:
        """Goes on from the token: from before the batch that was being made, or after the last record returned."""
        reading, undo = self.driver.reading, self.undo
        with self.driver.lock:
            reading.mend()
        if undo is None:
            self.begin(reading.token(), reading.standing())
            return
        undo.restore(self._stops)
        self.begin(undo.token, undo.standing)
        undo.drop()

    def begin(self, token: Token, returned: Standing) -> None:
        """Goes on from a token; `returned`: how far records count as returned."""
        self.put_back()
        self._readings.begin(token, returned)

    def close(self) -> None:
        """No record comes out any more. Any thread may call this."""
        self.is_closed = True
        self.put_back()

    @property
    def is_forked(self) -> bool:
        """Whether this process is a child of the one that made the stream."""
        return self._claim.is_forked

    def forked(self) -> None:
        """This process is a child of the one that made the stream: here, no record comes out."""
        self.driver.lock = RLock()  # another thread of the parent may have held it
        self.holder.clear()
        self.put_back()

    # -- records

    @property
    def undo(self) -> Undo | None:
        """The state to go back to, while a batch is being made or after its making broke off."""
        undo = self._undo
        return undo if undo is not None and undo.is_pending else None

    def begin_batch(self) -> Undo:
        """From here on records count as returned only when the batch is taken."""
        self.driver.settle()  # so that the token costs less
        undo = self._undo = Undo.of(self.driver.reading, self._stops)
        return undo

    def prepare(self, ending: Ending | None = None, most: int | None = None) -> Steps[Iterator[Record] | None]:
        """The records that come next, up to an ending; None: at this moment nothing is due. Raises gaps, poison and faults."""
        driver = self.driver
        since_us = driver.now_us
        driver.turn(wait=False)
        while True:
            while driver.is_gathering(since_us):
                yield ANSWERS
                driver.turn(wait=False)
            run = self._run(ending, most)
            if run is not None:
                return run
            if driver.turn(wait=False):
                run = self._run(ending, most)
                if run is not None:
                    return run
            if ending is not None and ending.stands_before(driver.peek()):
                return None
            if self._stops.meets_gap():
                continue
            driver.raise_fault()
            self._notices.tell_ahead()
            if ending is not None and ending.is_over(driver):
                return None
            if driver.change(lambda: driver.is_pressing(since_us)):
                yield ANSWERS
                driver.turn(wait=False)
            elif not (yield from driver.rest(since_us)):
                return self._run(ending, most)

    def _run(self, ending: Ending | None, most: int | None) -> Iterator[Record] | None:
        """The records that can come out at this moment, if there are any."""
        tells_late = self._notices.tell()
        if self.is_closed:  # by on_event
            return None
        longest = max(RUN, RUN_OF_LANE * len(self.driver.reading.book.merge))
        is_bounded = ending is not None and ending.before_us is not None
        if not self._stops.is_open or is_bounded or self.driver.reading.has_spoiled:
            if not self._stops.accepts(ending):
                return None
            most = 1
        else:
            first = self.driver.peek()
            if first is None:
                return None
            if tells_late and first.late:
                most = 1  # the next one may have to be told of, too
        self._stops.last = None
        return self.driver.run(longest if most is None else min(most, longest))
