"""`streamiter child`: runs a Python processor as the child of a MultiLang daemon, streamiter's or Java's."""

from __future__ import annotations

import click

from streamiter.cli.command import Command
from streamiter.errors import InvalidOption
from streamiter.multilang.processor.command import serve
from streamiter.multilang.processor.ending import GRACE
from streamiter.multilang.processor.running import PATIENCE
from streamiter.multilang.wire import Form

EXAMPLES = (
    "streamiter child shop:process",
    "streamiter child shop:Orders --checkpoint 30",
    "streamiter child shop:app --only bill",
    "streamiter multilang --try streamiter child shop:process",
)


@click.command("child", cls=Command, examples=EXAMPLES)
@click.argument("target", metavar="MODULE:NAME")
@click.option("--only", metavar="NAME", help="Run this processor of the app.")
@click.option(
    "--checkpoint",
    metavar="WHEN",
    help="batch: behind each batch; a number: every so many seconds; never: the processor does it. [default: batch]",
)
@click.option(
    "--patience",
    type=click.FloatRange(min=0),
    default=PATIENCE,
    show_default=True,
    metavar="SECONDS",
    help="Try a checkpoint again for so long while the daemon's table is throttled.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=GRACE,
    show_default=True,
    metavar="SECONDS",
    help="End a processor that still works so long after its daemon is gone.",
)
@click.option(
    "--form",
    type=click.Choice([form.value for form in Form]),
    help="The fields that the daemon knows; older: of KCL 1.x. [default: found out]",
)
def command(
    target: str, only: str | None, checkpoint: str | None, patience: float, grace: float, form: str | None
) -> None:
    """Run a processor under a MultiLang daemon: NAME is a function, a class or an App in the Python module MODULE.

    A daemon starts this command itself: `streamiter multilang`, or the Kinesis Client Library's with
    `executableName = streamiter child shop:process`. It talks to it through standard input and output. What the
    processor prints goes to standard error. `python -m streamiter.multilang` is the same, and needs no extra.

    A batch counts as processed when the processor returned. If it raises an error, the command ends with 1, and the records
    come again.
    """
    try:
        code = serve(target, only=only, checkpoint=checkpoint, patience=patience, grace=grace, form=form)
    except InvalidOption as error:
        raise click.UsageError(str(error)) from error
    raise click.exceptions.Exit(code)
