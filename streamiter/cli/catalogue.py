"""The commands: their names, and the files that a call loads them from."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from streamiter.cli.command import debug_option
from streamiter.cli.setting import Setting
from streamiter.cli.terminal import ending
from streamiter.cli.terminal.loading import Loading

# A command's file has a click command by the name `command`. Here stands what the list of commands says, so that it
# comes without loading them all.
COMMANDS = {
    "list": "List the streams that you can read: of DynamoDB tables, and of Kinesis.",
    "tail": "Print a stream's records in order, as they come.",
    "shards": "Show a stream's shards as a tree, or as a picture over time.",
    "top": "Watch a stream: its lag, rate and calls, and what holds records back.",
    "export": "Write a stream's records to files, each exactly once.",
    "token": "Show, check or convert tokens, ours and Bloop's.",
    "send": "Send one value to a topic.",
    "sendmany": "Send a file to a topic, line by line; it goes on where it was.",
    "worker": "Run an app's processors, in one process or in several.",
    "multilang": "Have children in any language process a stream, by the KCL's protocol.",
    "child": "Run a Python processor as the child of a MultiLang daemon.",
    "leases": "Show and change the leases of a fleet: who reads what, and where it stands.",
    "doctor": "Check what reading needs: credentials, permissions, stream and clock.",
    "simulate": "Run a simulated DynamoDB, with streams that split, roll over and fail.",
    "demo": "See streamiter at work, without an AWS account.",
    "completion": "Set up completion in bash, zsh or fish.",
}


CLICKS_LEAST_CELLS = 52  # narrower than this click makes no help by itself


class Commands(click.Group):
    """A group that loads a command's file only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        with Loading():
            command = import_module(f"streamiter.cli.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            meant = f"did you mean {near[0]}?" if near else f"the commands are: {', '.join(sorted(COMMANDS))}"
            raise click.UsageError(f"there is no command {args[0]!r}; {meant}", ctx) from None

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        width = shutil.get_terminal_size().columns
        if width < CLICKS_LEAST_CELLS:
            extra.setdefault("terminal_width", max(30, width - 1))
        try:
            return super().make_context(info_name, args, parent, **extra)
        except ending.READER_GONE as stop:  # --help and --version print here
            raise ending.Stopped(ending.PIPE_BROKEN) from stop

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, *ending.READER_GONE) as stop:
            raise ending.Stopped(ending.code_of(stop) or 1) from stop

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Runs as click does, but ends with one line and with the exit codes that shells expect."""
        extra["obj"] = setting = extra.get("obj") or Setting()

        def call() -> Any:
            result = super(Commands, self).main(args, prog_name, complete_var, False, **extra)
            if isinstance(result, int) and result:  # click hands an exit code back where it does not exit itself
                raise click.exceptions.Exit(result)
            return result

        if not standalone_mode:
            return call()
        sys.exit(ending.run(call, is_debugging=lambda: setting.is_debugging))


@click.command(
    cls=Commands,
    params=[debug_option()],
    epilog="streamiter COMMAND --help shows examples. To begin: streamiter demo",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="streamiter", message="%(package)s %(version)s")
def streamiter() -> None:
    """One ordered, resumable iterator over a sharded change stream."""
