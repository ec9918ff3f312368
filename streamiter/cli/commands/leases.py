"""`streamiter leases` shows which worker reads which shard, by the rows of a store, and lets an operator change them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from streamiter.cli.command import Command, Group, reaches_service
from streamiter.cli.files.tokenfile import TokenFile
from streamiter.cli.fleet.opening import LEADER, leaders_meant, opened, table_meant, tables_meant, tables_of
from streamiter.cli.fleet.states import TROUBLES, state_of
from streamiter.cli.moments import age
from streamiter.cli.setting import setting
from streamiter.cli.terminal.paint import painter_for, prepare_output
from streamiter.clock import microseconds
from streamiter.lease import Lease, operator, tokens
from streamiter.lease.lease import SINCE
from streamiter.store import Table
from streamiter.store.base import LEASES
from streamiter.terminal import Span

EXAMPLES = (
    "streamiter leases list sqlite:///shop.db",
    "streamiter leases show sqlite:///shop.db shardId-000000000001",
    "streamiter leases release dynamodb://shop shardId-000000000001 --app shop",
    "streamiter leases reset dynamodb://shop shardId-000000000001 --to TRIM_HORIZON",
    "streamiter leases accept dynamodb://shop shardId-000000000001 --app shop",
    "streamiter leases export sqlite:///shop.db --source arn:aws:dynamodb:...:stream/... --to users.token",
    "streamiter leases import sqlite:///shop.db users.token --app shop --stream users",
)
HEADINGS = ("lease", "state", "owner", "since", "fence", "checkpoint")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
LEASE = click.argument("key", metavar="LEASE")


@click.group("leases", cls=Group, context_settings={"help_option_names": ["-h", "--help"]}, examples=EXAMPLES)
def command() -> None:
    """Show and change the leases of a fleet: which worker reads which shard, and how far it has come.

    STORE is the URL that the workers have: sqlite:///FILE, postgresql://..., redis://..., dynamodb://TABLE,
    kcl+dynamodb://TABLE, or env:NAME or file:PATH for where that URL stands.
    """
    prepare_output()


def takes_store(function: Callable[..., None]) -> Callable[..., None]:
    """The argument STORE, how it is reached, and which leases are meant."""
    for option in (
        click.option("--stream", metavar="NAME", help="The processor, or the KCL's stream, where there are several."),
        click.option("--app", metavar="NAME", help="The app, where the store has leases of several."),
        click.argument("store", metavar="STORE"),
        reaches_service,
    ):
        function = option(function)
    return function


@command.command(
    "list", cls=Command, short_help="List all leases: who holds them, and where they stand.", examples=EXAMPLES[:1]
)
@takes_store
@JSON
def list_(as_json: bool, **place: Any) -> None:
    """List all leases of a store: who holds them since when, with which fence, and where they stand.

    Where an app has timers that run in one worker, the lease `leader` tells which worker leads.
    """
    with opened(place) as store:
        leaders = leaders_meant(store, place)
        tables = tables_meant(store, place) if not leaders or place["stream"] else tables_of(store, place)
        found = {table: [Lease.of(row) for row in store.scan(table)] for table in tables}
        for table in leaders:
            found[table] = [Lease.of(row)._replace(key=LEADER) for row in store.scan(table)]
    if as_json:
        click.echo(
            json.dumps([to_json(table, lease) for table, rows in found.items() for lease in sorted(rows)], indent=2)
        )
        return
    painter = painter_for(sys.stdout)
    for table, leases in found.items():
        click.echo(painter.line([Span(str(table), "bold")]).rstrip())
        for line in lease_lines(sorted(leases), setting().clock.now()):
            click.echo(painter.line(line).rstrip())


@command.command("show", cls=Command, short_help="Show all that one lease says.", examples=EXAMPLES[1:2])
@takes_store
@LEASE
@JSON
def show(key: str, as_json: bool, **place: Any) -> None:
    """Show all that one lease says, also what the table has no room for."""
    with opened(place) as store:
        table = table_meant(store, place)
        row = store.read(table, key)
    if row is None:
        raise click.ClickException(f"there is no lease {key!r} among the {table}; `streamiter leases list` shows them")
    told = to_json(table, Lease.of(row))
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    for name, value in told.items():
        shown = value if isinstance(value, str) else json.dumps(value)
        click.echo(painter_for(sys.stdout).line([Span(f"{name:12}", "dim"), Span(shown)]).rstrip())


@command.command("release", cls=Command, short_help="Ask the owner of a lease to let it go.", examples=EXAMPLES[2:3])
@takes_store
@LEASE
@click.option("--force", "by_force", is_flag=True, help="Take it from an owner that does not answer.")
def release(key: str, by_force: bool, **place: Any) -> None:
    """Ask the owner of a lease to let it go: it finishes what it holds, and another worker takes over.

    With --force the lease is taken away: no worker reads it until a failover has passed, and what its owner has not
    checkpointed comes again.
    """
    with opened(place) as store:
        lease = operator.release(store, table_meant(store, place), key, by_force=by_force)
    if lease.owner is None:
        click.echo(f"{key} is free already")
    elif by_force:
        click.echo(f"{key} is taken from its owner; a worker takes it over after the failover")
    else:
        click.echo(f"{lease.owner} is asked to let {key} go; it does so at its next look")


@command.command("reset", cls=Command, short_help="Set where a lease is read from.", examples=EXAMPLES[3:4])
@takes_store
@LEASE
@click.option("--to", "checkpoint", metavar="CHECKPOINT", required=True, help="TRIM_HORIZON, or a sequence number.")
def reset(key: str, checkpoint: str, **place: Any) -> None:
    """Set where a lease is read from: back, to read records again, or forward, to leave some out.

    Its owner notices at its next renewal; a worker goes on from there after the failover. A gap counts as accepted.
    """
    with opened(place) as store:
        operator.reset(store, table_meant(store, place), key, checkpoint, microseconds(setting().clock.now()))
    click.echo(f"{key} goes on from {checkpoint} after the failover")


@command.command(
    "accept", cls=Command, short_help="Give up what may be lost: go on behind a gap.", examples=EXAMPLES[4:5]
)
@takes_store
@LEASE
def accept(key: str, **place: Any) -> None:
    """Give up records that may be lost: a lease at which a gap stands is read on from what the service still holds.

    A worker goes on after the failover. With order="total" the shards that lost nothing go on where they were.
    """
    with opened(place) as store:
        operator.accept_gap(store, table_meant(store, place), key, microseconds(setting().clock.now()))
    click.echo(f"the gap of {key} is accepted; it goes on from what the service still holds, after the failover")


@command.command("export", cls=Command, short_help="Write the leases as a token.", examples=EXAMPLES[5:6])
@takes_store
@click.option("--source", metavar="NAME", required=True, help="The stream's own name, as tokens have it: its ARN.")
@click.option(
    "--to", "target", metavar="FILE", type=click.Path(dir_okay=False), help="Save it there. [default: print it]"
)
def export(source: str, target: str | None, **place: Any) -> None:
    """Write the leases as a token: a Stream, Spark or another fleet goes on where the workers stopped.

    Stop the workers first: what they read afterwards is not in the token.
    """
    with opened(place) as store:
        leases = [Lease.of(row) for row in store.scan(table_meant(store, place))]
    token = tokens.to_token(source, leases, microseconds(setting().clock.now()))
    if target is None:
        click.echo(json.dumps(token))
    else:
        TokenFile(target).save(token)


@command.command("import", cls=Command, short_help="Seed leases from a token.", examples=EXAMPLES[6:7])
@takes_store
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--total", is_flag=True, help='For a processor with order="total": one lease for the whole stream.')
def import_(file: str, total: bool, **place: Any) -> None:
    """Seed the leases of an app that has none from a token, ours or Bloop's: its workers go on where the token stands."""
    token = TokenFile(file).load()
    if token is None:
        raise click.ClickException(f"there is no file {file}")
    if not place["app"] or not place["stream"]:
        raise click.UsageError("--app and --stream say whose leases are to be written")
    stream, leases = tokens.from_token(token) if not total else _one(tokens.total_lease(token))
    with opened(place, makes=True) as store:
        operator.seed(store, Table(LEASES, place["app"], place["stream"]), leases)
    click.echo(f"{len(leases)} leases of {stream} written")


