"""`streamiter simulate`: a DynamoDB of one's own on loopback, for any client in any language."""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import Any

import click

from streamiter.cli.command import Command
from streamiter.cli.outputs import tell
from streamiter.clock import SystemClock
from streamiter.demo.orders import TABLE
from streamiter.demo.shop import HISTORY_SECONDS, Shop
from streamiter.errors import MissingExtra
from streamiter.lineage import notation
from streamiter.testing import Knobs, ManualClock, RunningClock, Simulator
from streamiter.testing.calls import Call
from streamiter.testing.tables.engine import Engine

EXAMPLES = (
    "streamiter simulate --orders",
    "streamiter simulate --port 8000 --shape 'S0 => {S1, S2}' --speed 60",
    "streamiter simulate --misbehave 7 -v",
    "streamiter simulate --knob page_size=10 --knob crc=wrong",
)

_MORE_THAN_0 = click.FloatRange(min=0, min_open=True)
REGION = "us-east-1"  # for clients that have none of their own
_SECONDS = click.FloatRange(min=0)


@click.command("simulate", cls=Command, examples=EXAMPLES)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=8000,
    help="Where on 127.0.0.1; 0: any free.  [default: 8000]",
)
@click.option("--real-time/--stopped", default=True, help="Time goes by itself, or stands still until it is advanced.")
@click.option(
    "--speed",
    type=_MORE_THAN_0,
    metavar="FACTOR",
    default=1.0,
    help="How many times as fast as real time.  [default: 1]",
)
@click.option(
    "--shape",
    metavar="LINEAGE",
    default="S0",
    show_default=True,
    help="The shards of a new stream, such as 'S0 => {S1, S2}'.",
)
@click.option(
    "--roll-after",
    type=_SECONDS,
    metavar="SECONDS",
    default=4 * 3600.0,
    help="Until shards roll; 0: never.  [default: 14400]",
)
@click.option(
    "--split-rate",
    type=_MORE_THAN_0,
    metavar="RATE",
    help="Records a second beyond which a shard splits.  [default: never]",
)
@click.option(
    "--knob", "knobs", multiple=True, metavar="NAME=VALUE",
    help="Turn any knob of the simulator, such as page_size=10 or roll_after=null; as often as you like.",
)  # fmt: skip
@click.option("--limits", is_flag=True, help="Throttle as the service does: 10 DescribeStream, 5 GetRecords a second.")
@click.option("--misbehave", type=int, metavar="SEED", help="Bad days at random: throttles, faults, lagging listings.")
@click.option(
    "--orders", is_flag=False, flag_value=1.0, type=_MORE_THAN_0, metavar="RATE",
    help="With a table `orders`: two hours of changes, then RATE a second.  [default rate: 1]",
)  # fmt: skip
@click.option("--region", metavar="NAME", help="Of all tables.  [default: of the client that makes one]")
@click.option("--account", metavar="NUMBER", default="000000000000", show_default=True)
@click.option("-v", "--verbose", is_flag=True, help="Print every call.")
def command(
    port: int, real_time: bool, speed: float, misbehave: int | None, orders: float | None, verbose: bool, **options: Any
) -> None:
    """Run a simulated DynamoDB and Kinesis, with streams that split, roll and have bad days.

    Tables and items are moto's; nothing is stored. Any credentials will do. It listens on 127.0.0.1 alone.
    """
    if orders is not None and not (real_time and speed == 1.0):
        raise click.UsageError("--orders goes by real time: leave --stopped and --speed away")
    if orders is None:
        _check_extra()
    place = {name: options.pop(name) for name in ("region", "account")}
    try:
        notation.parse(options["shape"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--shape") from error
    knobs = knobs_of(**options)
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    clock = _clock(real_time, speed, has_history=orders is not None)
    table = None if orders is None else TABLE
    try:
        sim = Simulator(table=table, ids="service", clock=clock, knobs=knobs, port=port, **place)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error  # asyncio's own words say the address again
        raise click.ClickException(
            f"cannot listen on 127.0.0.1:{port}: {why}; name another port, or --port 0 for any that is free"
        ) from error
    with sim:
        if misbehave is not None:
            sim.misbehave(misbehave)
        if verbose:
            sim.calls.watch(_show)
        if orders is None or not isinstance(clock, RunningClock):
            tell(f"listening on {sim.endpoint_url}")
            done.wait()
        else:
            reached_by = f"AWS_ENDPOINT_URL={sim.endpoint_url} AWS_DEFAULT_REGION={place['region'] or REGION}"
            _run_shop(Shop(sim, clock), orders, sim.endpoint_url, reached_by, done)


def _run_shop(shop: Shop, rate: float, url: str, reached_by: str, done: threading.Event) -> None:
    shop.write_history()
    writer = threading.Thread(target=shop.keep_writing, args=(rate,), name="orders", daemon=True)
    writer.start()
    tell(
        f"listening on {url}; in another terminal, paste:\n"
        f"  export {reached_by}\n"
        "  export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any\n"
        f"  streamiter tail {TABLE}"
    )
    done.wait()
    shop.close()
    writer.join()


def _clock(real_time: bool, speed: float, *, has_history: bool) -> ManualClock:
    if not real_time:
        return ManualClock()
    if has_history:
        return RunningClock(SystemClock().now() - HISTORY_SECONDS)
    return RunningClock(speed=speed)


def knobs_of(shape: str, roll_after: float, split_rate: float | None, limits: bool, knobs: tuple[str, ...]) -> Knobs:
    """The knobs as the options turn them."""
    made = Knobs(starting_shape=shape, roll_after=roll_after or None, split_rate=split_rate)
    if limits:
        made.describe_rate, made.records_rate = 10, 5
    for text in knobs:
        _turn(made, text)
    return made


def _turn(knobs: Knobs, text: str) -> None:
    name, is_told, value = text.partition("=")
    try:
        if not is_told:
            raise ValueError(f"a knob is turned by NAME=VALUE, this is {text!r}")
        knobs.turn({name.strip().replace("-", "_"): _read(value)})
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--knob") from error


def _read(value: str) -> Any:
    """JSON where it is some, else text: `10`, `null`, `{"GetRecords": 0.1}`, `S0 => {S1, S2}`."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _check_extra() -> None:
    try:
        Engine("000000000000")  # loads moto now, not within somebody's first call
    except MissingExtra as error:
        raise click.ClickException(str(error)) from error


def _show(call: Call) -> None:
    told = [call.table, call.shard, call.iterator_type, f"{call.records} records" if call.records else None]
    # Names come from clients: control characters stay out of the terminal.
    click.echo(ascii(" ".join([call.operation, *filter(None, told), call.outcome])).strip("'\""))
