"""`streamiter doctor`: what reading a stream needs, looked at one by one, each finding with its remedy."""

from __future__ import annotations

import json
import sys
import textwrap

import click

from streamiter.cli.command import Command, takes_stream
from streamiter.cli.ending import Unwell
from streamiter.cli.examination import Examination, default_region
from streamiter.cli.findings import Finding, finding_lines, verdict
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
        screen = _Screen()
        examination = Examination(source, setting().clock, token, (lambda _: None) if as_json else screen.tell)
        examination.run()
        if as_json:
            click.echo(json.dumps([finding.to_json() for finding in examination.findings], indent=2))
        else:
            screen.conclude(examination, _policy(source, place) if examination.missing else None)
    finally:
        source.close()
    if not examination.is_well:
        raise Unwell


class _Screen:
    """What a person sees: a finding after the other, then all of them in a sentence."""

    def __init__(self) -> None:
        self._painter = painter_for(sys.stdout)
        self._width = columns() if self._painter.width is not None else 100
        self._painter.width = None  # it is wrapped instead

    def tell(self, finding: Finding) -> None:
        for line in finding_lines(finding, self._width):
            click.echo(self._painter.line(line).rstrip())

    def conclude(self, examination: Examination, policy: dict[str, object] | None) -> None:
        if policy is not None:
            click.echo("\n" + self._painter.line([Span("The least policy that reading needs:", "bold")]))
            click.echo(json.dumps(policy, indent=2))
        click.echo()
        for text in textwrap.wrap(verdict(examination.findings), self._width - 1):
            click.echo(self._painter.line([Span(text, "bold")]))


def _policy(source: Source, place: Place) -> dict[str, object]:
    known = place.url.rpartition("://")[2].partition("?")[0]
    region = place.region or default_region()
    if isinstance(source, KinesisStreams):
        return kinesis_policy(kinesis_arn_of(known, region))
    if not isinstance(source, DynamoDBStreams):
        raise click.ClickException("the policy is known for DynamoDB and Kinesis only")
    arn = table_arn_of(known if known.startswith("arn:") else source.table, region)
    return least_policy(arn, by_stream_arn=source.is_by_arn)
