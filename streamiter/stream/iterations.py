"""Iterations: records that are waited for, one by one or in batches, up to an ending or for as long as the stream lasts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import islice

from streamiter.clock import SECOND_US, Clock
from streamiter.record import Record
from streamiter.stream.batch import Batch
from streamiter.stream.driver import Driver
from streamiter.stream.ending import Ending
from streamiter.stream.outlet import Outlet
from streamiter.stream.telling import Telling
from streamiter.token import Token

End = int | str | None  # an order time, "caught_up", or never


class Iterations:
    """What `follow`, `batches` and `to_arrow` give."""

    def __init__(
        self,
        outlet: Outlet,
        driver: Driver,
        clock: Clock,
        telling: Telling,
        *,
        lateness_us: int | None,
    ) -> None:
        self._outlet = outlet
        self._driver = driver
        self._clock = clock
        self._telling = telling
        self._lateness_us = lateness_us

    def records(self, end: End) -> Iterator[Record]:
        """Records one by one."""
        ending = self._ending(end)
        outlet = self._outlet
        while not outlet.is_closed:
            record = next(outlet.ready, None) or outlet.next(ending)
            if record is not None:
                yield record
            elif self._is_over(ending):
                break
            else:
                self._sleep()
        self._telling.tell_last()

    def batches(self, size: int, end: End, restart: Callable[[Token], None]) -> Generator[Batch, None, None]:
        """Records in lists of up to this size. An error comes after the batch of what precedes it.

        What ends it at once, as Ctrl-C does, has it go back to the token before the batch, by `restart`.
        """
        ending = self._ending(end)
        is_done = False
        while not (is_done or self._outlet.is_closed):
            before = self._driver.reading.token()
            records: list[Record] = []
            error: Exception | None = None
            try:
                is_done = self._fill(records, size, ending)
            except Exception as caught:
                error = caught  # It comes after the records before it.
            except BaseException:
                restart(before)  # Nobody gets to see these records: the token must not be after them.
                raise
            if records:
                yield Batch(records, self._driver.reading.token().to_dict())
            if error is not None:
                raise error
        self._telling.tell_last()

    def _fill(self, records: list[Record], size: int, ending: Ending | None) -> bool:
        """Fills a batch; gives whether it is the last one."""
        outlet = self._outlet
        while len(records) < size and not outlet.is_closed:
            records += islice(outlet.ready, size - len(records))
            if len(records) == size:
                break
            record = outlet.next(ending)
            if record is not None:
                records.append(record)
            elif self._is_over(ending):
                return True
            elif records and (ending is None or ending.mark is None):
                return False
            else:
                self._sleep()
        return False

    def _ending(self, end: End) -> Ending | None:
        self._outlet.mend()
        if end is None:
            return None
        if isinstance(end, int):
            return Ending(end, None)
        return Ending(None, self._driver.reading.mark(self._driver.now_us))

    def _is_over(self, ending: Ending | None) -> bool:
        driver = self._driver
        if driver.is_drained:
            return True
        return ending is not None and ending.is_over(driver.reading, driver.now_us, self._lateness_us)

    def _sleep(self) -> None:
        pause_us = self._driver.next_due_us - self._driver.now_us
        self._clock.sleep(max(0.001, pause_us / SECOND_US))