def lease_lines(leases: list[Lease], now: float) -> Iterator[list[Span]]:
    """The table of leases, in lines; pure."""
    cells = [HEADINGS, *(_cells(lease, now) for lease in leases)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADINGS))]
    for number, row in enumerate(cells):
        look = "dim" if number == 0 else ("bad" if row[1] in TROUBLES else "")
        text = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield [Span(text, look) if look else Span(text)]


def to_json(table: Table, lease: Lease) -> dict[str, Any]:
    """A lease for programs."""
    told = {"app": table.app, "stream": table.stream, "lease": lease.key, "state": state_of(lease)}
    fields = {**lease.row.fields, "version": lease.version}
    return {**told, **fields}


def _cells(lease: Lease, now: float) -> tuple[str, ...]:
    since = lease.progress.get(SINCE)
    taken = age(max(0, round(now - since))) if since is not None and lease.owner is not None else ""
    checkpoint = "a token" if lease.checkpoint.startswith("{") else lease.checkpoint
    if lease.key == LEADER:
        checkpoint = ""  # its timers' last moments: not for people
    return (lease.key, state_of(lease), lease.owner or "", taken, str(lease.fence), checkpoint)


def _one(found: tuple[str, Lease]) -> tuple[str, list[Lease]]:
    return found[0], [found[1]]
