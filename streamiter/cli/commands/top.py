"""`streamiter top`: a stream while it is read: lag, rate, calls, what holds records back; or a fleet, by its store."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from streamiter.cli.checks.standing import title_of
from streamiter.cli.command import Command, reaches_service, refuse_together
from streamiter.cli.files.tokenfile import TokenFile
from streamiter.cli.fleet.top import FleetTop
from streamiter.cli.live.board import Board, View
from streamiter.cli.live.screen import draw, draw_line
from streamiter.cli.moments import Moment
from streamiter.cli.reader import find_source, open_stream, why_ended
from streamiter.cli.setting import StreamAddress, setting
from streamiter.cli.terminal.foot import HELD_SECONDS
from streamiter.cli.terminal.outputs import complain
from streamiter.cli.terminal.paint import prepare_output
from streamiter.cli.terminal.reasons import Reasons
from streamiter.source import Source
from streamiter.stream import Stream
from streamiter.terminal import printable

EXAMPLES = (
    "streamiter top users",
    "streamiter top users --token-file users.token",
    "streamiter top users --every 10 >> users.log",
    "streamiter top users --json --every 10 | jq .lag_seconds",
    "streamiter top --store sqlite:///shop.db",
    "streamiter top --store sqlite:///shop.db --once --json",
)


@click.command("top", cls=Command, examples=EXAMPLES)
@click.argument("url", metavar="[URL]", required=False)
@reaches_service
@click.option("--store", metavar="STORE", help="Watch the fleet whose leases stand there, instead of a stream.")
@click.option("--app", metavar="NAME", help="With --store: this app only.")
@click.option(
    "--from", "start", type=Moment("trim_horizon", "latest"), default="latest", show_default=True, metavar="WHEN",
    help="Begin to read at trim_horizon, latest, or a time (UTC): '2 hours ago', 10:30.",
)  # fmt: skip
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(dir_okay=False, exists=True),
    help="Begin where the token in FILE stands; top does not change it.",
)
@click.option(
    "--every", type=click.FloatRange(min=0.1), metavar="SECONDS",
    help="Draw this often. [default: 0.5; without a terminal 5]",
)  # fmt: skip
@click.option("-n", "--count", type=click.IntRange(min=1), metavar="COUNT", help="End after this many times.")
@click.option("--once", is_flag=True, help="Show it once, and end: as --count 1.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object each time.")
def command(
    url: str | None,
    store: str | None,
    app: str | None,
    start: Any,
    token_file: str | None,
    every: float | None,
    count: int | None,
    once: bool,
    as_json: bool,
    **reached: str | None,
) -> None:
    """Watch a stream: its lag, rate, calls, throttles and late records, and what holds records back.

    With --store, watch a fleet instead: its workers, its leases, how fast and how far behind they are, and which
    processors hang. This only reads the store.

    Without --store, top reads the stream itself, so it is one more reader: the service may throttle more than two
    readers of a shard.
    Without a terminal, top prints a line every five seconds.
    """
    prepare_output()
    refuse_together("start", "token_file", why="both say where to begin")
    refuse_together("once", "count", why="both say how often")
    count = 1 if once else count
    if store is not None:
        for name in ("url", "start", "token_file"):
            refuse_together("store", name, why="a fleet is watched by its store alone")
        FleetTop(
            {"store": store, "app": app, "stream": None, **reached}, every=every, count=count, as_json=as_json
        ).run()
        return
    if url is None:
        raise click.UsageError("Missing argument 'URL': name a stream, or the store of a fleet with --store")
    if app is not None:
        raise click.UsageError("--app goes with --store")
    place = StreamAddress(url, **reached)
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
        self._reasons = Reasons(self._clock)

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
        options: dict[str, Any] = {"skips_gaps": True, "notice": self._take_notice, "on_event": self._reasons.note}
        self._show_waiting()
        with open_stream(self._source, start, on_wait=self._tick, **options) as stream:
            self._stream = stream
            if self._console is not None:
                self._show(stream)
            for record in stream.follow():
                self._board.count(record, self._clock.monotonic())
                self._tick()

    def _show_waiting(self) -> None:
        """Shows that the constructor lists the shards, or waits because that failed; there is no stream yet."""
        if self._live is not None:
            told = f"{title_of(self._source.name)}: listing the shards …"
            self._live.update(Group(Text(printable(told)), Text(printable(self._notice), "magenta")), refresh=True)

    def _tick(self) -> None:
        now = self._clock.monotonic()
        if self._stream is None:
            self._show_waiting()
        if self._stream is not None and now - self._shown >= self._every:
            self._shown = now
            self._show(self._stream)

    def _show(self, stream: Stream) -> None:
        stats = stream.stats
        view = self._board.view(stats, stream.lineage, self._clock.now(), self._clock.monotonic())
        if stats.held_by and view.held_seconds > HELD_SECONDS:
            view = replace(view, held_why=self._reasons.of(stats.held_by, stats))
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
