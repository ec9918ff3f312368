"""`streamiter simulate`: a simulated DynamoDB on loopback, for any client in any language."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import signal
import threading
from queue import SimpleQueue
from typing import Any

import click

from streamiter.cli.command import Command, is_typed
from streamiter.cli.terminal.outputs import tell
from streamiter.clock import SystemClock
from streamiter.installing import install_command
from streamiter.lineage import notation
from streamiter.testing import Knobs, ManualClock, RunningClock, Simulator
from streamiter.testing.clock import MOST_SPEED
from streamiter.testing.http.calls import Call
from streamiter.testing.shop.orders import TABLE
from streamiter.testing.shop.shop import HISTORY_SECONDS, Shop

EXAMPLES = (
    "streamiter simulate --orders",
    "streamiter simulate --port 8000 --shape 'S0 => {S1, S2}' --speed 60",
    "streamiter simulate --misbehave 7 -v",
    "streamiter simulate --knob page_size=10 --knob crc=wrong",
)

_MORE_THAN_0 = click.FloatRange(min=0, min_open=True)
# Knobs that an option of their own turns, too.
_TURNED = {
    "shape": ("starting_shape",),
    "roll_after": ("roll_after",),
    "split_rate": ("split_rate",),
    "limits": ("describe_rate", "records_rate", "bytes_rate", "put_rate", "put_bytes_rate"),
}
REGION = "us-east-1"  # for clients that have none of their own
_SECONDS = click.FloatRange(min=0)
_SPEED = click.FloatRange(min=0, max=MOST_SPEED, min_open=True)
MOST_ROLLS_A_SECOND = 1000
_LEAVES_SECONDS = 5  # after Ctrl-C, also where a call is stuck


@click.command("simulate", cls=Command, examples=EXAMPLES)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=8000,
    help="Listen on this port of 127.0.0.1; 0 takes any free one.  [default: 8000]",
)
@click.option("--real-time/--stopped", default=True, help="Time runs, or stands still until a client advances it.")
@click.option(
    "--speed",
    type=_SPEED,
    metavar="FACTOR",
    default=1.0,
    help="Time runs this many times as fast.  [default: 1]",
)
@click.option(
    "--shape",
    metavar="LINEAGE",
    default="S0",
    show_default=True,
    help="Give new streams these shards, such as 'S0 => {S1, S2}'.",
)
@click.option(
    "--roll-after",
    type=_SECONDS,
    metavar="SECONDS",
    default=4 * 3600.0,
    help="Roll shards over at this age; 0: never.  [default: 14400]",
)
@click.option(
    "--split-rate",
    type=_MORE_THAN_0,
    metavar="RATE",
    help="Split a shard that gets more records a second.  [default: never]",
)
@click.option(
    "--knob", "knobs", multiple=True, metavar="NAME=VALUE",
    help="Set any knob of the simulator, such as page_size=10 or roll_after=null; may be repeated.",
)  # fmt: skip
@click.option(
    "--limits",
    is_flag=True,
    help="Throttle as AWS does: 10 DescribeStream, 5 GetRecords a second; 1 MiB a second into a shard of Kinesis.",
)
@click.option(
    "--misbehave", type=int, metavar="SEED", help="Fail at random, from this seed: throttles, faults, lagging listings."
)
@click.option(
    "--orders", is_flag=False, flag_value=1.0, type=_MORE_THAN_0, metavar="RATE",
    help="Make a table `orders` with two hours of changes, then RATE a second.  [default rate: 1]",
)  # fmt: skip
@click.option(
    "--region", metavar="NAME", help="The region of all tables.  [default: that of the client that makes one]"
)
@click.option(
    "--account", metavar="NUMBER", default="000000000000", show_default=True, help="The account of all tables."
)
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME",
    help="Answer requests to this host name, too, and pages from it; may be repeated.  [default: loopback's names]",
)  # fmt: skip
@click.option(
    "--token", metavar="TEXT", help="The token that control calls must send.  [default: a random one, printed]"
)
@click.option("--no-token", is_flag=True, help="Take control calls without a token.")
@click.option("-v", "--verbose", is_flag=True, help="Print each call.")
def command(
    port: int, real_time: bool, speed: float, misbehave: int | None, orders: float | None, verbose: bool, **options: Any
) -> None:
    """Run a simulated DynamoDB and Kinesis, with streams that split, roll over and fail as you say.

    The simulator takes any credentials, listens only on 127.0.0.1, and stores nothing.
    """
    if orders is not None and not (real_time and speed == 1.0):
        raise click.UsageError("--orders runs in real time: leave out --stopped and --speed")
    place = {name: options.pop(name) for name in ("region", "account", "hosts")}
    place["token"] = _token(options.pop("token"), is_off=options.pop("no_token"))
    try:
        notation.parse(options["shape"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--shape") from error
    _check_turned_once(options["knobs"])
    knobs = knobs_of(**options)
    if knobs.roll_after and speed / knobs.roll_after > MOST_ROLLS_A_SECOND:
        told = f"--speed {speed:g} with roll_after={knobs.roll_after:g} rolls shards faster than they can be made"
        raise click.UsageError(f"{told}: at most {MOST_ROLLS_A_SECOND} times a second")
    end = _End()
    clock = _clock(real_time, speed, has_history=orders is not None)
    table = None if orders is None else TABLE
    try:
        sim = Simulator(table=table, ids="service", clock=clock, knobs=knobs, port=port, **place)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error  # asyncio's own words say the address again
        raise click.ClickException(
            f"cannot listen on 127.0.0.1:{port}: {why}; name another port, or take any free one: --port 0"
        ) from error
    with sim:
        if misbehave is not None:
            sim.misbehave(misbehave)
        if verbose:
            sim.calls.watch(_show)
        if orders is None or not isinstance(clock, RunningClock):
            tell(f"listening on {sim.endpoint_url}")
            _tell_more(place["token"], is_given=is_typed("token"))
            end.wait()
        else:
            variables = f"AWS_ENDPOINT_URL={sim.endpoint_url} AWS_DEFAULT_REGION={place['region'] or REGION}"
            _run_shop(Shop(sim, clock), orders, (sim.endpoint_url, variables, place["token"]), end)


def _token(given: str | None, *, is_off: bool) -> str | None:
    if is_off and given is not None:
        raise click.UsageError("--token and --no-token exclude each other: leave out one of them")
    return None if is_off else given or secrets.token_urlsafe(12)


def _tell_more(token: str | None, *, is_given: bool) -> None:
    if token is not None and not is_given:
        tell(f"control calls (Simulator.Advance and others) need the header X-Simulator-Token: {token}")
    for package, what in (("h2", "HTTP/2"), ("cbor2", "CBOR")):
        if importlib.util.find_spec(package) is None:
            tell(f"without {what}, since {package} is not installed; to get it: {install_command('testing')}")


class _End:
    """Ctrl-C ends it in good order; a second one at once, and so does the first after some seconds, if a call is stuck.

    A handler may come while the main thread holds any lock, so it takes none: such a queue's `put` may interrupt its `get`.
    """

    def __init__(self) -> None:
        self._came: SimpleQueue[int] = SimpleQueue()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._end)

    def wait(self) -> None:
        """Until it comes."""
        self._came.get()

    def _end(self, number: int, _: object) -> None:
        code = 128 + number
        for again in (signal.SIGINT, signal.SIGTERM):
            signal.signal(again, lambda *_: os._exit(code))
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, lambda *_: os._exit(code))
            signal.setitimer(signal.ITIMER_REAL, _LEAVES_SECONDS)
        self._came.put(number)


def _run_shop(shop: Shop, rate: float, reached_by: tuple[str, str, str | None], end: _End) -> None:
    url, variables, token = reached_by
    shop.write_history()
    writer = threading.Thread(target=shop.keep_writing, args=(rate,), name="orders", daemon=True)
    writer.start()
    tell(
        f"listening on {url}; in another terminal, paste:\n"
        f"  export {variables}\n"
        "  export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any\n"
        f"  streamiter tail {TABLE}"
    )
    _tell_more(token, is_given=is_typed("token"))
    end.wait()
    shop.close()
    writer.join()


def _clock(real_time: bool, speed: float, *, has_history: bool) -> ManualClock:
    if not real_time:
        return ManualClock()
    if has_history:
        return RunningClock(SystemClock().now() - HISTORY_SECONDS)
    return RunningClock(speed=speed)


def _check_turned_once(knobs: tuple[str, ...]) -> None:
    """Raises UsageError if an option and --knob set the same knob: one of them would be ignored silently."""
    named = [text.partition("=")[0].strip().replace("-", "_") for text in knobs]
    for option, turned in _TURNED.items():
        for name in turned:
            if name in named and is_typed(option):
                raise click.UsageError(
                    f"--{option.replace('_', '-')} and --knob {name} set the same knob: leave out one of them"
                )
    for name in named:
        if named.count(name) > 1:
            raise click.UsageError(f"--knob {name} is there twice: leave out one of them")


def knobs_of(shape: str, roll_after: float, split_rate: float | None, limits: bool, knobs: tuple[str, ...]) -> Knobs:
    """The knobs as the options turn them."""
    try:
        made = Knobs(starting_shape=shape, roll_after=roll_after, split_rate=split_rate)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if limits:
        made.describe_rate, made.records_rate, made.bytes_rate = 10, 5, 2 * 1024 * 1024
        made.put_rate, made.put_bytes_rate = 1000, 1024 * 1024
    for text in knobs:
        _turn(made, text)
    return made


def _turn(knobs: Knobs, text: str) -> None:
    name, is_told, value = text.partition("=")
    try:
        if not is_told:
            raise ValueError(f"a knob is set with NAME=VALUE, not with {text!r}")
        knobs.turn({name.strip().replace("-", "_"): _read(value)})
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--knob") from error


def _read(value: str) -> Any:
    """JSON where it is some, else text: `10`, `null`, `{"GetRecords": 0.1}`, `S0 => {S1, S2}`."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _show(call: Call) -> None:
    told = [call.table, call.shard, call.iterator_type, f"{call.records} records" if call.records else None]
    # Names come from clients: control characters stay out of the terminal.
    click.echo(ascii(" ".join([call.operation, *filter(None, told), call.outcome])).strip("'\""))
