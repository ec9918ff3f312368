"""Token files: a token as JSON, written beside and renamed, so that there is always a whole one."""

from __future__ import annotations

import errno
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from streamiter.errors import InvalidToken
from streamiter.token import load_token

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_ANEW = "take a copy that is whole, or move it away to begin anew"


class TokenFile:
    """Where a reader keeps its place between runs."""

    def __init__(self, path: str | Path) -> None:
        if not str(path):
            raise click.ClickException("the token file has an empty name: is a variable of your shell not set?")
        self.path = Path(os.path.realpath(path))  # a link stays one: what it leads to is replaced
        self.shown = str(path)
        self._known: str | None = None  # what stood in it when we looked or wrote last
        self._is_followed = False

    def load(self) -> dict[str, Any] | None:
        """The token, whole; None where there is no file yet."""
        token = self._read()
        self._is_followed = True
        try:
            if token is not None:
                load_token(token)
        except InvalidToken as error:
            raise click.ClickException(self.cannot_be_used(error)) from error
        return token

    def cannot_be_used(self, error: InvalidToken) -> str:
        """What is wrong with the token in it, where, and what to do."""
        remedy = error.hint if "upgrade" in error.hint else _ANEW
        return f"the token {self._named} cannot be used: {error.what} (at {error.where}); {remedy}"

    @property
    def _named(self) -> str:
        return "from the pipe" if self.shown == "-" else f"file {self.shown}"

    def _read(self) -> dict[str, Any] | None:
        try:
            text = self._known = sys.stdin.read() if self.shown == "-" else self.path.read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            raise click.ClickException(f"the token {self._named} cannot be read: {why}") from error
        if not text.strip():
            raise click.ClickException(f"the token {self._named} is empty; {_ANEW}")
        try:
            token = json.loads(text)
        except (ValueError, RecursionError) as error:
            place = (
                f" from line {error.lineno}, column {error.colno} on" if isinstance(error, json.JSONDecodeError) else ""
            )
            raise click.ClickException(f"the token {self._named} holds no JSON{place}; {_ANEW}") from error
        if not isinstance(token, dict):
            raise click.ClickException(f"the token {self._named} holds no token, but other JSON; {_ANEW}")
        return token

    def save(self, token: dict[str, Any]) -> None:
        """All of it or nothing, also when the power fails; what another process put there since `load` is left alone."""
        text = json.dumps(token) + "\n"
        try:
            if self._is_followed and self._was_changed():
                raise click.ClickException(
                    f"another process has written to the token file {self.shown} meanwhile; it is left as that wrote it: "
                    "give each reader a file of its own"
                )
            replace_file(self.path, text.encode())
        except OSError as error:
            raise self._cannot_be_written(error) from error
        self._known = text

    def _was_changed(self) -> bool:
        try:
            return self.path.read_text("utf-8", errors="replace") != self._known
        except FileNotFoundError:
            return False

    def check_replaceable(self) -> None:
        """Says now, and not after all is read, that it is no file."""
        if self.shown == "-":
            raise click.ClickException("a place cannot be kept in a pipe; name a file: --token-file FILE")
        try:
            check_replaceable(self.path)
        except OSError as error:
            raise self._cannot_be_written(error) from error

    def _cannot_be_written(self, error: OSError) -> click.ClickException:
        # Another file would begin anew: where a place is kept already, nobody is to be sent there.
        kept = ": it goes on from the place that is kept there" if self.path.is_file() else ""
        if error.errno in _FULL:
            remedy = "make room, and run it again"
        else:
            remedy = "see that it can be, or name a copy of it" if kept else "name another file"
        return click.ClickException(f"the token file {self.shown} cannot be written: {error.strerror}; {remedy}{kept}")


def replace_file(path: Path, content: bytes) -> None:
    """Puts a file in place, whole or not at all: written beside, forced to disk, renamed."""
    check_replaceable(path)
    beside = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        os.unlink(beside)  # a kill left it there; or somebody's link, which must not be followed
    try:
        with open(beside, "xb") as file:
            with suppress(OSError, AttributeError):
                os.fchmod(file.fileno(), os.stat(path).st_mode & 0o777)  # who may read it stays as it is
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)  # a full disk has no name of its own
        raise
    sync_folder(path.parent)


def check_replaceable(path: Path) -> None:
    """OSError where something else than a file is there, /dev/null, say: it must not become one."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is there already, and no file", str(path))


def sync_folder(folder: Path) -> None:
    """Forces the names in a folder to disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
