"""`streamiter list`: the streams that can be read here: those of tables, and Kinesis'."""

from __future__ import annotations

import json
import sys

import click

from streamiter.cli.checks.inventory import Account, Listed
from streamiter.cli.command import Command, reaches_service
from streamiter.cli.setting import make_session
from streamiter.cli.terminal.ending import Unwell
from streamiter.cli.terminal.paint import Painter, painter_for, prepare_output
from streamiter.cli.terminal.words import in_our_words, with_class
from streamiter.errors import CredentialsMissing, SourceError
from streamiter.terminal import Span

EXAMPLES = (
    "streamiter list",
    "streamiter list --region eu-west-1 --only dynamodb",
    "streamiter list --json | jq -r '.[].url'",
)
KINDS = ("dynamodb", "kinesis")


@click.command("list", cls=Command, examples=EXAMPLES)
@reaches_service
@click.option("--only", type=click.Choice(KINDS), help="Ask only this service.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of streams.")
def command(endpoint_url: str | None, region: str | None, profile: str | None, only: str | None, as_json: bool) -> None:
    """List the streams of this account and region: those of DynamoDB tables, and Kinesis streams.

    The other commands take the first column as URL. list needs the permissions dynamodb:ListStreams,
    dynamodb:DescribeStream and kinesis:ListStreams; if one is missing, it lists the rest.
    """
    prepare_output()
    session = None if profile is None else make_session(profile)
    account = Account(session=session, endpoint_url=endpoint_url, region=region)
    try:
        place = account.place
        found, errors = _ask(account, (only,) if only else KINDS)
    finally:
        account.close()
    if as_json:
        click.echo(json.dumps([listed.to_json() for listed in found], indent=2))
    else:
        _tell(painter_for(sys.stdout), place, found, is_whole=not errors)
    for error in errors:
        click.echo(f"streamiter: {with_class(in_our_words(error), error)}", err=True)
    if errors:
        raise Unwell


def _ask(account: Account, kinds: tuple[str, ...]) -> tuple[list[Listed], list[SourceError]]:
    """Lists the streams of each service. If one service refuses, the other one is still asked."""
    found: list[Listed] = []
    errors: list[SourceError] = []
    for kind in kinds:
        try:
            found += account.dynamodb() if kind == "dynamodb" else account.kinesis()
        except CredentialsMissing:
            raise  # the other one would fail alike
        except SourceError as error:
            errors.append(error)
    return found, errors


def _tell(painter: Painter, place: tuple[str, str], found: list[Listed], *, is_whole: bool) -> None:
    painter.width = None  # a name that is cut is none
    click.echo(painter.line([Span(f"{place[0]}, {place[1]}", "dim")]))
    if not found:
        if is_whole:
            click.echo("There are no streams here. --region NAME looks in another region.")
        return
    width = max(len(listed.url) for listed in found)
    click.echo()
    click.echo(painter.line([Span(f"{'stream':{width}}  {'status':8}  images", "bold")]))
    for listed in found:
        look = "good" if listed.status in ("ENABLED", "ACTIVE") else "note"
        images = listed.view_type or ""
        line = [Span(f"{listed.url:{width}}  "), Span(f"{listed.status:8}", look), Span(f"  {images}", "dim")]
        click.echo(painter.line(line).rstrip())
