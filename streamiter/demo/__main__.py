"""The command: `python -m streamiter.demo`, its options, and how it ends when it is stopped."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from streamiter.demo import READ
from streamiter.demo.fleet import WORK


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demo; gives the exit code."""
    _stop_on_signals()
    try:
        options = _parser().parse_args(arguments)
        if options.read:
            return read(*options.read)
        if options.work:
            return work(*options.work)
        if options.fleet:
            return show_fleet(seed=options.seed, fast=options.fast)
        return show(seed=options.seed, fast=options.fast, with_spark=not options.without_spark)
    except KeyboardInterrupt:
        if sys.stdout is not None and sys.stdout.isatty():
            print()  # below the ^C that the terminal shows
        return 128 + signal.SIGINT
    except OSError as error:
        # The reader of our output has closed it, or the disk is full. Python would complain again when it flushes the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError | ConnectionResetError):  # the second, where our output is a socket
            return 128 + signal.SIGPIPE
        print(f"the demo: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        return 1


def show(*, seed: int, fast: bool, with_spark: bool = False) -> int:
    """The demo itself."""
    # Here, and not above: it takes half a second, and a Ctrl-C in it is to end as quietly as any other.
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from streamiter.demo.screen import screen_on_stdout
    from streamiter.demo.show import Show

    with TemporaryDirectory(prefix="streamiter-demo-") as folder:
        is_good = Show(screen_on_stdout(fast=fast), seed, Path(folder), with_spark=with_spark).play()
    return 0 if is_good else 1


def show_fleet(*, seed: int, fast: bool) -> int:
    """The demo of a fleet."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from streamiter.demo.fleet.show import FleetShow
    from streamiter.demo.screen import screen_on_stdout

    with TemporaryDirectory(prefix="streamiter-demo-") as folder:
        try:
            return 0 if FleetShow(screen_on_stdout(fast=fast), seed, Path(folder)).play() else 1
        except ChildProcessError as error:
            print(error, file=sys.stderr)
            return 1


def work(folder: str, name: str) -> int:
    """One of the workers that the demo starts, kills and stops."""
    from streamiter.demo.fleet.work import work as run

    run(folder, name)
    return 0


def read(url: str, arn: str, file: str) -> int:
    """The reader that the demo kills and resumes."""
    from streamiter import StreamiterError
    from streamiter.demo.reader import read_on

    try:
        read_on(url, arn, file)
    except StreamiterError as error:
        print(f"the demo's reader: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev demo",
        description="A table's changes, read in one order while its shards roll over and split; then a reader that is "
        "killed, and resumed from its token; where Spark is installed, the changes as a DataFrame. It needs no AWS "
        "account and no server: it simulates the service in this process.",
        epilog="Exit code: 0 when the resumed reader read what it should, 1 when not, 130 after Ctrl-C.",
    )
    parser.add_argument("--fast", action="store_true", help="all scenes at once: no pauses, no waiting for Enter")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="other orders, other changes (default: 1)")
    parser.add_argument("--without-spark", action="store_true", help="without the scene that starts Spark")
    parser.add_argument(
        "--fleet",
        action="store_true",
        help="instead: a topic in SQLite, three workers, one of them killed with kill -9",
    )
    parser.add_argument(WORK, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument(READ, nargs=3, help=argparse.SUPPRESS)
    return parser


def _stop_on_signals() -> None:
    """SIGINT once: after the first one we are ending, and a second must not end that halfway. SIGTERM tidies up, too."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _terminate)


def _interrupt(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _terminate(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
