"""Token files of commands: as tokenfile.py has them, from a pipe, too; what is wrong with one ends the command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from streamiter import tokenfile
from streamiter.errors import InvalidToken, StreamiterError
from streamiter.tokenfile import check_replaceable as check_replaceable
from streamiter.tokenfile import replace_file as replace_file
from streamiter.tokenfile import sync_folder as sync_folder

T = TypeVar("T")


class TokenFile(tokenfile.TokenFile):
    """Where a command keeps its place between runs; `-` is the pipe that it reads from."""

    def __init__(self, path: Any) -> None:
        _plainly(lambda: super(TokenFile, self).__init__(path))
        self.shown = str(path)

    def load(self) -> dict[str, Any] | None:
        return _plainly(super().load)

    def save(self, token: Mapping[str, Any]) -> None:
        _plainly(lambda: super(TokenFile, self).save(token))

    def check_replaceable(self) -> None:
        if self.shown == "-":
            raise click.ClickException("a place cannot be kept in a pipe; name a file: --token-file FILE")
        _plainly(super().check_replaceable)

    def cannot_be_used(self, error: InvalidToken) -> str:
        """What is wrong with the token in it, where, and what to do."""
        return str(self.misfit(error))

    @property
    def _named(self) -> str:
        return "from the pipe" if self.shown == "-" else super()._named

    def _text(self) -> str:
        return sys.stdin.read() if self.shown == "-" else super()._text()


def _plainly(do: Callable[[], T]) -> T:
    try:
        return do()
    except StreamiterError as error:
        raise click.ClickException(str(error)) from error
