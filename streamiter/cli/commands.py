"""The commands: their names, and the files that they are loaded from when somebody calls them."""

from __future__ import annotations

from importlib import import_module

import click

# A command's file has a click command by the name `command`. Here stands what the list of commands says, so that it
# comes without loading them all.
COMMANDS = {
    "simulate": "Run a simulated DynamoDB, with streams that split, roll and have bad days.",
}


class Commands(click.Group):
    """A group that loads a command's file only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"streamiter.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.command(cls=Commands)
def streamiter() -> None:
    """One ordered, resumable iterator over a sharded change stream."""
