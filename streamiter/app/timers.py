"""Timers: functions that run by the clock, and their moments; the time is an argument.

Moments lie on the wall clock, and are the same for every worker: `timer(60)` runs at each full minute, whenever a worker
started. So neither a restart nor another leader shifts them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from streamiter.clock import SECOND_US, microseconds
from streamiter.errors import InvalidOption, MissingExtra

LATE_US = 60 * SECOND_US  # a run that cannot begin within so long, or before its next moment, is missed
_BACK_US = 3 * 3600 * SECOND_US  # if the clock was set back by less, no moment runs twice
_MOST_COUNTED = 1000  # how many missed moments of a cron expression we count
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Schedule(Protocol):
    """Moments, in microseconds since 1970."""

    @property
    def back_us(self) -> int:
        """If the clock was set back by more, the schedule begins anew; if by less, it waits until the clock has caught up."""

    def after(self, moment_us: int) -> int:
        """The first moment after this one."""

    def passed(self, first_us: int, now_us: int) -> tuple[int, int]:
        """How many moments there are from `first_us`, itself a moment, until now; and the last of them."""


@dataclass(frozen=True, slots=True)
class Every:
    """Each so many microseconds since 1970."""

    period_us: int

    @property
    def back_us(self) -> int:
        """Two periods."""
        return 2 * self.period_us

    def after(self, moment_us: int) -> int:
        """The next multiple."""
        return (moment_us // self.period_us + 1) * self.period_us

    def passed(self, first_us: int, now_us: int) -> tuple[int, int]:
        """Counted, not walked."""
        count = (now_us - first_us) // self.period_us + 1
        return count, first_us + (count - 1) * self.period_us


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression of five fields in a time zone, read as Debian's cron does."""

    expression: str
    zone: tzinfo

    @property
    def back_us(self) -> int:
        """Three hours, as cron itself has it."""
        return _BACK_US

    def after(self, moment_us: int) -> int:
        """The first moment after this one. When clocks go back for the winter, the second pass of the hour has none."""
        from cronsim import CronSim

        local = (_EPOCH + timedelta(microseconds=moment_us)).astimezone(self.zone)
        for found in CronSim(self.expression, local):
            found_us = (found.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)
            if found_us > moment_us:
                return found_us
        raise InvalidOption(f"the cron expression {self.expression!r} has no moment in the next 50 years")

    def passed(self, first_us: int, now_us: int) -> tuple[int, int]:
        """Walked, up to a thousand."""
        count, last_us = 1, first_us
        while count < _MOST_COUNTED and (next_us := self.after(last_us)) <= now_us:
            count, last_us = count + 1, next_us
        return count, last_us


@dataclass(frozen=True, slots=True)
class Timer:
    """A user's function, its moments, and where it runs: in each worker, or in the leader alone."""

    name: str
    function: Callable[..., Any]
    schedule: Schedule
    on_leader: bool
    wants_lease: bool
    is_async: bool

    def is_late(self, moment_us: int, now_us: int) -> bool:
        """Whether it is too late to begin a run for that moment."""
        return now_us - moment_us >= LATE_US or self.schedule.after(moment_us) <= now_us


class Tick(NamedTuple):
    """A run that is due."""

    timer: Timer
    created_us: int  # its moment

    @property
    def sequence_number(self) -> str:
        """The moment as text."""
        return str(self.created_us)


class Missed(NamedTuple):
    """Runs that were missed, and will not be made."""

    timer: str
    runs: int
    why: str


