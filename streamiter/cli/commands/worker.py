"""`streamiter worker`: runs an app's processors, in this process or in several, until it is asked to stop."""

from __future__ import annotations

import logging
import sys

import click

from streamiter.app import App
from streamiter.cli.command import Command
from streamiter.cli.fleet.finding import find_app
from streamiter.cli.fleet.lifeline import Lifeline, hear_signals
from streamiter.cli.fleet.logs import log_to_stderr
from streamiter.cli.fleet.supervision import HALTED
from streamiter.cli.fleet.supervisor import Supervisor
from streamiter.cli.setting import setting
from streamiter.cli.terminal.ending import Terminated
from streamiter.cli.terminal.words import in_our_words
from streamiter.errors import InvalidOption, ProcessorFailed

EXAMPLES = (
    "streamiter worker shop:app",
    "streamiter worker shop:app --processes 4",
    "streamiter worker shop:app --only bill --only index",
    "streamiter worker shop:app --store env:SHOP_STORE",
)
logger = logging.getLogger("streamiter.cli")


class Halted(click.ClickException):
    """A processor failed, and its policy says that the app ends."""

    exit_code = HALTED


@click.command("worker", cls=Command, examples=EXAMPLES)
@click.argument("target", metavar="MODULE:APP")
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run in N processes, and start those again that die. [default: in this one]",
)
@click.option(
    "--only", metavar="NAME", multiple=True, help="Run this processor or timer only; may be given several times."
)
@click.option("--store", metavar="URL", help="Keep leases there, whatever the app says; env:NAME or file:PATH hide it.")
@click.option("-v", "--verbose", "is_verbose", is_flag=True, help="Log more.")
@click.option("--supervised", type=int, hidden=True)
def command(
    target: str,
    processes: int | None,
    only: tuple[str, ...],
    store: str | None,
    is_verbose: bool,
    supervised: int | None,
) -> None:
    """Run an app: APP is the name of an App in the Python module MODULE, which may lie in the current folder.

    Any number of workers share the work, on one machine or on many, through the app's store. A line on standard error
    tells of each lease that is won, lost or completed.

    Ctrl-C, SIGTERM or SIGHUP stops it: nothing new is handed over, what runs may finish within the app's grace, leases are
    released, and the exit code is 0. A second Ctrl-C or SIGTERM ends it at once.
    """
    if processes is not None and supervised is None:
        log_to_stderr(is_verbose=is_verbose)
        code = Supervisor(_command_of_children(target, only, store, is_verbose=is_verbose), processes).run()
        raise click.exceptions.Exit(code)
    lifeline = None if supervised is None else Lifeline()
    try:
        if supervised is not None:
            hear_signals()
        app = find_app(target)
    except (KeyboardInterrupt, Terminated):
        return  # nothing was begun
    log_to_stderr(is_verbose=is_verbose, number=supervised)
    if store is not None:
        app.store = store
    if lifeline is not None:
        assert supervised is not None
        make_one_of_several(app, supervised)
        lifeline.hold(app)
    _run(app, only)


def _run(app: App, only: tuple[str, ...]) -> None:
    logger.info(
        "%s: worker %s runs %s", app.name, app.worker_id, ", ".join(only or (*app.processors, *app.timers)) or "nothing"
    )
    try:
        app.run(only=only or None)
    except (KeyboardInterrupt, Terminated):
        return  # before it had begun
    except InvalidOption as error:
        raise click.UsageError(in_our_words(error)) from error
    except ProcessorFailed as error:
        logger.error("%s: %s failed with", app.name, error.processor, exc_info=error.__cause__)
        raise Halted(in_our_words(error)) from error
    logger.info("%s: worker %s stopped", app.name, app.worker_id)


def make_one_of_several(app: App, number: int) -> None:
    """No two workers have one name, also where the app gives it; and no two share what one of them has in memory."""
    if not isinstance(app.store, str) or app.store.startswith("memory:"):
        raise click.UsageError("several processes share a store by its URL; this app's is in the memory of each")
    app.worker_id = f"{app.worker_id}-{number}"


def _command_of_children(target: str, only: tuple[str, ...], store: str | None, *, is_verbose: bool) -> list[str]:
    words = [sys.executable, "-m", "streamiter", "worker", target]
    words += [word for name in only for word in ("--only", name)]
    words += [] if store is None else ["--store", store]
    words += ["--verbose"] * is_verbose + ["--debug"] * setting().is_debugging
    return words
