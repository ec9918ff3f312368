"""`streamiter completion`: what a shell has to run to complete commands and options."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

from streamiter.cli.command import Command

VARIABLE = "_STREAMITER_COMPLETE"
EXAMPLES = (
    "echo 'eval \"$(streamiter completion bash)\"' >> ~/.bashrc",
    "echo 'eval \"$(streamiter completion zsh)\"' >> ~/.zshrc",
    "streamiter completion fish > ~/.config/fish/completions/streamiter.fish",
)
# A zsh without any set-up does not know compdef, and would complain each time that it starts.
_COMPDEF = "    compdef "
_COMPINIT = "    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }\n"


@click.command("completion", cls=Command, examples=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), required=False)
@click.pass_context
def command(ctx: click.Context, shell: str | None) -> None:
    """Print a script with which your shell completes commands and options on TAB.

    Without an argument, the script is for the shell that $SHELL names.
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    kind = get_completion_class(name) if name in ("bash", "zsh", "fish") else None
    if kind is None:
        raise click.UsageError("name your shell: bash, zsh or fish")
    # Filled in here, and not by click's source(): that starts a bash, to see how old it is.
    completion = kind(ctx.find_root().command, {}, "streamiter", VARIABLE)
    click.echo((completion.source_template % completion.source_vars()).replace(_COMPDEF, _COMPINIT + _COMPDEF))
