"""`streamiter demo`: a stream read while its shards split, killed and resumed; without an account, without a server."""

from __future__ import annotations

import click

from streamiter.cli.command import Command


@click.command(
    "demo", cls=Command, examples=("streamiter demo", "streamiter demo --fast --seed 7", "streamiter demo --fleet")
)
@click.option("--fast", is_flag=True, help="All scenes at once: no pauses, no waiting for Enter.")
@click.option("--fleet", is_flag=True, help="Instead: a topic, three workers, one of them killed with kill -9.")
@click.option("--seed", type=int, default=1, show_default=True, help="Other orders, other changes.")
@click.pass_context
def command(ctx: click.Context, fast: bool, fleet: bool, seed: int) -> None:
    """See streamiter at work: splits, order, a kill -9, and how it goes on.

    It simulates the service in its own process: it needs no account and no server, and leaves nothing behind. The exit
    code is 0 when the resumed reader read what it should.
    """
    from streamiter.demo.__main__ import show, show_fleet  # nothing else rests on the demo

    ctx.exit(show_fleet(seed=seed, fast=fast) if fleet else show(seed=seed, fast=fast))
