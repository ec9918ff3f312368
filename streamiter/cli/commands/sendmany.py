"""`streamiter sendmany`: writes a file's lines to a topic; stopped or killed, it goes on where it was."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from streamiter.cli.command import Command, is_typed
from streamiter.cli.pictures.tree import counted
from streamiter.cli.sending.importing import Bad, Import, Watcher
from streamiter.cli.sending.lines import FORMATS, format_of, lines_of
from streamiter.cli.sending.marks import lines_behind, new_run
from streamiter.cli.sending.state import State, StateFile
from streamiter.cli.sending.target import split_words, takes_topic, topic_meant
from streamiter.cli.setting import setting
from streamiter.cli.terminal.outputs import complain, tell
from streamiter.cli.terminal.status import Meter, StatusLine, short_rate
from streamiter.cli.terminal.words import in_our_words
from streamiter.errors import StreamiterError
from streamiter.terminal import Span, printable
from streamiter.topic import Topic
from streamiter.topic.codec import Misfit

EXAMPLES = (
    "streamiter sendmany shop:app orders orders.jsonl --state orders.state",
    "streamiter sendmany shop:app orders orders.csv --skip-bad",
    "streamiter sendmany 'sqlite:///orders.db?topic=orders' orders.jsonl --partition-by order_id --partitions 16",
    "zcat orders.jsonl.gz | streamiter sendmany shop:app orders -",
)


@click.command("sendmany", cls=Command, examples=EXAMPLES)
@click.argument("target", metavar="MODULE:APP TOPIC | URL")
@click.argument("words", metavar="FILE", nargs=-1, required=True)
@click.option(
    "--format", "format_name", type=click.Choice(FORMATS),
    help="What FILE has: jsonl, a value of JSON in each line; or csv, with the columns' names in its first line. [default: by "
    "the file's name; jsonl in a pipe]",
)  # fmt: skip
@click.option(
    "--from-line", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Begin with line N."
)
@click.option(
    "--state", "state_path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the place in FILE: a later run goes on there, also after a kill.",
)  # fmt: skip
@click.option("--skip-bad", "skips_bad", is_flag=True, help="Tell of lines that cannot be sent, and go on.")
@click.option("--key", metavar="TEXT", help="Send all under this key, whatever the topic takes for one.")
@takes_topic
def command(
    target: str,
    words: tuple[str, ...],
    format_name: str | None,
    from_line: int,
    state_path: Path | None,
    skips_bad: bool,
    key: str | None,
    **options: Any,
) -> None:
    """Send the lines of a file to a topic; - reads them from a pipe.

    Each value is checked against the topic's record. Values of one key are written in the order of their lines; partitions
    side by side. A line that cannot be sent ends the run, with what is wrong and where. Empty cells of a CSV file are left out.

    Ctrl-C stops it once what is on its way is written, and tells where to go on. With --state the same command goes on there.
    """
    name, file_name = split_words(target, words, "FILE")
    topic = topic_meant(target, name, **options)
    try:
        with _opened(file_name) as file:
            state_file = None if state_path is None else StateFile(state_path)
            state = State(file_name, "") if state_file is None else state_file.load(file_name, topic.name)
            _begin(state, from_line, state_file, topic)
            run = Import(topic, state, None if state_file is None else state_file.save, setting().clock)
            report = Report(run, topic.title, has_state=state_file is not None)
            try:
                lines = lines_of(file, format_of(file_name, format_name))
                run.run(lines, report.watcher(file), key=key, skips_bad=skips_bad)
            except BaseException as stop:
                report.stopped(stop)
                raise
            report.over()
    finally:
        topic.close()


def _begin(state: State, from_line: int, state_file: StateFile | None, topic: Topic[Any]) -> None:
    if state == State(state.file, state.topic):
        state.line = from_line
        state.run = "" if state_file is None else new_run()
        return
    if state.ahead or state.doubtful:
        _find_written(state, topic)
    if is_typed("from_line") and state_file is not None:
        raise click.UsageError(
            f"{state_file.path} says to go on with line {state.line}: leave out --from-line, or remove that file"
        )
    complain(f"streamiter: going on with line {state.line}")
    if state.ahead and not state.ends:
        complain(
            f"streamiter: the run before was killed: lines {state.line} to {state.ahead} may have been sent then, and are sent "
            "again"
        )
    if state.doubtful and not state.ends:
        told = ", ".join(map(str, state.doubtful[:5])) + (", ..." if len(state.doubtful) > 5 else "")
        complain(f"streamiter: {counted(len(state.doubtful), 'line')} may have been written, and come again: {told}")


def _find_written(state: State, topic: Topic[Any]) -> None:
    """What the run before sent without hearing of it: it stands in the topic, marked with its line, or it does not."""
    found = lines_behind(topic, state.run, state.ends)
    if found is None:
        state.ends = {}  # records there are gone
        return
    known = set(state.beyond)
    found = {line for line in found if line >= state.line} - known
    state.beyond = sorted(known | found)
    state.sent += len(found)
    state.ahead, state.doubtful = 0, []
    if found:
        complain(
            f"streamiter: {counted(len(found), 'line')} that the run before had sent are found, and not sent again"
        )


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == "-":
        yield sys.stdin.buffer
    else:
        with open(name, "rb") as file:
            yield file


class Report:
    """What the run tells on standard error while it goes, and how it ended."""

    def __init__(self, run: Import, title: str, *, has_state: bool) -> None:
        self._run = run
        self._title = title
        self._has_state = has_state
        self._status = StatusLine()
        self._meter = Meter(setting().clock)
        self._counted = run.state.sent

    def watcher(self, file: IO[bytes]) -> Watcher:
        """Who tells of bad lines, and draws how far it is."""
        return Watcher(self._tell_bad, self._draw)

    def over(self) -> None:
        """The lines ended, or it broke off."""
        self._status.clear()
        run = self._run
        if run.error is not None:
            cause = in_our_words(run.error) if isinstance(run.error, StreamiterError) else f"{type(run.error).__name__}"
            raise click.ClickException(f"{cause}; {self._standing()}") from run.error
        if run.bad is not None:
            raise click.ClickException(f"{run.bad}; {self._standing()}, or skip such lines with --skip-bad")
        tell(self._counts())

    def stopped(self, stop: BaseException) -> None:
        """Something from outside ended it."""
        self._status.clear()
        if isinstance(stop, Misfit):
            raise click.ClickException(f"nothing was sent: {stop}") from None
        if not isinstance(stop, Exception):
            complain(f"stopped: {self._standing()}")

    # -- inside

    def _counts(self) -> str:
        skipped = self._run.state.skipped
        left_out = f"; {counted(skipped, 'bad line')} skipped" if skipped else ""
        return f"{counted(self._run.sent, 'value')} written to {self._title}{left_out}"

    def _standing(self) -> str:
        state = self._run.state
        beyond = f", and {counted(len(state.beyond), 'line')} behind them" if state.beyond else ""
        doubt = f", {len(state.doubtful)} more may have been" if state.doubtful else ""
        upto = f"all before line {state.line}{beyond} {'are' if beyond else 'is'} written{doubt}"
        again = "run it again to go on" if self._has_state else f"go on with --from-line {state.line}"
        return f"{self._counts()}; {upto}; {again}"

    def _tell_bad(self, bad: Bad) -> None:
        self._status.hide()
        complain(f"streamiter: {printable(str(bad))}")
        self._status.show()

    def _draw(self, written: int) -> None:
        if not self._status.is_shown:
            return
        self._meter.count(written - self._counted, None)
        self._counted = written
        told = f"· {written:,} values written · {short_rate(self._meter.rate)} · line {self._run.state.line:,} · Ctrl-C stops"
        self._status.draw([Span(told, "dim")])
