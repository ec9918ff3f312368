"""`streamiter top`: a stream while it is read: lag, rate, calls, throttles, what holds records back, late records."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.live import Live

from streamiter.cli.board import Board, View
from streamiter.cli.command import Command, takes_stream
from streamiter.cli.moments import Moment
from streamiter.cli.outputs import complain
from streamiter.cli.paint import prepare_output
from streamiter.cli.reader import find_source, open_stream, why_ended
from streamiter.cli.screen import draw, draw_line
from streamiter.cli.setting import Place, setting
from streamiter.cli.tokenfile import TokenFile
from streamiter.demo.screen import printable
from streamiter.source import Source
from streamiter.stream import Stream

EXAMPLES = (
    "streamiter top users",
    "streamiter top users --token-file users.token",
    "streamiter top users --every 10 >> users.log",
    "streamiter top users --json --every 10 | jq .lag_seconds",
)


@click.command("top", cls=Command, examples=EXAMPLES)
@takes_stream
@click.option(
    "--from", "start", type=Moment("trim_horizon", "latest"), default="latest", show_default=True, metavar="WHEN",
    help="Where it begins to read: trim_horizon, latest, or a time (UTC): '2 hours ago', 10:30.",
)  # fmt: skip
@click.option(
    "--token-file", metavar="FILE", type=click.Path(dir_okay=False, exists=True), help="Begin there. It is not moved."
)
@click.option(
    "--every", type=click.FloatRange(min=0.1), metavar="SECONDS",
    help="How often it is drawn. [default: 0.5; 5 where there is no terminal]",
)  # fmt: skip
@click.option("-n", "--count", type=click.IntRange(min=1), metavar="COUNT", help="End after so many times.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object each time.")
def command(
    place: Place, start: Any, token_file: str | None, every: float | None, count: int | None, as_json: bool
) -> None:
    """Watch a stream while it is read: lag, rate, calls, throttles, what holds records back, late records.

    It reads the stream itself, and counts as a reader of it: more than two a shard may be throttled. Where there is no
    terminal, it prints a line every five seconds.
    """
    prepare_output()
    token = TokenFile(token_file).load() if token_file is not None else None
    console = Console(file=sys.stdout, highlight=False)
    # FORCE_COLOR makes a terminal of a pipe, for rich: colour is all that it asks for. A dumb one cannot draw anew.
    is_live = sys.stdout.isatty() and not console.is_dumb_terminal and not as_json
    top = Top(
        find_source(place),
        console if is_live else None,
        every=every or (0.5 if is_live else 5.0),
        count=count,
        as_json=as_json,
    )
    top.run(start if token is None else token)


class Top:
    """One run of the command. Without a console it prints lines."""

    def __init__(
        self, source: Source, console: Console | None, *, every: float, count: int | None, as_json: bool
    ) -> None:
        self._source = source
        self._console = console
        self._every = every
        self._left = count
        self._as_json = as_json
        self._clock = setting().clock
        self._board = Board(source.name, self._clock.monotonic())
        self._shown = self._clock.monotonic()
        self._stream: Stream | None = None
        self._live: Live | None = None
        self._notice = ""

    def run(self, start: Any) -> None:
        """Reads and shows until it is stopped."""
        if self._console is None:
            self._read(start)
        else:
            with Live(console=self._console, screen=True, auto_refresh=False, transient=True) as live:
                self._live = live
                self._read(start)
        if self._stream is not None and (why := why_ended(self._stream)):
            complain(f"streamiter: {why}")

    def _read(self, start: Any) -> None:
        options: dict[str, Any] = {"skips_gaps": True, "notice": self._take_notice}
        with open_stream(self._source, start, on_wait=self._tick, **options) as stream:
            self._stream = stream
            if self._console is not None:
                self._show(stream)
            for record in stream.follow():
                self._board.count(record, self._clock.monotonic())
                self._tick()

    def _tick(self) -> None:
        now = self._clock.monotonic()
        if self._stream is not None and now - self._shown >= self._every:
            self._shown = now
            self._show(self._stream)

    def _show(self, stream: Stream) -> None:
        view = self._board.view(stream.stats, stream.lineage, self._clock.now(), self._clock.monotonic())
        if self._live is not None and self._console is not None:
            size = self._console.size
            self._live.update(draw(view, size.width, size.height, self._notice), refresh=True)
        else:
            click.echo(json.dumps(_told(view)) if self._as_json else draw_line(view))
        if self._left is not None:
            self._left -= 1
            if not self._left:
                stream.close()

    def _take_notice(self, message: str) -> None:
        self._notice = message
        if self._console is None:
            complain(f"streamiter: {printable(message)}")


def _told(view: View) -> dict[str, Any]:
    told = asdict(view)
    return {**told, "lag_seconds": view.lag_seconds, "history": list(view.history)}
