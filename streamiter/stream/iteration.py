"""Iterations: they wait for records, and give them in runs or in batches, up to an ending, or as long as the stream lasts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeVar

from streamiter.clock import SECOND_US
from streamiter.record import Record
from streamiter.steps import Answers, Pause, Steps, finish
from streamiter.stream.claim import READER, claimed
from streamiter.stream.notices import Notices
from streamiter.stream.output import BATCH, Outlet, Undo
from streamiter.stream.starting import Ending

T = TypeVar("T")
if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    R = TypeVarWithDefault("R", bound=Record, default=Record)
else:
    R = TypeVar("R")

End = int | str | None  # an order time, "caught_up", or never


class Batch(list[R]):
    """Records in order, a list, with the token after the last of them."""

    def __init__(self, records: Iterable[R], token: dict[str, Any]) -> None:
        super().__init__(records)
        self.token = token


class Waiting:
    """Waits for records, and knows when an iteration is over."""

    def __init__(self, outlet: Outlet, notices: Notices) -> None:
        self.outlet = outlet
        self._driver = outlet.driver
        self._notices = notices

    def finish(self, steps: Steps[T]) -> T:
        """Does all the steps, and waits on this thread."""
        return finish(steps, self._driver.wait)

    def ending(self, end: End) -> Ending | None:
        """Where an iteration ends that begins now."""
        if end is None:
            return None
        if isinstance(end, int):
            return Ending(end, None)
        return Ending(None, self._driver.mark(), self._driver.reading)

    def next_run(self, ending: Ending | None) -> Steps[Iterator[Record] | None]:
        """The records that come next; None at the end of the iteration."""
        while not self.outlet.is_closed:
            run = yield from self.outlet.prepare(ending)
            if run is not None:
                return run
            if self._is_over(ending):
                return None
            yield from self.rest()
        return None

    def fill(self, records: list[Record], size: int, ending: Ending | None) -> Steps[bool]:
        """Fills a batch; gives whether it is the last one."""
        outlet = self.outlet
        while len(records) < size and not outlet.is_closed:
            run = yield from outlet.prepare(ending, size - len(records))
            if run is not None:
                records += run
            elif self._is_over(ending):
                return True
            elif records and (ending is None or ending.mark is None):
                return False
            else:
                yield from self.rest()
        return False

    def token(self) -> dict[str, Any]:
        """The token after the last record taken."""
        self._driver.settle()
        return self._driver.reading.token().to_dict()

    def rest(self) -> Steps[None]:
        """Waits until the next call falls due; a second at most."""
        seconds = max(0, self._driver.next_due_us - self._driver.now_us) / SECOND_US
        if self.outlet.is_closed:
            return
        if not self._driver.watch():
            yield Pause(seconds)
            return
        yield Pause(0.0)  # a clock of the caller's is told of each rest: commands print then what they have
        yield Answers(seconds)

    def end(self) -> None:
        """The iteration is over: tells the caller's `on_event` how far it came."""
        self._notices.tell_last()

    def _is_over(self, ending: Ending | None) -> bool:
        return self._driver.is_drained or (ending is not None and ending.is_over(self._driver))


class Looks(Iterator[Iterator[Record | None]]):
    """The runs of a loop over the stream itself: records, and None when nothing is due.

    `next` never waits, so a loop that asks again and again would keep a processor busy. Therefore the first None comes at
    once, so that the caller can do other work; if nothing is due at the next look either, this rests first.
    """

    def __init__(self, waiting: Waiting) -> None:
        self._outlet = waiting.outlet
        self._waiting = waiting
        self._is_idle = False

    @claimed("next")
    def __next__(self) -> Iterator[Record | None]:
        self._outlet.check_open()
        run = self._waiting.finish(self._steps())
        self._is_idle = run is None
        return iter((None,)) if run is None else run

    def _steps(self) -> Steps[Iterator[Record] | None]:
        outlet = self._outlet
        run = yield from outlet.prepare()
        if run is None and self._is_idle:
            yield from self._waiting.rest()
            outlet.check_open()
            run = yield from outlet.prepare()
        return run


