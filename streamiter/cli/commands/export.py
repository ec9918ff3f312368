"""`streamiter export`: a stream's records in files, each exactly once, however often it is killed and run again."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from streamiter.cli.checks.standing import arn_of
from streamiter.cli.command import Command, is_typed, refuse_together, takes_stream, tell_going_on
from streamiter.cli.files.folder import Folder, State
from streamiter.cli.moments import Moment, check_order
from streamiter.cli.pictures.tree import counted
from streamiter.cli.reader import find_source, open_stream, why_ended
from streamiter.cli.records.formats import FORMATS, Write, check_format
from streamiter.cli.setting import StreamAddress, setting
from streamiter.cli.terminal.outputs import complain, tell
from streamiter.cli.terminal.paint import prepare_output
from streamiter.cli.terminal.status import REDRAW_SECONDS, Meter, StatusLine
from streamiter.record import Record
from streamiter.source import Source
from streamiter.stream import Stream
from streamiter.terminal import Span, printable

EXAMPLES = (
    "streamiter export users --to users-changes",
    "streamiter export users --to users-changes --format jsonl --from '2 hours ago'",
    "streamiter export users --to users-changes --follow --part-seconds 60",
    "python -c \"import pyarrow.dataset as ds; print(ds.dataset('users-changes').to_table())\"",
)
MOVE_SECONDS = 60.0  # where nothing comes: so often the token of a quiet stream is saved


@click.command("export", cls=Command, examples=EXAMPLES)
@takes_stream
@click.option(
    "--to", "folder", required=True, metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path),
    help="Write the parts to FOLDER; export makes it if it does not exist.",
)  # fmt: skip
@click.option(
    "--format", "format_name", type=click.Choice(list(FORMATS)), default="parquet", show_default=True,
    help="The format of the parts; parquet needs the extra arrow.",
)  # fmt: skip
@click.option(
    "--from", "start", type=Moment("trim_horizon", "latest"), default="trim_horizon", show_default=True, metavar="WHEN",
    help="Begin a new export at trim_horizon, latest, or a time (UTC): '2 hours ago', 'yesterday 14:00', 10:30. A later run "
    "continues where the last one stopped.",
)  # fmt: skip
@click.option(
    "--until", type=Moment("caught_up", sign=1), default="caught_up", show_default=True, metavar="WHEN",
    help="End when caught_up (all that the service holds now), or before a time.",
)  # fmt: skip
@click.option("--follow", is_flag=True, help="Do not end: wait for new records.")
@click.option(
    "--part-records", type=click.IntRange(min=1), default=50_000, show_default=True, metavar="COUNT",
    help="Close a part when it has this many records.",
)  # fmt: skip
@click.option(
    "--part-seconds", type=click.FloatRange(min=1), default=300.0, show_default=True, metavar="SECONDS",
    help="With --follow: close a part after this long, full or not.",
)  # fmt: skip
@click.option("--skip-gaps", is_flag=True, help="Read on where records have expired; export reports each such gap.")
def command(place: StreamAddress, folder: Path, format_name: str, follow: bool, until: Any, **options: Any) -> None:
    """Write a stream's records to a folder, each record exactly once.

    The parts are numbered in the stream's order. Run the same command again to continue where the last run stopped, even
    if it was killed: export commits a part and the place after it in one step, when it renames the part.
    """
    prepare_output()
    refuse_together("follow", "until", why="an export either follows the stream or ends")
    if not follow and is_typed("part_seconds"):
        raise click.UsageError(
            "--part-seconds is for --follow: an export that ends closes its parts when they are full"
        )
    check_order(options["start"], until, setting().clock.now())
    check_format(format_name)
    source = find_source(place)
    ending, write = FORMATS[format_name]
    target = Folder(folder, source.name, format_name, ending)
    before = target.state
    try:
        if before.token is not None:
            held = f"the {counted(before.records, 'record')} that {folder} holds"
            tell_going_on(held, is_terminal=StatusLine().is_shown)
        Export(source, target, write, until=None if follow else until, **options).run()
    except BaseException:
        if StatusLine().is_shown:
            complain(f"stopped: {summary(folder, before, target.state, ending)}")
        raise
    finally:
        target.close()
    tell(summary(folder, before, target.state, ending))


def summary(folder: Path, before: State, after: State, ending: str) -> str:
    """What a run wrote, and where; what earlier ones did; how to go on. Pure."""
    count, parts = after.records - before.records, range(before.parts + 1, after.parts + 1)
    holds = f"{folder} holds {counted(after.records, 'record')} in {counted(after.parts, 'part')}"
    if not parts:
        told = "no records yet" if before.token is None else f"nothing new since the last run; {holds}"
        return f"{told}; run it again to go on"
    names = [f"part-{number:06d}.{ending}" for number in (parts[0], parts[-1])]
    files = f"{folder / names[0]}{f' to {names[1]}' if len(parts) > 1 else ''}"
    earlier = f"; with those of earlier runs {holds}" if before.parts else ""
    return f"{counted(count, 'record')} written to {files}{earlier}; run it again to go on"


class Export:
    """One run of the command."""

    def __init__(
        self,
        source: Source,
        folder: Folder,
        write: Write,
        *,
        start: Any,
        until: str | datetime | None,
        part_records: int,
        part_seconds: float,
        skip_gaps: bool,
    ) -> None:
        self._source = source
        self._folder = folder
        self._write = write
        self._start = start
        self._until = until
        self._part_records = part_records
        self._part_seconds = part_seconds
        self._skips_gaps = skip_gaps
        self._clock = setting().clock
        self._status = StatusLine()
        self._meter = Meter(self._clock)
        self._records: list[Record] = []
        self.stream: Stream | None = None
        self._drawn = self._opened = self._moved = self._clock.monotonic()

    def run(self) -> None:
        """Reads and writes until it is over."""
        token = self._folder.state.token
        start = self._start if token is None else token
        options: dict[str, Any] = {"skips_gaps": self._skips_gaps, "notice": self._notice}
        try:
            with open_stream(self._source, start, on_wait=self._wait, **options) as stream:
                self.stream = stream
                if token is None:
                    self._folder.move(stream.token)  # "latest" is a place in time: a kill from now on does not move it
                self._read(stream)
        finally:
            self._status.clear()

    def _read(self, stream: Stream) -> None:
        records = stream.follow(until=self._until)
        while True:
            try:
                record = next(records, None)
            except Exception:
                self._commit()  # what came before the error
                raise
            if record is None:
                break
            self._take(record)
        self._commit()
        self._folder.move(stream.token)
        if self._until != "caught_up" and (why := why_ended(stream)):
            self._notice(why)

    def _take(self, record: Record) -> None:
        if not self._records:
            self._opened = self._clock.monotonic()
        self._records.append(record)
        self._meter.count(1, record.order_us)
        if len(self._records) >= self._part_records:
            self._commit()
        elif self._clock.monotonic() - self._drawn >= REDRAW_SECONDS:
            self._tick()

    def _wait(self) -> None:
        """Before a pause; every record that the stream returned was taken."""
        self._tick()

    def _tick(self) -> None:
        now = self._drawn = self._clock.monotonic()
        if self._until is None and self._records and now - self._opened >= self._part_seconds:
            self._commit()
        elif not self._records and self.stream is not None and now - self._moved >= MOVE_SECONDS:
            self._moved = now
            self._folder.move(self.stream.token)
        self._draw()

    def _commit(self) -> None:
        if not self._records or self.stream is None:
            return
        record_type = self._source.record_type
        arn = arn_of(self._source.name)
        content = self._write(self._records, arn, record_type)
        self._folder.commit(content, len(self._records), self.stream.token)
        self._records = []
        self._moved = self._clock.monotonic()

    def _draw(self) -> None:
        if not self._status.is_shown:
            return
        parts = f"  part {self._folder.state.parts + 1}"
        if self._until is None and self.stream is not None and max(self.stream.stats.lag.values(), default=0) < 10:
            waiting = f"{self._meter.records:,} records, {len(self._records):,} not yet in a part"
            self._status.draw([Span(f"· {waiting}{parts} · Ctrl-C ends", "dim")])
            return
        end_us = self._meter.now_us()
        if isinstance(self._until, datetime):
            end_us = min(end_us, round(self._until.timestamp() * 1e6))
        self._status.draw([*self._meter.spans(end_us), Span(parts, "dim")])

    def _notice(self, message: str) -> None:
        self._status.clear()
        complain(f"streamiter: {printable(message)}")
