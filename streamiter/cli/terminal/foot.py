"""The foot: the line below tail's records: while it catches up rate and time left, at the tip what is waited for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from streamiter.cli.checks.standing import short_names
from streamiter.cli.moments import age
from streamiter.cli.pictures.tree import counted
from streamiter.cli.terminal.reasons import LISTING, Reasons
from streamiter.cli.terminal.status import REDRAW_SECONDS, Meter, StatusLine
from streamiter.clock import SECOND_US, Clock
from streamiter.record import Record
from streamiter.stream.stats import Stats
from streamiter.terminal import Span

AT_TIP_SECONDS = 10  # what is no older counts as new: a busy stream is always some seconds behind
MANY_FAILURES = 5  # calls in a row: fewer are nothing
HELD_SECONDS = 5  # records always wait a second or two for other shards: only beyond this is it worth a word


class Foot:
    """The line, drawn as records come and before each pause."""

    def __init__(
        self, status: StatusLine, clock: Clock, until: str | datetime | None, before_bar: Callable[[], None]
    ) -> None:
        """`before_bar` is called before the bar is drawn: what was printed is to stand above it."""
        self.is_behind = False
        self.reasons = Reasons(clock)
        self._status = status
        self._clock = clock
        self._meter = Meter(clock)
        self._until = until
        self._before_bar = before_bar
        self._last: Record | None = None
        self._last_drawn = 0.0
        self._held_since = clock.monotonic()
        self._answered = (0, 0)  # pages, and the calls that had failed by then

    def count(self, record: Record) -> None:
        """A record came out; now and then the bar is drawn."""
        self._last = record
        self._meter.count(1, record.order_us)
        if self.is_behind and self._meter.now_us() - record.order_us < AT_TIP_SECONDS * SECOND_US:
            self.is_behind = False
        now = self._clock.monotonic()
        if self._status.is_shown and self.is_behind and now - self._last_drawn >= REDRAW_SECONDS:
            self._last_drawn = now
            self._before_bar()
            self._status.draw(self._meter.spans(self._end_us()))

    def stand(self, stats: Stats) -> None:
        """Everything that is due came out."""
        if stats.pages > self._answered[0]:
            self._answered = stats.pages, stats.retries
        self._status.draw(self._standing(stats))

    def _standing(self, stats: Stats) -> list[Span]:
        failed = stats.retries - self._answered[1]
        if failed >= MANY_FAILURES:
            why = self.reasons.last()
            return [Span(f"· {failed} calls failed in a row, and are made again{why and ': ' + why}", "note")]
        if self.is_behind and max(stats.lag.values(), default=0) > AT_TIP_SECONDS:
            return self._meter.spans(self._end_us())
        self.is_behind = False
        if not (stats.waiting and stats.held_by):
            self._held_since = self._clock.monotonic()
        elif self._clock.monotonic() - self._held_since > HELD_SECONDS:
            held = f"· {counted(stats.waiting, 'record')} held back by {self._short(stats.held_by)}"
            return [Span(f"{held}: {self.reasons.of(stats.held_by, stats)}", "note")]
        return [Span(f"· {self._quiet()} · {counted(stats.open_shards, 'shard')} · Ctrl-C ends", "dim")]

    def _short(self, held_by: str) -> str:
        return "the listing" if held_by == LISTING else short_names([held_by])[held_by]

    def _quiet(self) -> str:
        if self._last is None or self._last.created_us is None:
            return "waiting for changes"
        return f"waiting, the last change was {age((self._meter.now_us() - self._last.created_us) / 1e6)} ago"

    def _end_us(self) -> int:
        now_us = self._meter.now_us()
        return min(now_us, round(self._until.timestamp() * 1e6)) if isinstance(self._until, datetime) else now_us