class Following:
    """The runs of `follow`: each record of a run counts as returned once the caller takes it."""

    def __init__(self, waiting: Waiting, end: End) -> None:
        self._waiting = waiting
        self._end = end
        self._ending: Ending | None = None
        self._has_begun = False
        self.is_over = False

    def steps(self) -> Steps[Iterator[Record] | None]:
        """The records that come next; None at the end of the iteration, for good."""
        if not self._has_begun:
            self._ending = self._waiting.ending(self._end)
            self._has_begun = True
        run = yield from self._waiting.next_run(self._ending)
        if run is None:
            self.is_over = True
            self._waiting.end()
        return run


class Runs(Iterator[Iterator[Record]]):
    """The runs of a `follow` on this thread."""

    def __init__(self, waiting: Waiting, end: End) -> None:
        self._outlet = waiting.outlet
        self._waiting = waiting
        self._following = Following(waiting, end)

    def __next__(self) -> Iterator[Record]:
        run = None if self._following.is_over else self._next()
        if run is None:
            raise StopIteration
        return run

    @claimed("follow")
    def _next(self) -> Iterator[Record] | None:
        return self._waiting.finish(self._following.steps())


class Making:
    """Makes the batches: lists of up to `size` records. An error comes after the batch of the records before it.

    A batch comes whole or not at all: if Ctrl-C breaks its making off, at whatever instruction, the token is before the
    batch, and its records come again. So a batch counts as returned only when it has left this class: it comes in a dict of
    its own, and `unwrapped` takes it out of the dict without any Python instruction on the way to the caller.
    """

    def __init__(self, waiting: Waiting, size: int, end: End) -> None:
        self._outlet = waiting.outlet
        self._waiting = waiting
        self._size = size
        self._end = end
        self._ending: Ending | None = None
        self._has_begun = False
        self._is_over = False
        self._ends_well = False
        self._error: Exception | None = None  # it comes after the batch

    def steps(self) -> Steps[dict[str, Batch] | None]:
        """The next batch, still to be taken; None at the end of the iteration."""
        if self._error is not None:
            error, self._error, self._is_over = self._error, None, True
            raise error
        if self._is_over:
            self._tell_end()
            return None
        self._is_over = True  # unless it goes well
        outlet = self._outlet
        outlet.enter("batches")
        try:
            undo = outlet.begin_batch()
            yield from self._make(undo)
            if undo.is_pending:
                del outlet.holder[READER]  # no other thread comes between this and the caller
                return undo.rest
            outlet.holder.clear()
        except BaseException as error:
            self._is_over = isinstance(error, Exception)  # Ctrl-C, or a task that was cancelled: the batch comes next
            outlet.holder.clear()
            raise
        self._tell_end()
        return None

    def _tell_end(self) -> None:
        """Tells how far reading came, once the last batch counts as returned."""
        if self._ends_well:
            self._ends_well = False
            self._waiting.end()

    def _make(self, undo: Undo) -> Steps[None]:
        """Makes the next batch, and puts it into `undo.rest`, unless the iteration is over."""
        records: list[Record] = []
        is_last = False
        try:
            if not self._has_begun:
                self._ending = self._waiting.ending(self._end)
                self._has_begun = True
            is_last = (yield from self._waiting.fill(records, self._size, self._ending)) or self._outlet.is_closed
        except Exception as error:
            if not records:
                undo.drop()  # nothing was taken
                raise
            self._error = error
        self._ends_well = is_last
        if records:
            undo.rest[BATCH] = Batch(records, self._waiting.token())
        else:
            undo.drop()
        self._is_over = is_last


class Batches(Iterator[dict[str, Batch]]):
    """The batches of a `batches` on this thread."""

    def __init__(self, waiting: Waiting, size: int, end: End) -> None:
        self._waiting = waiting
        self._making = Making(waiting, size, end)

    def __next__(self) -> dict[str, Batch]:
        batch = self._waiting.finish(self._making.steps())
        if batch is None:
            raise StopIteration
        return batch


def unwrapped(batches: Batches) -> Iterator[Batch]:
    """The batches alone."""
    return map(methodcaller("pop", BATCH), batches)