class Ticker:
    """Tells which timers are due. `last` has the moments that were handed out before, by any worker."""

    def __init__(self, timers: Iterable[Timer], now_us: int, last: Mapping[str, int] | None = None) -> None:
        self._timers = tuple(timers)
        self._next_us: dict[str, int] = {}
        self.last = {timer.name: last[timer.name] for timer in self._timers if last and timer.name in last}
        self._missed: list[Missed] = []
        for timer in self._timers:
            self._begin(timer, now_us)

    @property
    def next_us(self) -> int | None:
        """When something is due next."""
        return min(self._next_us.values(), default=None)

    def take(self, now_us: int, running: Collection[str] = ()) -> tuple[list[Tick], list[Missed]]:
        """The runs that shall begin now, and those that are missed."""
        ticks: list[Tick] = []
        missed, self._missed = self._missed, []
        for timer in self._timers:
            first_us, name = self._next_us[timer.name], timer.name
            following_us = timer.schedule.after(now_us)
            if first_us > now_us:
                if first_us - following_us >= timer.schedule.back_us:
                    self._next_us[name] = following_us  # the clock was set back by far
                continue
            self._next_us[name] = following_us
            count, last_us = timer.schedule.passed(first_us, now_us)
            self.last[name] = last_us
            if name in running:
                missed.append(Missed(name, count, "its run before is still at work"))
                continue
            if not timer.is_late(last_us, now_us):
                ticks.append(Tick(timer, last_us))
                count -= 1
            if count:
                missed.append(Missed(name, count, "this worker stood still"))
        return ticks, missed

    def _begin(self, timer: Timer, now_us: int) -> None:
        schedule, last_us = timer.schedule, self.last.get(timer.name)
        if last_us is None or last_us >= now_us + schedule.back_us:  # that clock was far ahead
            self._next_us[timer.name] = schedule.after(now_us)
            return
        self._next_us[timer.name] = schedule.after(max(now_us, last_us))
        first_us = schedule.after(last_us)
        if first_us <= now_us:
            count, _ = schedule.passed(first_us, now_us)
            self._missed.append(Missed(timer.name, count, "no leader finished it"))


# -- declaring


def every(seconds: float) -> Every:
    """The schedule of `@app.timer(seconds)`."""
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0.001 <= seconds <= 366 * 86_400:
        raise InvalidOption(f"a timer runs every so many seconds, from 0.001 to those of a year, not {seconds!r}")
    return Every(microseconds(seconds))


def cron(expression: str, timezone: str | tzinfo) -> Cron:
    """The schedule of `@app.cron(expression)`."""
    try:
        from cronsim import CronSim, CronSimError
    except ImportError as error:
        raise MissingExtra("cronsim", "cron") from error
    zone = _zone(timezone)
    if not isinstance(expression, str) or len(expression.split()) != 5:
        raise InvalidOption(
            f"a cron expression has five fields (minute, hour, day, month, weekday), such as '*/5 * * * *', not {expression!r}"
        )
    try:
        next(CronSim(expression, _EPOCH))
    except CronSimError as error:
        raise InvalidOption(f"the cron expression {expression!r} cannot be read: {error}") from None
    except StopIteration:
        raise InvalidOption(f"the cron expression {expression!r} never comes: there is no such day") from None
    return Cron(expression, zone)


def declare_timer(function: Any, schedule: Schedule, *, name: str | None, on_leader: bool) -> Timer:
    """The timer that the user declared."""
    name = name or getattr(function, "__name__", None)
    if not isinstance(name, str) or not name.isprintable():
        raise InvalidOption(f"a timer's name is a word, not {name!r}")
    if not callable(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidOption(f"{name}: a timer is a def or an async def, without yield")
    wanted = [
        told.name
        for told in inspect.signature(function).parameters.values()
        if told.default is told.empty and told.kind not in (told.VAR_POSITIONAL, told.VAR_KEYWORD)
    ]
    if wanted not in ([], ["lease"]) or (wanted and not on_leader):
        may = "nothing, or lease" if on_leader else "nothing (with on_leader=True it may take lease)"
        raise InvalidOption(f"{name}({', '.join(wanted)}): a timer's function takes {may}")
    return Timer(name, function, schedule, on_leader, bool(wanted), inspect.iscoroutinefunction(function))


def _zone(timezone: str | tzinfo) -> tzinfo:
    if isinstance(timezone, tzinfo):
        return timezone
    if not isinstance(timezone, str):
        raise InvalidOption(f"timezone= takes a name, such as 'Europe/Vienna', or a tzinfo, not {timezone!r}")
    try:
        return UTC if timezone.upper() == "UTC" else ZoneInfo(timezone)
    except (LookupError, ValueError, OSError):  # OSError: the name of a folder
        raise InvalidOption(f"no time zone is called {timezone!r}; names are as in 'Europe/Vienna'") from None
