"""Importing: a file's lines into a topic, with the place that is safe to go on from at any moment."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from streamiter.cli.sending.lines import Line
from streamiter.cli.sending.marks import Ends, ends_of, mark_of
from streamiter.cli.sending.state import State
from streamiter.clock import Clock
from streamiter.topic import Topic
from streamiter.topic.codec import Misfit
from streamiter.topic.routing import Key

AHEAD = 4000  # so many lines may be sent beyond the last saved state; after a kill, at most these are sent again
SAVE_SECONDS = 0.5
TICK_SECONDS = 0.1
LAST_SECONDS = 5.0  # that what is on its way may take after Ctrl-C


class Bad(NamedTuple):
    """A line that cannot be sent, and why."""

    line: int
    why: Misfit

    def __str__(self) -> str:
        where = f", column {self.why.column}" if self.why.column else ""
        return f"line {self.line}{where}: {self.why}"


class Watcher(NamedTuple):
    """Who is told how it goes."""

    bad: Callable[[Bad], object]
    progress: Callable[[int], object]  # so many values are written by now


class Import:
    """One run. `state` is kept up to date, and saved by `save`, if there is one."""

    def __init__(self, topic: Topic, state: State, save: Callable[[State], object] | None, clock: Clock) -> None:
        self.state = state
        self.bad: Bad | None = None  # the line that ended it
        self._save = save
        self._clock = clock
        self._feed = topic.feed()
        self._lines: deque[int] = deque()  # of the values that are not written yet, and of those behind them
        self._written = 0  # values that are no longer in `_lines`
        self._sent_before = state.sent
        self._done_before = tuple(state.beyond)  # by an earlier run
        self._next = state.line  # the line behind the last that was read
        self._topic = topic
        self._crossed: tuple[int, Ends] | None = (
            None  # values that were taken as `ahead` was moved last, and the ends then
        )
        self._saved = self._drawn = clock.monotonic()

    @property
    def error(self) -> BaseException | None:
        """What the topic said when it broke off."""
        return self._feed.error

    @property
    def sent(self) -> int:
        """So many values this run has written."""
        return self.state.sent - self._sent_before

    def run(self, lines: Iterator[Line], watcher: Watcher, *, key: Key, skips_bad: bool) -> None:
        """Sends until the lines end, one is bad, or the topic fails; then all that can be written is, or is told of."""
        try:
            for line in self._wanted(lines):
                if not self._put(line, key):
                    if not skips_bad:
                        break
                    self._skip(watcher)
                if not self._feed.wait_for_room():
                    break
                self._tick(watcher)
            while not self._feed.finish(TICK_SECONDS):
                self._tick(watcher)
        except BaseException as stop:
            if not self._feed.finish(LAST_SECONDS):
                self._feed.give_up(stop)
                self._feed.finish(1.0)
            raise
        finally:
            self._settle()

    # -- inside

    def _skip(self, watcher: Watcher) -> None:
        if self.bad is not None:
            watcher.bad(self.bad)
        self.bad = None
        self.state.skipped += 1

    def _wanted(self, lines: Iterator[Line]) -> Iterator[Line]:
        first, done = self.state.line, set(self._done_before)
        for line in lines:
            if line.number >= first and line.number not in done:
                if self._save is not None and line.number > self.state.ahead:
                    self._cross(line.number + AHEAD // 2 - 1)
                yield line
                self._next = line.number + 1  # also behind one that is skipped

    def _cross(self, ahead: int) -> None:
        """Lines up to this one may be sent from now on. All that is not known to be written stands behind `state.ends`."""
        ends = ends_of(self._topic)
        taken, behind = self._crossed or (self._feed.taken, ends)
        self._feed.wait_until_written(taken)
        self._crossed, self.state.ends = (self._feed.taken, ends), behind
        self._keep(ahead)

    def _put(self, line: Line, key: Key) -> bool:
        """Whether it was taken."""
        number, value = line
        try:
            if isinstance(value, Misfit):
                raise value
            self._lines.append(number)
            self._next = number + 1  # as soon as it may be sent: Ctrl-C may come at any moment from here on
            headers = mark_of(self.state.run, number) if self.state.run else None
            if isinstance(value, bytes):
                self._feed.put_json(value, key, headers)
            else:
                self._feed.put_row(value, key, headers)
        except Misfit as why:
            if self._lines and self._lines[-1] == number:
                self._lines.pop()
            self._next = number
            self.bad = Bad(number, why)
            return False
        return True

    def _tick(self, watcher: Watcher) -> None:
        now = self._clock.monotonic()
        if now - self._drawn < TICK_SECONDS:
            return
        self._drawn = now
        self._note()
        watcher.progress(self.state.sent)
        if self._save is not None and now - self._saved >= SAVE_SECONDS:
            self._keep(self.state.ahead)

    def _keep(self, ahead: int) -> None:
        """Saves how far it is; what may be sent from now on is told by `ahead`."""
        self._note()
        self.state.ahead = ahead
        if self._save is not None:
            self._save(self.state)
        self._saved = self._clock.monotonic()

    def _note(self) -> None:
        """Brings the state up to date."""
        beyond, written = self._feed.beyond(), self._feed.written
        beyond = [index for index in beyond if index >= written]
        while self._written < written:
            self._lines.popleft()
            self._written += 1
        waiting = list(self._lines)
        self.state.line = waiting[0] if waiting else self._next
        earlier = [line for line in self._done_before if line >= self.state.line]
        self.state.beyond = sorted([waiting[index - written] for index in beyond] + earlier)
        self.state.sent = self._sent_before + written + len(beyond)

    def _settle(self) -> None:
        self._note()
        waiting = list(self._lines)
        doubtful = [waiting[index - self._written] for index in self._feed.doubtful()]
        still = not self._feed.finish(0)  # what hangs may be written yet
        self.state.ahead = waiting[-1] if still and waiting else 0
        self.state.doubtful = doubtful
        if self._save is not None:
            self._save(self.state)
