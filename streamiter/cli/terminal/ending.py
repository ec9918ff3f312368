"""Endings: how a command ends: one line that says what was wrong and what to do, and the exit code that shells expect."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType

import click

from streamiter.cli.terminal.loading import INTERRUPTED
from streamiter.cli.terminal.outputs import STDOUT, complain, silence
from streamiter.cli.terminal.words import in_our_words, in_plain_words, with_class
from streamiter.errors import StreamiterError

PIPE_BROKEN = 141  # 128 + SIGPIPE, which not every system has
READER_GONE = (BrokenPipeError, ConnectionResetError)  # the second, where the output is a socket
WRONG = 1
MISUSED = 2


class Terminated(BaseException):
    """SIGTERM: what is under way ends as it does on Ctrl-C."""


class Stopped(BaseException):
    """Ctrl-C or a broken pipe, as an exception of ours: click would end these in its own way."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Mistyped(click.ClickException):
    """An option's language was mistyped: the message has a line for the text, and one with a caret under the place."""

    exit_code = MISUSED


class Unwell(click.ClickException):
    """Something is wrong, and the command has reported it already: only the exit code is left."""

    def __init__(self) -> None:
        super().__init__("")


def run(command: Callable[[], object], *, is_debugging: Callable[[], bool]) -> int:
    """Runs a command to its end, whichever that is; gives the exit code."""
    try:
        command()
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except BaseException as stop:
        code = code_of(stop)
        if code is not None:
            silence(sys.stdout)
            return code
        if not isinstance(stop, Exception):
            raise
        if is_debugging():
            complain("".join(traceback.format_exception(stop)).rstrip())
        code = _tell(stop)
        try:
            sys.stdout.flush()
        except OSError:
            silence(sys.stdout)  # a full disk
        return code
    return 0


def code_of(stop: BaseException) -> int | None:
    """The exit code of what stops a command from outside; None where it is an error."""
    if isinstance(stop, Stopped):
        return stop.code
    if isinstance(stop, KeyboardInterrupt | click.Abort):
        return INTERRUPTED
    if isinstance(stop, Terminated):
        return 128 + signal.SIGTERM
    return PIPE_BROKEN if isinstance(stop, READER_GONE) else None


def stop_on_signals() -> None:
    """A second Ctrl-C does not cut off the ending that the first one began; SIGTERM ends as tidily."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _terminate)


def _tell(error: Exception) -> int:
    if isinstance(error, Unwell):
        return WRONG
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        complain(error.format_message())
        return MISUSED
    if isinstance(error, click.UsageError):
        context = error.ctx
        name = context.command_path if context is not None else "streamiter"
        _say(name, f"{in_plain_words(error.format_message())} ({name} --help shows the options)")
        return MISUSED
    if isinstance(error, click.ClickException):
        _say("streamiter", with_class(error.format_message(), error.__cause__))
        return error.exit_code
    if isinstance(error, StreamiterError):
        _say("streamiter", with_class(in_our_words(error), error))
        return WRONG
    if isinstance(error, OSError) and error.strerror:
        # An error about a file names it. An error without a name is about standard output.
        _say("streamiter", f"{error.filename or STDOUT}: {error.strerror}")
        return WRONG
    text = " ".join(str(error).split())  # of any number of lines
    _say("streamiter", f"unexpected error: {text}; --debug shows where it comes from [{type(error).__name__}]")
    return WRONG


def _say(name: str, message: str) -> None:
    # Messages quote names that came from elsewhere. A caret under a place takes lines of its own.
    from streamiter.terminal import printable

    lines = [printable(line) for line in message.splitlines()]
    complain("\n".join([f"{name}: {lines[0]}", *lines[1:]]) if lines else name)


def _interrupt(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _terminate(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise Terminated
