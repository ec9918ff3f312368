"""`streamiter doctor`: checks what reading a stream needs, one thing after the other; each finding has its remedy."""

from __future__ import annotations

import json
import sys
import textwrap

import click

from streamiter.cli.checks.examination import Examination, default_region
from streamiter.cli.checks.findings import Finding, finding_lines, verdict
from streamiter.cli.checks.idle import PRICE_PER_100_000
from streamiter.cli.checks.policy import kinesis_arn_of, kinesis_policy, least_policy, table_arn_of
from streamiter.cli.command import Command, refuse_together, takes_stream
from streamiter.cli.files.tokenfile import TokenFile
from streamiter.cli.setting import StreamAddress, setting
from streamiter.cli.terminal.ending import Unwell
from streamiter.cli.terminal.paint import columns, painter_for, prepare_output
from streamiter.source import DynamoDBStreams, KinesisStreams, Source
from streamiter.terminal import Span

EXAMPLES = (
    "streamiter doctor users",
    "streamiter doctor users --profile staging --region eu-west-1",
    "streamiter doctor users --token-file users.token || echo 'something is wrong'",
    "streamiter doctor users --policy",
)


@click.command("doctor", cls=Command, examples=EXAMPLES)
@takes_stream
@click.option(
    "--token-file", metavar="FILE", type=click.Path(dir_okay=False, exists=True), help="Check the token in FILE, too."
)
@click.option(
    "--price", type=click.FloatRange(min=0), default=PRICE_PER_100_000, show_default=True, metavar="DOLLARS",
    help="The price of 100,000 GetRecords calls of DynamoDB Streams in your region.",
)  # fmt: skip
@click.option("--policy", is_flag=True, help="Print only the smallest IAM policy that reading needs.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of findings.")
def command(place: StreamAddress, token_file: str | None, price: float, policy: bool, as_json: bool) -> None:
    """Check everything that reading a stream needs, and say how to fix what is wrong.

    doctor checks credentials, region, table and stream, view type, permissions, records, and this machine's clock. It also
    prices a day without changes. It only reads. The exit code is 0 if all is well, and 1 if there is something to fix.
    """
    prepare_output()
    for looked_at in ("token_file", "price"):
        refuse_together("policy", looked_at, why="--policy prints the policy and checks nothing")
    source = place.source()
    try:
        if policy:
            click.echo(json.dumps(_policy(source, place), indent=2))
            return
        token = TokenFile(token_file).load if token_file is not None else None
        screen = _Screen()
        tell = (lambda _: None) if as_json else screen.tell
        examination = Examination(source, setting().clock, token, tell, price=price)
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
            click.echo("\n" + self._painter.line([Span("The smallest policy that reading needs:", "bold")]))
            click.echo(json.dumps(policy, indent=2))
        click.echo()
        for text in textwrap.wrap(verdict(examination.findings), self._width - 1):
            click.echo(self._painter.line([Span(text, "bold")]))


def _policy(source: Source, place: StreamAddress) -> dict[str, object]:
    known = place.url.rpartition("://")[2].partition("?")[0]
    region = place.region or default_region()
    if isinstance(source, KinesisStreams):
        return kinesis_policy(kinesis_arn_of(known, region))
    if not isinstance(source, DynamoDBStreams):
        raise click.ClickException("doctor knows the policies of DynamoDB and Kinesis only")
    arn = table_arn_of(known if known.startswith("arn:") else source.table, region)
    return least_policy(arn, by_stream_arn=source.is_by_arn)
