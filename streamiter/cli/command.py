"""Commands as all of them are: examples in their help, `--debug`, and the options that say which stream is meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from streamiter.cli.setting import StreamAddress, setting
from streamiter.cli.terminal.outputs import complain
from streamiter.cli.terminal.words import in_our_words
from streamiter.errors import InvalidToken

if TYPE_CHECKING:
    Converter = click.ParamType[Any]  # what turns an option's text into a value; generic in the newest click only
else:
    Converter = click.ParamType

_Function = TypeVar("_Function", bound=Callable[..., Any])

URL_HELP = (
    "URL names the stream: dynamodb://TABLE, kinesis://STREAM, a log's URL (sqlite:///FILE?topic=NAME), a table's name, or the "
    "ARN of a table or a stream."
)


class Command(click.Command):
    """A command with examples, each a line as it is typed."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._examples = examples
        self.params.append(debug_option())
        if any(parameter.name == "url" for parameter in self.params):
            self.help = f"{cleandoc(self.help or '')}\n\n{URL_HELP}"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's; the message for a mistyped option names the command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """As click's; a token's error becomes a message here, where the typed options are known."""
        try:
            return super().invoke(ctx)
        except InvalidToken as error:
            raise click.ClickException(in_our_words(error)) from error

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
        ["--debug"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=keep,
        help="Show the tracebacks of errors.",
    )


def takes_stream(function: _Function) -> _Function:
    """The argument URL, and how it is reached; the command gets a StreamAddress of them."""

    @wraps(function)
    def with_place(url: str, endpoint_url: str | None, region: str | None, profile: str | None, **rest: Any) -> Any:
        return function(place=StreamAddress(url, endpoint_url, region, profile), **rest)

    return cast("_Function", click.argument("url", metavar="URL")(reaches_service(with_place)))


def is_typed(name: str) -> bool:
    """Whether the option was typed, and is not there by default alone."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def refuse_together(*names: str, why: str) -> None:
    """Raises UsageError if all of these options were typed: one of them would be ignored silently."""
    if all(map(is_typed, names)):
        options = {parameter.name: parameter.opts[-1] for parameter in click.get_current_context().command.params}
        raise click.UsageError(f"{' and '.join(options[name] for name in names)} do not go together: {why}")


def tell_going_on(place: str, *, is_terminal: bool) -> None:
    """Says that the saved place overrides --from: on a terminal always, elsewhere only if --from was typed."""
    typed = is_typed("start")
    if is_terminal or typed:
        complain(f"streamiter: going on after {place}{'; --from counts for a first run only' if typed else ''}")


def reaches_service(function: _Function) -> _Function:
    """The options that the AWS CLI has, too."""
    for option in (
        click.option("--profile", metavar="NAME", help="Use this profile of your AWS configuration."),
        click.option("--region", metavar="NAME", help="Call this region, such as eu-west-1."),
        click.option("--endpoint-url", metavar="URL", help="Call this endpoint: an emulator, or streamiter simulate."),
    ):
        function = option(function)
    return function
