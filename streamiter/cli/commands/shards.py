"""`streamiter shards`: a stream's lineage, as a tree, as JSON, or as a picture over time."""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import datetime
from pathlib import Path

import click

from streamiter.cli.checks.standing import Standing, arn_of, short_names, standings
from streamiter.cli.checks.survey import Counts, Survey, count_records, survey
from streamiter.cli.command import Command, takes_stream
from streamiter.cli.files.tokenfile import TokenFile, replace_file
from streamiter.cli.moments import Moment
from streamiter.cli.pictures.chart import draw_chart
from streamiter.cli.pictures.png import check_extra, to_png
from streamiter.cli.pictures.svg import to_svg
from streamiter.cli.pictures.tree import counted, failures, to_json, tree_rows
from streamiter.cli.reader import find_source
from streamiter.cli.setting import StreamAddress, setting
from streamiter.cli.terminal.ending import Unwell
from streamiter.cli.terminal.paint import Painter, painter_for, prepare_output
from streamiter.cli.terminal.status import Meter, StatusLine
from streamiter.clock import SECOND_US
from streamiter.lineage import Lineage
from streamiter.source import Source
from streamiter.stream.starting import parse_position
from streamiter.terminal import Span
from streamiter.token import Token

EXAMPLES = (
    "streamiter shards users",
    "streamiter shards users --token-file users.token",
    "streamiter shards users --svg shards.svg --png shards.png --since '2 hours ago'",
    "streamiter shards users --json | jq -r '.[] | select(.state == \"open\").shard_id'",
)


@click.command("shards", cls=Command, examples=EXAMPLES)
@takes_stream
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(dir_okay=False, exists=True),
    help="Show where the token in FILE stands.",
)
@click.option(
    "--svg", metavar="FILE", type=click.Path(dir_okay=False), help="Draw the shards over time; this reads all records."
)
@click.option(
    "--png",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The same picture as PNG; needs the extra png.",
)
@click.option("--since", type=Moment(), metavar="WHEN", help="Draw only what is newer (UTC): '2 hours ago', 10:30.")
@click.option("--ids", "full_ids", is_flag=True, help="Show whole shard ids, not only their ends.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of shards.")
def command(
    place: StreamAddress,
    token_file: str | None,
    svg: str | None,
    png: str | None,
    since: datetime | None,
    full_ids: bool,
    as_json: bool,
) -> None:
    """Show a stream's shards: their parents, which of them are open, and what they hold.

    "began" is the age of a shard, "holds from" the age of its first record, and "behind" the age of the first record that
    the token has not read. The tree takes one or two calls per shard; a picture reads all records.
    """
    prepare_output()
    if since is not None and not (svg or png):
        raise click.UsageError("--since is for pictures: add --svg FILE or --png FILE")
    if png:
        check_extra()
    if svg and png and Path(svg).absolute() == Path(png).absolute():
        raise click.UsageError("--svg and --png name the same file: one picture would replace the other")
    for file in filter(None, (svg, png)):
        if not os.access(Path(file).absolute().parent, os.W_OK):  # told now, not after everything was read
            raise click.ClickException(f"{file} cannot be written: does its folder exist, and may you write to it?")
    status = StatusLine()
    source = find_source(place)
    try:
        token = _load(token_file, source) if token_file is not None else None

        def stands(lineage: Lineage) -> dict[str, Standing]:
            return {} if token is None else standings(token, lineage)

        status.draw([Span("looking at the shards …", "dim")])
        seen = survey(source, setting().clock, stands)
        standing = None if token is None else stands(seen.lineage)
        names = {shard_id: shard_id for shard_id in seen.lineage} if full_ids else short_names(list(seen.lineage))
        if svg or png:
            # A reading of all records would wait for the shard that fails, and then fail whole.
            seen.counts = None if seen.errors else _count(source, since, status)
            since_us = None if since is None else round(since.timestamp() * SECOND_US)
            picture = draw_chart(seen, names, standing, since_us=since_us, token_name=_token_name(token_file))
            if svg:
                replace_file(Path(svg), to_svg(picture).encode())
            if png:
                replace_file(Path(png), to_png(picture))
        status.clear()
        _tell(seen, names, standing, as_json=as_json)
        if seen.errors:
            raise Unwell
    finally:
        status.clear()
        source.close()


def _load(token_file: str, source: Source) -> Token:
    token = parse_position(TokenFile(token_file).load(), source.name)
    assert isinstance(token, Token)
    return token


def _count(source: Source, since: datetime | None, status: StatusLine) -> Counts:
    meter = Meter(setting().clock)

    def progress(counts: Counts, order_us: int | None) -> None:
        meter.count(counts.records - meter.records, order_us)
        status.draw(meter.spans(meter.now_us()))

    return count_records(source, setting().clock, since, progress)


def _token_name(token_file: str | None) -> str:
    return Path(token_file).name if token_file else "the token"


def _tell(seen: Survey, names: dict[str, str], standing: dict[str, Standing] | None, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(to_json(seen, standing), indent=2))
        return
    painter = painter_for(sys.stdout)
    _tell_head(painter, seen)
    for row in tree_rows(seen, names, standing, painter.width):
        click.echo(painter.line(row).rstrip())
    painter.width = None  # what went wrong is not cut
    for row in failures(seen, names):
        click.echo("\n" + painter.line(row).rstrip())


def _tell_head(painter: Painter, seen: Survey) -> None:
    """Prints the stream's name in full, broken into lines between its parts and never within a word."""
    open_shards = sum(not seen.lineage[shard_id].closed for shard_id in seen.lineage)
    state = "disabled" if seen.is_final else "enabled"
    for line in broken(arn_of(seen.stream), painter.width):
        click.echo(painter.line([Span(line, "bold")]))
    click.echo(painter.line([Span(f"{state}, {counted(len(seen.lineage), 'shard')}, {open_shards} open", "dim")]))
    click.echo()


def broken(arn: str, room: int | None) -> list[str]:
    """A name of several parts in as few lines as there is room for: broken before '/' or ':', never within a part."""
    lines: list[str] = []
    for part in re.findall(r"[/:]?[^/:]*", arn) if room is not None and len(arn) > room else [arn]:
        if lines and len(lines[-1]) + len(part) <= (room or 0):
            lines[-1] += part
        elif part:
            lines.append(f"  {part}" if lines else part)
    return lines
