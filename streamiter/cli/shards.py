"""`streamiter shards`: a stream's lineage, as a tree, as JSON, or as a picture over time."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime
from pathlib import Path

import click

from streamiter.cli.chart import draw_chart
from streamiter.cli.command import Command, takes_stream
from streamiter.cli.moments import Moment
from streamiter.cli.paint import Span, painter_for, prepare_output
from streamiter.cli.png import check_extra, to_png
from streamiter.cli.reader import find_source
from streamiter.cli.setting import Place, setting
from streamiter.cli.standing import Standing, arn_of, short_names, standings
from streamiter.cli.status import Meter, StatusLine
from streamiter.cli.survey import Counts, Survey, count_records, survey
from streamiter.cli.svg import to_svg
from streamiter.cli.tokenfile import TokenFile, replace_file
from streamiter.cli.tree import counted, to_json, tree_rows
from streamiter.clock import SECOND_US
from streamiter.lineage import Lineage
from streamiter.source import Source
from streamiter.stream.position import parse_position
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
    "--token-file", metavar="FILE", type=click.Path(dir_okay=False, exists=True), help="Show where this token stands."
)
@click.option("--svg", metavar="FILE", type=click.Path(dir_okay=False), help="Draw it over time: reads every record.")
@click.option(
    "--png", metavar="FILE", type=click.Path(dir_okay=False), help="The same as PNG (pip install 'streamiter[png]')."
)
@click.option("--since", type=Moment(), metavar="WHEN", help="Draw only from then on (UTC): '2 hours ago', 10:30.")
@click.option("--ids", "full_ids", is_flag=True, help="Whole ids, not only their ends.")
@click.option("--json", "as_json", is_flag=True, help="For programs: an array of shards.")
def command(
    place: Place,
    token_file: str | None,
    svg: str | None,
    png: str | None,
    since: datetime | None,
    full_ids: bool,
    as_json: bool,
) -> None:
    """Show a stream's shards: which follows which, which are open, what they hold.

    "began" is when a shard was made, "holds from" how old its first record is, "behind" how old the first record is that
    the token has not read. It takes a call or two a shard; a picture takes a reading of all records.
    """
    prepare_output()
    if since is not None and not (svg or png):
        raise click.UsageError("--since is for a picture: name --svg FILE or --png FILE, too")
    if png:
        check_extra()
    if svg and png and Path(svg).absolute() == Path(png).absolute():
        raise click.UsageError("--svg and --png name the same file: one would replace the other")
    for file in filter(None, (svg, png)):
        if not os.access(Path(file).absolute().parent, os.W_OK):  # told now, not after everything was read
            raise click.ClickException(f"{file} cannot be written: is there such a folder, and may you write to it?")
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
            seen.counts = _count(source, since, status)
            since_us = None if since is None else round(since.timestamp() * SECOND_US)
            picture = draw_chart(seen, names, standing, since_us=since_us, token_name=_token_name(token_file))
            if svg:
                replace_file(Path(svg), to_svg(picture).encode())
            if png:
                replace_file(Path(png), to_png(picture))
        status.clear()
        _tell(seen, names, standing, as_json=as_json)
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
    open_shards = sum(not seen.lineage[shard_id].closed for shard_id in seen.lineage)
    state = "disabled" if seen.is_final else "enabled"
    room, painter.width = painter.width, None  # what names the stream is not cut
    click.echo(painter.line([Span(arn_of(seen.stream), "bold")]))
    click.echo(painter.line([Span(f"{state}, {counted(len(seen.lineage), 'shard')}, {open_shards} open", "dim")]))
    click.echo()
    painter.width = room
    for row in tree_rows(seen, names, standing, room):
        click.echo(painter.line(row).rstrip())
