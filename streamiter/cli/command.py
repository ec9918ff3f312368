"""Commands as all of them are: examples in their help, `--debug`, and the options that say which stream is meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import cleandoc
from typing import Any, TypeVar

import click

from streamiter.cli.setting import Place, setting

_Function = TypeVar("_Function", bound=Callable[..., Any])

URL_HELP = "URL is dynamodb://TABLE, kinesis://STREAM, a table's name, or the ARN of a table or of a stream."


class Command(click.Command):
    """A command with examples, each a line as it is typed."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._examples = examples
        self.params.append(debug_option())
        if any(parameter.name == "url" for parameter in self.params):
            self.help = f"{cleandoc(self.help or '')}\n\n{URL_HELP}"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's; what is mistyped is told with the command's own name."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, below the options."""
        _write_examples(formatter, self._examples)
        super().format_epilog(ctx, formatter)


class Group(click.Group):
    """A command that is made of others, with examples of them."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, below the commands."""
        _write_examples(formatter, self._examples)
        super().format_epilog(ctx, formatter)


def _write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def debug_option() -> click.Option:
    """`--debug`, which every command takes."""

    def keep(_: click.Context, __: click.Parameter, value: bool) -> None:
        setting().is_debugging |= value

    return click.Option(
        ["--debug"], is_flag=True, expose_value=False, is_eager=True, callback=keep, help="Show tracebacks of errors."
    )


def takes_stream(function: _Function) -> _Function:
    """The argument URL, and how it is reached; the command gets a Place of them."""

    @wraps(function)
    def with_place(url: str, endpoint_url: str | None, region: str | None, profile: str | None, **rest: Any) -> Any:
        return function(place=Place(url, endpoint_url, region, profile), **rest)

    return click.argument("url", metavar="URL")(reaches_service(with_place))  # type: ignore[return-value]  # wraps() loses it


def goes_before(name: str) -> str:
    """A word for whoever said where to begin, where a place that was kept goes before it."""
    is_said = click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    return "; --from is for a first run only" if is_said else ""


def reaches_service(function: _Function) -> _Function:
    """The options that the AWS CLI has, too."""
    for option in (
        click.option("--profile", metavar="NAME", help="A profile of your AWS configuration."),
        click.option("--region", metavar="NAME", help="The region, such as eu-west-1."),
        click.option("--endpoint-url", metavar="URL", help="Another endpoint: an emulator, or streamiter simulate."),
    ):
        function = option(function)
    return function
