"""`streamiter token`: what a token says, whether it can be used, and Bloop's tokens as ours."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click

from streamiter.cli.checks.findings import finding_lines
from streamiter.cli.checks.standing import arn_of, short_names
from streamiter.cli.checks.survey import list_shards
from streamiter.cli.checks.tokencheck import look_at_token
from streamiter.cli.command import Command, Group, reaches_service
from streamiter.cli.files.tokenfile import TokenFile
from streamiter.cli.moments import age
from streamiter.cli.pictures.tree import counted
from streamiter.cli.reader import find_source
from streamiter.cli.setting import StreamAddress, setting
from streamiter.cli.terminal.ending import Unwell
from streamiter.cli.terminal.paint import columns, painter_for, prepare_output
from streamiter.clock import SECOND_US
from streamiter.stream.starting import parse_position
from streamiter.terminal import Span
from streamiter.token import Token, TokenLane, load_token

EXAMPLES = (
    "streamiter token show users.token",
    "streamiter token check users.token --url users",
    "streamiter token convert bloop.json --to users.token",
)
FILE = click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True))


@click.group("token", cls=Group, context_settings={"help_option_names": ["-h", "--help"]}, examples=EXAMPLES)
def command() -> None:
    """Show, check or convert tokens. FILE holds a token of streamiter or of Bloop as JSON; - reads it from a pipe."""
    prepare_output()


@command.command(
    "show",
    cls=Command,
    short_help="Show how far a token has come, and where it stands in each shard.",
    examples=("streamiter token show users.token", "streamiter token show - < users.token"),
)
@FILE
def show(file: str) -> None:
    """Show a token: its stream, how far it has come, and where it stands in each shard."""
    token = load_token(_load(file))
    painter = painter_for(sys.stdout)
    painter.width = None  # a place that is cut is none
    for line in token_lines(token, setting().clock.now()):
        click.echo(painter.line(line).rstrip())


@command.command(
    "check",
    cls=Command,
    short_help="Check whether a token is whole, and can still be used.",
    examples=("streamiter token check users.token", "streamiter token check users.token --url users"),
)
@FILE
@click.option("--url", metavar="URL", help="Check on this stream, too, that the service still holds the token's place.")
@reaches_service
def check(file: str, url: str | None, endpoint_url: str | None, region: str | None, profile: str | None) -> None:
    """Check whether a token is whole and, with --url, whether the service still holds its place.

    The exit code is 0 if the token can be used, and 1 if not.
    """
    named = {"--endpoint-url": endpoint_url, "--region": region, "--profile": profile}
    if url is None and (typed := [option for option, value in named.items() if value is not None]):
        raise click.UsageError(f"{typed[0]} says how to reach a stream: name the stream, too, with --url")
    told = _load(file)
    token = load_token(told)
    lanes = f"{len(token.lanes)} shard{'' if len(token.lanes) == 1 else 's'}"
    click.echo(f"{'Bloop’s' if 'streamiter' not in told else 'ours'}, whole, {lanes}, of {arn_of(token.stream)}")
    if url is None:
        return
    source = find_source(StreamAddress(url, endpoint_url, region, profile))
    try:
        parse_position(told, source.name)
        lineage, service_us, _ = list_shards(source, setting().clock)
        finding = look_at_token(source, setting().clock, token, lineage, service_us)
    finally:
        source.close()
    painter = painter_for(sys.stdout)
    painter.width = None
    for line in finding_lines(finding, columns()):
        click.echo(painter.line(line).rstrip())
    if finding.mark == "bad":
        raise Unwell


@command.command(
    "convert",
    cls=Command,
    examples=("streamiter token convert bloop.json --to users.token", "streamiter token convert bloop.json"),
)
@FILE
@click.option(
    "--to",
    "target",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Save the token in FILE. [default: print it]",
)
def convert(file: str, target: str | None) -> None:
    """Convert a token of Bloop's, or one that an older version saved, to what is saved now."""
    token = load_token(_load(file)).to_dict()
    if target is None or target == "-":
        click.echo(json.dumps(token))
    else:
        TokenFile(target).save(token)


def token_lines(token: Token, now: float) -> Iterator[list[Span]]:
    """What a token says, in lines; pure."""
    kind = "from Bloop: closed shards that nothing connects count as read" if token.closed_are_read else ""
    yield [Span(f"{'stream':10}", "dim"), *_stream(token.stream)]
    yield [Span(f"{'returned':10}", "dim"), Span(counted(token.clock, "record")), Span(f"  {kind}", "dim")]
    if token.high is not None:
        yield [Span(f"{'up to':10}", "dim"), Span(_when(token.high[0], now)), Span(f"  in {token.high[3]}", "dim")]
    start = "at the horizon" if token.start is None else f"at {_when(token.start, now)}"
    yield [Span(f"{'unnamed':10}", "dim"), Span(f"shards that it does not name start {start}")]
    if not token.lanes:
        return
    names = short_names([lane.shard for lane in token.lanes])
    width = max(len(name) for name in [*names.values(), "shard"])
    yield []
    yield [Span(f"{'shard':{width}}  stands", "bold")]
    for lane in token.lanes:
        told, look = _stands(lane, now)
        yield [Span(f"{names[lane.shard]:{width}}  "), Span(told, look)]


def _stream(stream: str) -> list[Span]:
    """Its ARN, and, where the token knows, when a Kinesis stream was made: one that was made again is another."""
    arn, _, made = stream.partition("@")
    told = [Span(arn)]
    if made.isdecimal() and len(made) < 12:
        told.append(Span(f"  made {datetime.fromtimestamp(int(made), UTC):%Y-%m-%d %H:%M:%S} UTC", "dim"))
    return told


def _stands(lane: TokenLane, now: float) -> tuple[str, str]:
    if lane.ended is not None:
        return "finished" + (", no child was ever listed" if lane.childless else ""), "dim"
    read = "" if lane.floor is None else f", at {_when(lane.floor, now)}"
    if lane.place is not None:
        number, since = lane.place
        return f"after record {number}{f' and {since} more' if since else ''}{read}", ""
    if lane.at is not None:
        return f"at record {lane.at}", ""
    if lane.latest:
        return "at its end, when it is first listed", "note"
    if lane.time is not None:
        return f"from {_when(lane.time, now)} on", "note"
    return "from its horizon on", "note"


def _when(time_us: int, now: float) -> str:
    moment = datetime.fromtimestamp(time_us / SECOND_US, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC ({age(now - time_us / SECOND_US)} ago)"


def _load(file: str) -> dict[str, Any]:
    token = TokenFile(file).load()
    if token is None:
        raise click.ClickException(f"the file {file} does not exist")
    return token
