"""The fleet while it runs: its rows looked at again and again, drawn anew or printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from streamiter.cli.fleet.opening import opened, tables_meant
from streamiter.cli.fleet.screen import draw, draw_line
from streamiter.cli.fleet.sight import ProcessorView, Sight
from streamiter.cli.setting import setting
from streamiter.cli.terminal.outputs import complain
from streamiter.cli.terminal.paint import Painter, painter_for
from streamiter.errors import TransientError
from streamiter.lease import Lease, Worker
from streamiter.store import Store, Table
from streamiter.terminal import printable

WORKERS = "workers"
TABLES_SECONDS = 30.0  # so often it looks for apps that are new


class FleetTop:
    """One run of the command. It only reads."""

    def __init__(self, place: dict[str, Any], *, every: float | None, count: int | None, as_json: bool) -> None:
        self._place = place
        self._every = every
        self._left = count
        self._is_one_look = count == 1
        self._as_json = as_json
        self._clock = setting().clock
        self._sight = Sight()
        self._tables: list[Table] = []
        self._tables_at = 0.0

    def run(self) -> None:
        """Looks and shows until it is stopped."""
        console = Console(file=sys.stdout, highlight=False)
        is_live = sys.stdout.isatty() and not console.is_dumb_terminal and not self._as_json and not self._is_one_look
        with opened(self._place) as store:
            self._tables = tables_meant(store, self._place)
            self._tables_at = self._clock.monotonic()
            if not is_live:
                self._loop(store, self._every or 5.0, self._print)
                return
            with Live(console=console, screen=True, auto_refresh=False, transient=True) as live:
                self._loop(store, self._every or 2.0, lambda views, notice: _draw(live, console, views, notice))

    def _loop(self, store: Store, every: float, show: Callable[[Sequence[ProcessorView], str], None]) -> None:
        views: list[ProcessorView] = []
        while True:
            notice = ""
            try:
                views = self._look(store)
            except TransientError as error:
                if self._is_one_look:
                    raise
                notice = str(error)
            show(views, notice)
            if self._left is not None:
                self._left -= 1
                if not self._left:
                    return
            self._clock.sleep(every)

    def _look(self, store: Store) -> list[ProcessorView]:
        now, monotonic = self._clock.now(), self._clock.monotonic()
        if monotonic - self._tables_at >= TABLES_SECONDS:
            self._tables, self._tables_at = tables_meant(store, self._place), monotonic
        views = []
        for table in self._tables:
            leases = [Lease.of(row) for row in store.scan(table)]
            workers = [Worker.of(row) for row in store.scan(table._replace(kind=WORKERS))]
            views.append(self._sight.look(table, leases, workers, now, monotonic))
        return views

    def _print(self, views: Sequence[ProcessorView], notice: str) -> None:
        if notice:
            complain(f"streamiter: {printable(notice)}")
            return
        if self._as_json:
            click.echo(json.dumps([asdict(view) for view in views]))
        elif self._is_one_look:
            painter = painter_for(sys.stdout)
            for line in draw(views):
                click.echo(painter.line(line).rstrip())
        else:
            for view in views:
                click.echo(draw_line(view, self._clock.now()))


def _draw(live: Live, console: Console, views: Sequence[ProcessorView], notice: str) -> None:
    painter = Painter(coloured=True, width=console.size.width)
    lines = [Text.from_ansi(painter.line(line)) for line in draw(views, console.size.height - bool(notice))]
    if notice:
        lines.append(Text(printable(notice)[: console.size.width], "magenta"))
    live.update(Group(*lines), refresh=True)
