"""`streamiter doctor`: what reading a stream needs, looked at one by one, each finding with its remedy."""

from __future__ import annotations

import json
import sys
import textwrap

import click

from streamiter.cli.command import Command, takes_stream
from streamiter.cli.ending import Unwell
from streamiter.cli.examination import Examination, default_region
from streamiter.cli.findings import finding_lines, verdict
from streamiter.cli.paint import Span, columns, painter_for, prepare_output
from streamiter.cli.policy import kinesis_arn_of, kinesis_policy, least_policy, table_arn_of
from streamiter.cli.setting import Place, setting
from streamiter.cli.tokenfile import TokenFile
from streamiter.source import DynamoDBStreams, KinesisStreams, Source

EXAMPLES = (
    "streamiter doctor users",
    "streamiter doctor users --profile staging --region eu-west-1",
    "streamiter doctor users --token-file users.token || echo 'something is wrong'",
    "streamiter doctor users --policy",
)


@click.command("doctor", cls=Command, examples=EXAMPLES)
@takes_stream
@click.option(
    "--token-file", metavar="FILE", type=click.Path(dir_okay=False, exists=True), help="Look at this token, too."
)
@click.option("--policy", is_flag=True, help="Print the least IAM policy that reading needs, and nothing else.")
@click.option("--json", "as_json", is_flag=True, help="For programs: an array of findings.")
def command(place: Place, token_file: str | None, policy: bool, as_json: bool) -> None:
    """Look at all that reading a stream needs; each finding comes with its remedy.

    Credentials, region, table and stream, its view type, permissions, what the service holds, this machine's clock. It
    only reads. The exit code is 0 when all is well, 1 when something has to be mended.
    """
    prepare_output()
    source = place.source()
    try:
        if policy:
            click.echo(json.dumps(_policy(source, place), indent=2))
            return
        token = TokenFile(token_file).load if token_file is not None else None
        examination = Examination(source, setting().clock, token)
        examination.run()
        if as_json:
            click.echo(json.dumps([finding.to_json() for finding in examination.findings], indent=2))
        else:
            _tell(examination, source, place)
    finally:
        source.close()
    if not examination.is_well:
        raise Unwell


def _tell(examination: Examination, source: Source, place: Place) -> None:
    painter = painter_for(sys.stdout)
    width = columns() if painter.width is not None else 100
    painter.width = None  # it is wrapped instead
    for finding in examination.findings:
        for line in finding_lines(finding, width):
            click.echo(painter.line(line).rstrip())
    if examination.missing:
        click.echo("\n" + painter.line([Span("The least policy that reading needs:", "bold")]))
        click.echo(json.dumps(_policy(source, place), indent=2))
    click.echo()
    for text in textwrap.wrap(verdict(examination.findings), width - 1):
        click.echo(painter.line([Span(text, "bold")]))


def _policy(source: Source, place: Place) -> dict[str, object]:
    known = place.url.rpartition("://")[2].partition("?")[0]
    region = place.region or default_region()
    if isinstance(source, KinesisStreams):
        return kinesis_policy(kinesis_arn_of(known, region))
    if not isinstance(source, DynamoDBStreams):
        raise click.ClickException("the policy is known for DynamoDB and Kinesis only")
    arn = table_arn_of(known if known.startswith("arn:") else source.table, region)
    return least_policy(arn, by_stream_arn=source.is_by_arn)
