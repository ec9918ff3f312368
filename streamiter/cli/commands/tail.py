"""`streamiter tail`: a stream's records, in order, as they come: a line each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

import click

from streamiter.cli.checks.survey import patiently
from streamiter.cli.command import Command, Converter, refuse_together, takes_stream, tell_going_on
from streamiter.cli.files.journal import Journal
from streamiter.cli.files.tokenfile import TokenFile
from streamiter.cli.moments import Moment, check_order
from streamiter.cli.reader import find_source, open_stream, why_ended
from streamiter.cli.records.lines import LONGEST_VALUE, day_of, record_line, unreadable_line
from streamiter.cli.records.values import to_json, unreadable_json
from streamiter.cli.setting import StreamAddress, setting
from streamiter.cli.terminal.ending import Mistyped
from streamiter.cli.terminal.foot import Foot
from streamiter.cli.terminal.outputs import complain
from streamiter.cli.terminal.paint import Painter, columns, painter_for, prepare_output
from streamiter.cli.terminal.status import StatusLine
from streamiter.record import Record
from streamiter.source import Source
from streamiter.stream import Stream
from streamiter.terminal import Span, printable
from streamiter.where import Where, WhereError, parse_where

EXAMPLES = (
    "streamiter tail users",
    "streamiter tail users --from '2 hours ago' --until caught_up",
    "streamiter tail users --where 'event = MODIFY and key = A1234'",
    "streamiter tail users --where 'changed(status) and new.total > old.total'",
    "streamiter tail users --json --token-file users.token | jq .key",
    "streamiter tail users --endpoint-url http://127.0.0.1:8000",
)


WHERE_HELP = """Print only the records that fit. Fields: event, key, key.NAME, new.NAME, old.NAME, shard, late; also
changed(NAME) and exists(new.NAME). A Kinesis stream that holds no changes of rows has: key (the partition key), payload,
payload.NAME, shard, late."""


class Expression(Converter):
    """The option's text as a test."""

    name = "expression"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return parse_where(value)
        except WhereError as error:
            raise _mistyped(error) from error


def _mistyped(error: WhereError) -> Mistyped:
    message, *shown = error.shown.splitlines()
    return Mistyped("\n".join([f"--where: {message}", *shown]))


@click.command("tail", cls=Command, examples=EXAMPLES)
@takes_stream
@click.option(
    "--from", "start", type=Moment("trim_horizon", "latest"), default="latest", show_default=True, metavar="WHEN",
    help="Begin at trim_horizon (all that the service holds), latest, or a time (UTC): '2 hours ago', 'yesterday 14:00', "
    "10:30, '2026-11-18 10:30'.",
)  # fmt: skip
@click.option(
    "--until", type=Moment("caught_up", sign=1), metavar="WHEN",
    help="End when caught_up (all that the service holds now), or before a time. [default: go on]",
)  # fmt: skip
@click.option("--where", type=Expression(), help=WHERE_HELP)
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="COUNT", help="End after this many records.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--full", is_flag=True, help="Do not shorten long values and lines.")
@click.option(
    "--token-file", metavar="FILE", type=click.Path(dir_okay=False),
    help="Save the place in FILE, and continue from it in the next run; then --from does not count.",
)  # fmt: skip
@click.option("--skip-gaps", is_flag=True, help="Read on where records have expired; tail reports each such gap.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour the lines.",
)
def command(place: StreamAddress, start: Any, token_file: str | None, **options: Any) -> None:
    """Print a stream's records in order, as they come.

    Each line shows the time (UTC), the event, the row's key, and what changed in the row.

    With --token-file, tail saves its place after the last line that it printed. However tail ends, the next run continues
    from that place: it may print some lines again, but it leaves none out.
    """
    prepare_output()
    if options["color"] == "always":
        refuse_together("color", "as_json", why="JSON has no colours")
    kept = TokenFile(token_file) if token_file is not None else None
    if kept is not None:
        kept.check_replaceable()
    Tail(place, kept, **options).run(start)


