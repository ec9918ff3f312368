"""Outputs: standard output and error as shells hand them over: closed, broken or full; imports nothing of ours."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import TextIO, cast

import click

STDOUT = "standard output"


class ClosedOutput(io.TextIOBase):
    """Standard output that was closed before we began, as by `>&-`: what is written to it is not lost in silence."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "it is closed", STDOUT)


def open_closed_outputs() -> None:
    """Takes the places of closed outputs, so that no file and no connection of ours gets their numbers."""
    if sys.stdout is None:
        os.open(os.devnull, os.O_RDONLY)
        sys.stdout = cast(TextIO, ClosedOutput())
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as we run


def tell(text: str) -> None:
    """Prints a message about work that is done; if standard output is closed, the work stays done."""
    if not isinstance(sys.stdout, ClosedOutput):
        click.echo(text)


def complain(text: str) -> None:
    """Prints to standard error; if that is full or closed, the message is lost."""
    try:
        click.echo(text, err=True)
    except OSError:
        silence(sys.stderr)


def silence(out: TextIO) -> None:
    """What is still in Python's buffer must not be written at the exit: it would only fail once more."""
    with suppress(OSError, ValueError, AttributeError):  # it may be no file: a test's
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
