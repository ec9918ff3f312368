"""Status: the one line at the foot of a terminal that says how things stand; nothing at all where there is no terminal."""

from __future__ import annotations

import sys
from collections import deque
from typing import TextIO

from streamiter.cli.terminal.paint import Painter, columns
from streamiter.clock import SECOND_US, Clock
from streamiter.terminal import Span, is_coloured

REDRAW_SECONDS = 0.1
SPARE_CELLS = 3  # the terminal echoes ^C behind the line: on the next one it would not be cleared
RATE_SECONDS = 5.0  # what the rate is measured over


class StatusLine:
    """Draws over itself. Before lines are printed on the same terminal, it is hidden."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = sys.stderr if out is None else out
        self.is_shown = self._out is not None and self._out.isatty()
        self._drawn = ""

    def draw(self, spans: list[Span]) -> None:
        """Replaces the line."""
        if not self.is_shown:
            return
        painter = Painter(coloured=is_coloured(self._out), width=max(10, columns() - SPARE_CELLS))
        line = painter.line(spans)
        if line != self._drawn:
            self._drawn = line
            self._out.write(f"\r\x1b[2K{line}")
            self._out.flush()

    def clear(self) -> None:
        """Takes the line away."""
        self.hide()
        self._drawn = ""

    def hide(self) -> None:
        """Makes room for lines on the same terminal; `show` brings it back."""
        if self._drawn:
            self._out.write("\r\x1b[2K")
            self._out.flush()

    def show(self) -> None:
        """Brings the line back."""
        if self._drawn:
            self._out.write(self._drawn)
            self._out.flush()


class Meter:
    """How far a reading has come towards now, how fast it goes, and how long it will take; by the clock that it is given."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.monotonic()
        self._samples: deque[tuple[float, int]] = deque()
        self._first_us: int | None = None
        self._last_us: int | None = None
        self.records = 0

    def count(self, records: int, order_us: int | None) -> None:
        """Counts records that came; the last one has this order time."""
        self.records += records
        if order_us is not None:
            self._first_us = order_us if self._first_us is None else self._first_us
            self._last_us = order_us
        now = self._clock.monotonic()
        if self._samples and now - self._samples[-1][0] < REDRAW_SECONDS:
            return
        self._samples.append((now, self.records))
        while len(self._samples) > 2 and now - self._samples[0][0] > RATE_SECONDS:
            self._samples.popleft()

    @property
    def rate(self) -> float:
        """Records a second, of late."""
        if not self._samples:
            return 0.0
        since, before = self._samples[0] if len(self._samples) > 1 else (self._began, 0)
        return (self.records - before) / max(0.001, self._clock.monotonic() - since)

    def part(self, end_us: int) -> float:
        """How much of the way to that moment is done, from 0 to 1."""
        if self._first_us is None or self._last_us is None or end_us <= self._first_us:
            return 0.0
        return min(1.0, max(0.0, (self._last_us - self._first_us) / (end_us - self._first_us)))

    def seconds_left(self, end_us: int) -> float | None:
        """About how long it takes to get there; None as long as that is unknown."""
        part = self.part(end_us)
        elapsed = self._clock.monotonic() - self._began
        return None if part < 0.005 or elapsed < 0.5 else elapsed * (1 - part) / part

    def now_us(self) -> int:
        """What time it is now."""
        return round(self._clock.now() * SECOND_US)

    def spans(self, end_us: int, *, width: int | None = None) -> list[Span]:
        """The line: a bar, records, rate, time left."""
        part = self.part(end_us)
        cells = max(8, min(30, (columns() if width is None else width) - 55))
        done = round(cells * part)
        left = self.seconds_left(end_us)
        told = f" {part:4.0%}  {self.records:,} records  {short_rate(self.rate)}"
        if left is not None:
            told += f"  {short_time(left)} left"
        return [Span("━" * done, "good"), Span("─" * (cells - done), "dim"), Span(told)]


def short_rate(rate: float) -> str:
    """A rate in few characters: `12/s`, `3.4k/s`."""
    if rate < 10:
        return f"{rate:.1f}/s" if rate else "0/s"
    return f"{rate:.0f}/s" if rate < 1000 else f"{rate / 1000:.1f}k/s"


def short_time(seconds: float) -> str:
    """Minutes and seconds: `0:07`, `1:02:45`."""
    whole = int(seconds + 0.5)
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