class Tail:
    """One run of the command."""

    def __init__(
        self,
        place: StreamAddress,
        token_file: TokenFile | None,
        *,
        until: str | datetime | None,
        where: Where | None,
        limit: int | None,
        as_json: bool,
        full: bool,
        skip_gaps: bool,
        color: str,
    ) -> None:
        self._place = place
        self._token_file = token_file
        self._until = until
        self._where = where
        self._limit = limit
        self._skips_gaps = skip_gaps
        self._clock = setting().clock
        self._status = StatusLine()
        self._journal = Journal(sys.stdout, self._clock, token_file, self._status)
        self._foot = Foot(self._status, self._clock, until, self._journal.flush)
        painter = painter_for(sys.stdout, color)
        self._line = _json_lines if as_json else _text_lines(painter, self._journal.say, full=full)
        self._unreadable = unreadable_json if as_json else _unreadable_lines(painter)
        self._stream: Stream | None = None

    def run(self, start: Any) -> None:
        """Reads and prints until it is over."""
        token = self._token_file.load() if self._token_file is not None else None
        if token is None:
            check_order(start, self._until, self._clock.now())
        self._status.draw([Span("finding the stream …", "dim")])
        try:
            if token is not None and self._token_file is not None:
                self._status.hide()
                tell_going_on(f"the place in {self._token_file.shown}", is_terminal=self._status.is_shown)
            source = self._find()
            self._foot.is_behind = start != "latest" or token is not None
            with open_stream(
                source,
                start if token is None else token,
                on_wait=self._wait,
                skips_gaps=self._skips_gaps,
                notice=self._notice,
                on_event=self._foot.reasons.note,
            ) as stream:
                self._stream = stream
                self._journal.token = lambda: stream.token
                if self._token_file is not None and token is None:
                    # "latest" is a place in time: what comes from now on is seen, whenever this is run again.
                    self._token_file.save(stream.token)
                self._read(stream)
        finally:
            self._status.clear()
            self._journal.save()
            if self._where is not None and (verdict := self._where.verdict()):
                complain(f"streamiter: {printable(verdict)}")
            if self._token_file is not None and self._status.is_shown and self._token_file.path.exists():
                complain(f"the place is kept in {self._token_file.shown}; run it again to go on")

    def _find(self) -> Source:
        source = find_source(self._place)
        try:
            if self._where is not None:
                asked = partial(patiently, lambda: getattr(source, "view_type", None), self._clock)
                self._where.check_for(source.record_type, asked)
        except WhereError as error:
            raise _mistyped(error) from error
        return source

    def _read(self, stream: Stream) -> None:
        printed = 0
        records = stream.follow(until=self._until)
        while (record := self._next(records)) is not None:
            fits, line = self._look_at(record)
            self._journal.add(line)
            printed += fits
            self._foot.count(record)
            if printed == self._limit:
                break
        self._journal.settle()
        if record is None and self._until != "caught_up" and (why := why_ended(stream)):
            self._notice(why)

    def _look_at(self, record: Record) -> tuple[bool, str | None]:
        """Whether a record fits, and its line. One that cannot be decoded is reported, and passed."""
        try:
            fits = self._where is None or self._where(record)
            return fits, self._line(record) if fits else None
        except Exception as error:  # whatever decoding a damaged image raises
            return True, self._unreadable(record, error)

    def _next(self, records: Iterator[Any]) -> Record | None:
        try:
            return next(records, None)
        except Exception:
            self._journal.settle()  # what came before the error was printed
            raise

    def _wait(self) -> None:
        """Before a pause: everything that is due was returned."""
        self._journal.settle()
        if self._status.is_shown and self._stream is not None:
            self._foot.stand(self._stream.stats)

    def _notice(self, message: str) -> None:
        # Nothing is printed and no token taken here: who speaks may have a record in hand that is not printed yet.
        self._status.hide()
        complain(f"streamiter: {printable(message)}")
        self._status.show()


def _json_lines(record: Record) -> str:
    return to_json(record)


def _text_lines(painter: Painter, say: Callable[[str], None], *, full: bool) -> Callable[[Record], str]:
    """How a record becomes a line. On a terminal a date stands on a line of its own; in a pipe each line has it."""
    is_terminal = painter.width is not None
    if full:
        painter.width = None
    day = ""

    def line(record: Record) -> str:
        nonlocal day
        if is_terminal and not full:
            painter.width = columns()  # it may have been resized
        if is_terminal and (today := day_of(record)) and today != day:
            day = today
            say(painter.line([Span(f"── {today} UTC ──", "dim")]))
        return painter.line(
            record_line(record, dated=not is_terminal, most=None if full or not is_terminal else LONGEST_VALUE)
        )

    return line


def _unreadable_lines(painter: Painter) -> Callable[[Record, Exception], str]:
    return lambda record, error: painter.line(unreadable_line(record, error, dated=painter.width is None))
