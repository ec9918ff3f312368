"""`streamiter demo`: a stream read while its shards split, killed and resumed; without an account, without a server."""

from __future__ import annotations

import click

from streamiter.cli.command import Command
from streamiter.demo.__main__ import show


@click.command("demo", cls=Command, examples=("streamiter demo", "streamiter demo --fast --seed 7"))
@click.option("--fast", is_flag=True, help="Without the pauses that are there for whoever looks on.")
@click.option("--seed", type=int, default=1, show_default=True, help="Other orders, other changes.")
@click.pass_context
def command(ctx: click.Context, fast: bool, seed: int) -> None:
    """See streamiter at work: splits, order, a kill -9, and how it goes on.

    The service is a simulated one, in this process: no account, no server, nothing is left behind. The exit code is 0
    when the resumed reader read what it should.
    """
    ctx.exit(show(seed=seed, fast=fast))
